"""The command `tianmesh words discover`: words that the segmenter does not know, from files of texts. [io]"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Final

import msgspec
import typer

from mesh.errors import ConfigError
from peers.application import LateCommand
from peers.options import JsonOption, print_json

words_app: Final = typer.Typer(
    help="Words that the dictionary lacks.", context_settings={"help_option_names": ["-h", "--help"]}
)


def register(commands: dict[str, LateCommand]) -> None:
    """Add the commands of this module to those of `tianmesh`."""
    commands["words"] = LateCommand("peers.index.words_command:words_app", "Words that the dictionary lacks.")


@words_app.callback()
def _words() -> None:
    """Keep `discover` a command of its own, though it is the only one."""


@words_app.command(epilog="Example: tianmesh words discover titles.txt queries.txt")
def discover(
    files: Annotated[list[Path], typer.Argument(help="Texts in UTF-8, one a line; - is the standard input.")],
    min_texts: Annotated[int, typer.Option(min=2, help="Distinct texts that must have the word.")] = 4,
    as_json: JsonOption = False,
) -> None:
    """Print words of Chinese texts that the dictionary lacks, the most frequent first.

    Give it titles, headings, anchors or queries. Columns: word, texts with it, mutual information and entropy
    in bits.
    """
    from peers.text.word_discovery import DiscoverySettings, discover_words

    found = discover_words(_lines(files), DiscoverySettings(text_count_min=min_texts))
    if as_json:
        print_json(msgspec.to_builtins(found))
        return
    for word in found:
        print(f"{word.word}\t{word.text_count}\t{word.mutual_information:.1f}\t{word.entropy:.1f}")


def _lines(files: list[Path]) -> Iterator[str]:
    for file in files:
        try:
            text = sys.stdin.read() if str(file) == "-" else file.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"cannot read {file}: {error}") from error
        yield from text.splitlines()
