"""The commands `tianmesh topic`: list, show, set, end, strings, export. [io]"""

from __future__ import annotations

import re
import sys
import time
from pathlib import Path
from typing import Annotated, Final

import msgspec
import typer

from mesh.client.admin_token import key_in
from mesh.counts import counted
from mesh.errors import ConfigError
from peers.options import (
    DATA,
    GATEWAY,
    DataOption,
    GatewayOption,
    JsonOption,
    KeyOption,
    TokenOption,
    administrator_of,
    minute_of,
    print_json,
    print_told,
    printable,
    reader_of,
    seconds_in,
)
from peers.topics.issuer import TopicIssuer, with_topic, without_topic
from peers.topics.string_file import lines_of, sites_of, strings_of
from peers.topics.topic_list import (
    FORMAT,
    KEPT_MAX,
    NAME_PATTERN,
    RELATED_MAX,
    SITES_MAX,
    SLICE_S_MAX,
    SLICE_S_MIN,
    STRINGS_MAX,
    TITLE_CHARS_MAX,
    CountedTopic,
    TopicList,
    list_body,
    list_in,
)

DAY_S: Final = 86_400

topic_app: Final = typer.Typer(
    no_args_is_help=True,
    help="Count how strongly topics are written about, day by day. A topic is a set of strings: a page with "
    "any of them is on the topic, one with a related string is related. Case, width, accents and traditional "
    "characters make no difference; a word is found as a whole, Chinese strings anywhere.",
    context_settings={"help_option_names": ["-h", "--help"]},
)


@topic_app.command("list", epilog="Examples: tianmesh topic list   tianmesh topic list --json")
def list_topics(
    gateway: GatewayOption = GATEWAY,
    token: TokenOption = "",
    data: DataOption = DATA,
    as_json: JsonOption = False,
) -> None:
    """Print the topics that the mesh counts, with their strings."""
    with reader_of(gateway, token, data) as client:
        told = client.topics()
    if as_json:
        print_json(told)
        return
    if not told["topics"]:
        print("# no topic is counted: `tianmesh topic set NAME STRING` begins")
    for topic in told["topics"]:
        sites = counted(len(topic["sites"]), "site") if topic["sites"] else "all sites"
        print(printable(f"{topic['name']}  {topic['title']}: {'; '.join(topic['strings'])} ({sites})"))


@topic_app.command(epilog="Examples: tianmesh topic show congress   tianmesh topic show congress --json")
def show(
    name: Annotated[str, typer.Argument(help="As `topic list` shows it.")],
    gateway: GatewayOption = GATEWAY,
    token: TokenOption = "",
    data: DataOption = DATA,
    as_json: JsonOption = False,
) -> None:
    """Print the counts of a topic in each slice that is over, and the series over them."""
    with reader_of(gateway, token, data) as client:
        told = client.topic(name)
    if as_json:
        print_json(told)
        return
    print(f"{'begins':20} {'pages':>9} {'topic':>9} {'share':>8} {'related':>9} {'contents':>9} {'topic':>9}")
    for each in told["slices"]:
        share = f"{each['topic'] / each['pages']:8.2%}" if each["pages"] else f"{'-':>8}"
        numbers = f"{each['related']:9} {each['contents']:9} {each['topic_contents']:9}"
        lost = "  lost" if each["is_lost"] else ""
        print(
            f"{minute_of(each['begins_at']):20} {each['pages']:9} {each['topic']:9} {share} {numbers}{lost}"
        )
    for peer in told.get("left_out", ()):
        print(printable(f"# without the counts of {peer}, which tells what it was not asked for"))
    for peer in told.get("silent", ()):
        print(printable(f"# without the counts of {peer}, which has not told them"))
    if told.get("missing_share"):
        print(f"# so about {told['missing_share']:.1%} of all pages are missing in each slice")
    for key in ("pages", "contents", "related_pages", "related_contents"):
        if (strength := told[key]) is not None:
            numbers = "  ".join(f"{part} {strength['absolute'][part]:.6g}" for part in _PARTS)
            shares = "  ".join(f"{part} {strength['share'][part]:.4%}" for part in _PARTS)
            print(f"{key.replace('_', ' ')}: {numbers}; shares: {shares}")
    print(f"the slice of now is counted at {minute_of(told['open_until'])}")


_PARTS: Final = ("total", "mean", "deviation")


@topic_app.command(
    "set",
    epilog='Examples: tianmesh topic set congress 十六大 "party congress" --related related.txt   '
    "tianmesh topic set flood --strings chosen.txt --sites sites.txt --title 洪水",
)
def set_topic(
    name: Annotated[str, typer.Argument(help="Small letters, digits and -, for addresses.")],
    strings: Annotated[list[str] | None, typer.Argument(metavar="STRING...", help="Of the topic.")] = None,
    more_strings: Annotated[
        Path | None,
        typer.Option("--strings", help="A file with more, one a line; # begins a remark."),
    ] = None,
    related: Annotated[Path | None, typer.Option(help="A file with related strings, likewise.")] = None,
    sites: Annotated[
        Path | None, typer.Option(help="A file with hosts and domains.", show_default="all sites")
    ] = None,
    title: Annotated[str, typer.Option(help="For people.", show_default="the name")] = "",
    kept: Annotated[int, typer.Option(min=4, max=KEPT_MAX, help="Slices for which counts are kept.")] = 366,
    slice_: Annotated[
        str, typer.Option("--slice", help="Of all topics of the mesh.", show_default="as it is, or 1d")
    ] = "",
    begins: Annotated[
        str, typer.Option(help="UTC, when slices begin.", show_default="as it is, or 00:00")
    ] = "",
    key: KeyOption = None,
    gateway: GatewayOption = GATEWAY,
    token: TokenOption = "",
    data: DataOption = DATA,
    as_json: JsonOption = False,
) -> None:
    """Have the mesh count a topic from now on; with other strings or sites it is counted anew."""
    texts = strings_of([*(strings or ()), *(lines_of(more_strings) if more_strings else ())])
    near = strings_of(lines_of(related)) if related else ()
    hosts = sites_of(lines_of(sites)) if sites else ()
    topic = _checked(CountedTopic(name, title or name, texts, near, hosts, kept))
    with administrator_of(gateway, token, data, key) as client:
        issuer = TopicIssuer(client, key_in(data, key))
        topics = _sliced(issuer.in_force(), slice_, begins)
        number = issuer.issue(with_topic(topics, topic, time.time()))
    told = {"number": number, "name": name, "strings": len(texts), "related": len(near)}
    sentence = f"topic {name} (decree {number}) is on its way to all peers; the present slice counts in part"
    print_told(as_json, told, sentence)


