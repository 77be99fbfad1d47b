"""Asking a mesh the queries of a file, on the screen of a command. [io]"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import Progress

from mesh.client.gateway_client import GatewayClient
from peers.evaluation.query_run import INCOMPLETE_S_MAX, AnswerTally, ask_all
from peers.judging.trec import Ranked, read_topics
from peers.mesh_readiness import NotReady, wait_until_ready


def ask_mesh(
    client: GatewayClient, queries: Path, k: int, tally: AnswerTally, wait_s: float, *, is_partial: bool
) -> Iterator[tuple[str, list[Ranked]]]:
    """Wait until the mesh is ready; then ask each query of a file as the returned iterator is read.

    Args:
      tally: takes note of the answers.
      wait_s: seconds to wait at most; and again, but fewer, for answers that are not complete then.
      is_partial: ask then in any case, and each query once.

    Returns:
      Each query with its hits, the best first. Raises GatewayError when one is refused.

    Raises:
      ConfigError: this is no file of queries.
      NotReady: a part of the mesh does not answer.
    """
    topics = read_topics(queries)
    console = Console(stderr=True, highlight=False)
    try:
        wait_until_ready(client, wait_s, console)
    except NotReady as error:
        if not is_partial:
            raise
        console.print(f"[yellow]asking all the same: {escape(str(error))}[/yellow]", soft_wrap=True)
    patience_s = 0.0 if is_partial else min(wait_s, INCOMPLETE_S_MAX)
    return _asked(client, topics, k, tally, console, patience_s)


def _asked(
    client: GatewayClient,
    topics: list[tuple[str, str]],
    k: int,
    tally: AnswerTally,
    console: Console,
    patience_s: float,
) -> Iterator[tuple[str, list[Ranked]]]:
    with Progress(console=console) as progress:
        answers = ask_all(client, topics, k, patience_s)
        yield from tally.count(progress.track(answers, len(topics), description="searching"))


def end_unless_whole(tally: AnswerTally, *, is_partial: bool) -> None:
    """Print oddities of the answers; end the command with 1 if they are no run to be judged."""
    console = Console(stderr=True, highlight=False)
    for remark in tally.remarks():
        console.print(f"[yellow]{escape(remark)}[/yellow]", soft_wrap=True)
    for fault in tally.faults():
        console.print(f"[red]{escape(fault)}[/red]", soft_wrap=True)
    if tally.faults() and not is_partial:
        raise typer.Exit(1)
