"""The command `tianmesh words discover`: words that the dictionary lacks, from texts or queries. [io]"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import msgspec
import typer
from msgspec.structs import astuple

from mesh.errors import unreadable
from peers.application import LateCommand
from peers.options import JsonOption, print_json
from peers.query_log.log_row import CLIENTS_TOLD_MIN

if TYPE_CHECKING:
    from peers.text.query_words import QueryWord
    from peers.text.word_discovery import DiscoveredWord

words_app: Final = typer.Typer(
    help="Words that the dictionary lacks.", context_settings={"help_option_names": ["-h", "--help"]}
)


class Layout(StrEnum):
    """The way in which words are printed."""

    TABLE = "table"
    JIEBA = "jieba"  # a user dictionary
    POLICY = "policy"  # the line of a policy's file


def register(commands: dict[str, LateCommand]) -> None:
    """Add the commands of this module to those of `tianmesh`."""
    commands["words"] = LateCommand("peers.index.words_command:words_app", "Words that the dictionary lacks.")


@words_app.callback()
def _words() -> None:
    """Keep `discover` a command of its own, though it is the only one."""


@words_app.command(
    epilog="Examples: tianmesh words discover titles.txt anchors.txt   "
    "tianmesh words discover --queries SogouQ.sample --as policy"
)
def discover(
    files: Annotated[
        list[Path] | None, typer.Argument(help="Texts in UTF-8, one a line; - is the standard input.")
    ] = None,
    min_texts: Annotated[int, typer.Option(min=2, help="Distinct texts that must have the word.")] = 4,
    queries: Annotated[
        Path | None, typer.Option(help="Query log, of any layout that is known, in place of texts.")
    ] = None,
    min_clients: Annotated[
        int, typer.Option(min=1, help="Of a log: clients that must have asked for the word.")
    ] = CLIENTS_TOLD_MIN,
    layout: Annotated[
        Layout, typer.Option("--as", help="A table, a user dictionary of jieba, or `user_words` of a policy.")
    ] = Layout.TABLE,
    as_json: JsonOption = False,
) -> None:
    """Print words of Chinese texts that the dictionary lacks, the most frequent first.

    Give it titles, headings or anchors. Columns: word, texts with it, mutual information and entropy in bits.
    Of a query log: word and clients; requests, where it does not tell clients.
    """
    if (queries is None) == (not files):
        raise typer.BadParameter("give either files of texts or a log of --queries")
    found = _words_of_log(queries, min_clients) if queries is not None else _words_of(files or [], min_texts)
    if as_json:
        print_json(msgspec.to_builtins(found))
        return
    if layout is not Layout.TABLE:
        print_dictionary(found, layout)
        return
    for word in found:
        print(*(f"{each:.1f}" if isinstance(each, float) else each for each in astuple(word)), sep="\t")


def print_dictionary(found: Sequence[DiscoveredWord | QueryWord], layout: Layout) -> None:
    """Print lines of a user dictionary: a word and its frequency."""
    from peers.policy.rules import USER_WORDS_MAX
    from peers.text.user_words import word_in

    entries = [(str(word), int(count)) for word, count, *_ in map(astuple, found)]
    lines = [line for line in (f"{word} {count}" for word, count in entries) if word_in(line) is not None]
    if layout is Layout.JIEBA:
        print(*lines, sep="\n", end="\n" if lines else "")
        return
    kept = ",\n".join(f'    "{line}"' for line in lines[:USER_WORDS_MAX])
    print(f"user_words = [\n{kept},\n]" if kept else "user_words = []")
    if len(lines) > USER_WORDS_MAX:
        print(f"# {len(lines) - USER_WORDS_MAX:,} more are left out: a policy has {USER_WORDS_MAX:,} at most")


def _words_of(files: list[Path], min_texts: int) -> list[DiscoveredWord]:
    from peers.text.word_discovery import DiscoverySettings, discover_words

    return discover_words(_lines(files), DiscoverySettings(text_count_min=min_texts))


def _words_of_log(log: Path, min_clients: int) -> list[QueryWord]:
    from peers.query_log.log_files import clients_of, read_log, requests_of
    from peers.text.query_words import simple_queries, unknown_words

    parts = (
        (part, entry.client)
        for entry in requests_of(read_log(log).entries)
        for part in simple_queries(entry.query)
    )
    return unknown_words(clients_of(parts), min_clients)


def _lines(files: list[Path]) -> Iterator[str]:
    for file in files:
        try:
            text = sys.stdin.read() if str(file) == "-" else file.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise unreadable(file, error) from error
        yield from text.splitlines()