@topic_app.command(epilog="Example: tianmesh topic end congress")
def end(
    name: Annotated[str, typer.Argument(help="As `topic list` shows it.")],
    key: KeyOption = None,
    gateway: GatewayOption = GATEWAY,
    token: TokenOption = "",
    data: DataOption = DATA,
    as_json: JsonOption = False,
) -> None:
    """Count a topic no more, and delete its counts; `topic export` keeps them before."""
    with administrator_of(gateway, token, data, key) as client:
        issuer = TopicIssuer(client, key_in(data, key))
        number = issuer.issue(without_topic(issuer.in_force(), name))
    print_told(
        as_json, {"number": number, "name": name}, f"topic {name} is counted no more (decree {number})"
    )


@topic_app.command(epilog="Example: tianmesh topic strings pages/*.html > strings.txt")
def strings(
    files: Annotated[list[Path], typer.Argument(help="Pages on the topic, as HTML or text.")],
    texts_min: Annotated[int, typer.Option("--in", min=1, help="Pages that a string is in at least.")] = 2,
    most: Annotated[int, typer.Option(min=1, max=10_000, help="Strings at most.")] = 200,
    as_json: JsonOption = False,
) -> None:
    """Propose strings: those of 2 to 15 characters, or 1 to 5 words, that pages on a topic have often.

    Print each with its occurrences and the number of pages that have it. Delete those that other pages have
    as well; what is left is a file for `topic set --strings` and `--related`.
    """
    from peers.commands.sample_texts import read_texts
    from peers.topics.string_proposals import proposed_strings

    proposed = proposed_strings(read_texts(files), texts_min=texts_min, most=most)
    if as_json:
        print_json([each._asdict() for each in proposed])
        return
    print("# string, occurrences, pages")
    for each in proposed:
        print(printable(each.text), each.occurrences, each.texts, sep="\t")


@topic_app.command(epilog="Example: tianmesh topic export congress > congress.csv")
def export(
    name: Annotated[str, typer.Argument(help="As `topic list` shows it.")],
    gateway: GatewayOption = GATEWAY,
    token: TokenOption = "",
    data: DataOption = DATA,
) -> None:
    """Print a topic as CSV: a line for each slice, with counts and the values of the series."""
    with reader_of(gateway, token, data) as client:
        sys.stdout.write(client.topic_csv(name))


def _checked(topic: CountedTopic) -> CountedTopic:
    """Return a topic that a list can have. ConfigError: it has no strings, too many, or a bad name."""
    if not topic.strings:
        raise ConfigError("a topic needs a string: give some, or a file with --strings")
    if re.fullmatch(NAME_PATTERN, topic.name) is None:
        raise ConfigError(f"{topic.name!r} is no name of a topic: take up to 32 small letters, digits and -")
    for texts, most, of in _LIMITS:
        if (count := len(getattr(topic, texts))) > most:
            raise ConfigError(f"a topic has {most:,} {of} at most, and these are {count:,}: leave some out")
    try:
        (checked,) = list_in(list_body(msgspec.structs.replace(_EMPTY, topics=(topic,)))).topics
    except ValueError as error:
        raise ConfigError(f"{topic.name}: {error}") from error
    return checked


def _sliced(topics: TopicList, slice_: str, begins: str) -> TopicList:
    """Return topics with the slices that are asked for. ConfigError: they cannot be."""
    slice_s = int(seconds_in(slice_)) if slice_ else topics.slice_s
    starts_s = (_clock_in(begins) if begins else topics.starts_s) % slice_s
    if not SLICE_S_MIN <= slice_s <= SLICE_S_MAX:
        raise ConfigError(
            f"{slice_}: a slice lasts {SLICE_S_MIN} seconds to {counted(SLICE_S_MAX // DAY_S, 'day')}"
        )
    if (slice_s, starts_s) != (topics.slice_s, topics.starts_s) and topics.topics:
        names = ", ".join(each.name for each in topics.topics)
        raise ConfigError(f"slices are those of all topics: end {names} before they change")
    return msgspec.structs.replace(topics, slice_s=slice_s, starts_s=starts_s)


def _clock_in(text: str) -> int:
    hours, _, minutes = text.partition(":")
    if hours.isdecimal() and minutes.isdecimal() and int(hours) < 24 and int(minutes) < 60:
        return int(hours) * 3_600 + int(minutes) * 60
    raise ConfigError(f"{text!r} is no time of a day: write it as 22:00")


_LIMITS: Final = (
    ("strings", STRINGS_MAX, "strings"),
    ("related", RELATED_MAX, "related strings"),
    ("sites", SITES_MAX, "sites"),
    ("title", TITLE_CHARS_MAX, "characters of its title"),
)
_EMPTY: Final = TopicList(FORMAT, ())
