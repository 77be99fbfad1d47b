"""The entry point of the command `tianmesh`.

Little is imported before somebody listens for Ctrl-C: to load all commands takes some tenths of a second, in
which a person may find that this is not what was meant.
"""

from __future__ import annotations

import sys

from mesh.errors import INTERRUPTED


def main() -> None:
    """Run the command; Ctrl-C while it begins gives one line and no traceback."""
    try:
        from peers.application import run

        run()
    except (KeyboardInterrupt, RuntimeError) as error:
        # While a class is made, Python says of Ctrl-C that its making has failed.
        if isinstance(error, RuntimeError) and not isinstance(error.__cause__, KeyboardInterrupt):
            raise
        print("tianmesh: stopped", file=sys.stderr)
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    main()
