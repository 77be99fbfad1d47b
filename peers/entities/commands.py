"""The commands `tianmesh entities`: add, list, show, pages, score, feedback, feed, follow, forget. [io]"""

from __future__ import annotations

import os
import re
import sys
import time
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec
import typer

from mesh.client.gateway_client import GatewayBusy, GatewayClient
from mesh.counts import counted
from mesh.errors import ConfigError
from peers.entities.feed import (
    ENTRIES_MAX,
    Feed,
    FeedEntry,
    feed_bytes,
    secret_of,
)
from peers.entities.feed import TEXT_CHARS_MAX as SENTENCE_CHARS_MAX
from peers.entities.feed import TITLE_CHARS_MAX as FEED_TITLE_CHARS_MAX
from peers.entities.feedback import fitted, pair_order
from peers.entities.owner import OPTION, KeptEntity, Owner
from peers.entities.pages import PAGES_MAX, ScoredPage, completed, page_at, pages_of, queries_of
from peers.entities.profile import (
    TEXT_CHARS_MAX,
    TEXTS_MAX,
    GradedPage,
    Profile,
    digest_of,
    profile_bytes,
    with_grade,
)
from peers.entities.score import PRIOR, PageScore, score_page
from peers.entities.seal import RowKey
from peers.entities.sealed_row import KEY_BYTES
from peers.entities.tone import ToneModel, own_model, read_lexicon
from peers.options import (
    DATA,
    GATEWAY,
    DataOption,
    GatewayOption,
    JsonOption,
    print_json,
    print_told,
    printable,
    seconds_in,
)
from peers.user_state import state_path
from peers.webhooks.command import SecretOption

GRADES: Final = ("low", "middle", "high")
TONES: Final = {1: "good", 0: "neither", -1: "bad"}
TOLD_AFTER_S: Final = 2.0
FIELD_HELP: Final = "may be given several times"

entities_app: Final = typer.Typer(
    no_args_is_help=True,
    help="People and organisations that you follow: pages of the mesh about them, scored, with their tone. "
    "An entity is kept in the mesh, sealed: only the file of your keys opens it. A search for its pages "
    "sends its names to the gateway and nothing else; pages are scored on this machine.",
    context_settings={"help_option_names": ["-h", "--help"]},
)

FIELDS_BYTES_MAX: Final = 128 << 10  # of a file: all fields with all the texts that they may have are 80 kB

KeysOption = Annotated[
    Path | None,
    typer.Option(
        OPTION,
        envvar="TIANMESH_ENTITY_KEYS",
        help="The file with your keys; without it nobody opens your entities.",
        show_default="in your state folder",
    ),
]
LabelArgument = Annotated[
    str, typer.Argument(metavar="NAME", help="The entity, as `entities list` shows it.")
]
LexiconOption = Annotated[
    Path | None,
    typer.Option(
        help="Words of a tone of your own: WORD, tab, weight a line, or words below a line of + or -.",
        show_default="the words that come with the program",
    ),
]
PagesOption = Annotated[int, typer.Option(min=1, max=PAGES_MAX, help="Pages that are read.")]


FieldsOption = Annotated[
    Path | None,
    typer.Option(
        "--from",
        metavar="FILE",
        help="Fields in TOML, named as these options, and `name`; - for standard input.",
        show_default=False,
    ),
]
# The fields of a profile by their names in a file, which are those of the options.
_IN_FILE: Final = {
    "domain": "domain",
    "employer": "employers",
    "occupation": "occupations",
    "post": "posts",
    "image": "image",
    "feature": "features",
    "work": "works",
    "exclude": "excluded",
}


def _field(text: str) -> Any:
    return typer.Option(help=f"{text}; {FIELD_HELP}.", show_default=False)


@entities_app.command(
    epilog='Examples: tianmesh entities add 李晓明 --employer 北京大学 --post 教授 --work "搜索引擎"   '
    "tianmesh entities add 王刚 --occupation 主持人 --exclude 足球   "
    "tianmesh entities add case-7 --from fields.toml"
)
def add(
    label: Annotated[str, typer.Argument(metavar="NAME", help="Its name, as pages write it.")],
    alias: Annotated[list[str] | None, _field("Another name")] = None,
    domain: Annotated[list[str] | None, _field("A field of life, such as science")] = None,
    employer: Annotated[list[str] | None, _field("An employer, in each way it is written")] = None,
    occupation: Annotated[list[str] | None, _field("An occupation")] = None,
    post: Annotated[list[str] | None, _field("Another post")] = None,
    image: Annotated[list[str] | None, _field("Words by which people speak of it")] = None,
    feature: Annotated[list[str] | None, _field("Words that stand beside it")] = None,
    work: Annotated[list[str] | None, _field("A work")] = None,
    exclude: Annotated[list[str] | None, _field("A word of a namesake")] = None,
    fields_file: FieldsOption = None,
    keys: KeysOption = None,
    data: DataOption = DATA,
    gateway: GatewayOption = GATEWAY,
    as_json: JsonOption = False,
) -> None:
    """Register an entity; of one that is there, replace the fields that are given.

    What is typed here stays in the history of a shell. Fields can stand in a file instead, and with `name`
    among them NAME need not be one: then it is what you call the entity, and is searched for nowhere.
    """
    given = {
        "domain": domain,
        "employers": employer,
        "occupations": occupation,
        "posts": post,
        "image": image,
        "features": feature,
        "works": work,
        "excluded": exclude,
    }
    in_file = {} if fields_file is None else _fields_in(fields_file)
    is_named = "names" in in_file
    names = _texts([*in_file.pop("names", ()), *(alias or ())])
    fields = in_file | {name: _texts(texts) for name, texts in given.items() if texts is not None}
    with GatewayClient(gateway) as client:
        owner = Owner(client, _keys_in(keys))
        if owner.has(label):
            kept = owner.read(label)
            # NAME is one of its names, unless they are in a file: then it is only what you call it.
            is_name = label in kept.profile.names and not is_named
            fields |= {"names": _texts([label, *names] if is_name else names)} if names else {}
            profile = _checked({**msgspec.structs.asdict(kept.profile), **fields})
            owner.write(kept, profile)
        else:
            profile = _checked({"label": label, "names": names if is_named else (label, *names), **fields})
            owner.add(profile)
    sentence = f"{label} is kept in the mesh; your key to it is in {_keys_in(keys)}: keep a copy of that file"
    print_told(as_json, _told(profile), sentence)


def _fields_in(path: Path) -> dict[str, tuple[str, ...]]:
    """Read the fields of an entity from a file. ConfigError."""
    where = "standard input" if str(path) == "-" else str(path)
    try:
        with nullcontext(sys.stdin.buffer) if str(path) == "-" else path.open("rb") as file:
            content = file.read(FIELDS_BYTES_MAX + 1)
        if len(content) > FIELDS_BYTES_MAX:
            raise ConfigError(f"{where} is longer than {FIELDS_BYTES_MAX:,} bytes, which no entity needs")
        read = tomllib.loads(content.decode())
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"the fields in {where} cannot be read: {error}") from error
    texts: dict[str, tuple[str, ...]] = {}
    for name, value in read.items():
        values = [value] if isinstance(value, str) else value
        if not isinstance(values, list) or not all(isinstance(each, str) for each in values):
            raise ConfigError(f'{name} in {where} is no text and no list of texts: write {name} = ["..."]')
        texts[name] = _texts(values)
    if "alias" in texts and "name" not in texts:
        raise ConfigError(f'{where} has an alias and no name: write name = "..."')
    unknown = texts.keys() - {*_IN_FILE, "name", "alias"}
    if unknown:
        raise ConfigError(f"{min(unknown)} in {where} is no field: {', '.join(('name', 'alias', *_IN_FILE))}")
    fields = {_IN_FILE[name]: value for name, value in texts.items() if name in _IN_FILE}
    return fields | {"names": (*texts["name"], *texts.get("alias", ()))} if "name" in texts else fields


@entities_app.command("list", epilog="Examples: tianmesh entities list   tianmesh entities list --json")
def list_entities(
    keys: KeysOption = None,
    data: DataOption = DATA,
    gateway: GatewayOption = GATEWAY,
    as_json: JsonOption = False,
) -> None:
    """List your entities, and whether the mesh has them."""
    with GatewayClient(gateway) as client:
        owner = Owner(client, _keys_in(keys))
        told = []
        for label in owner.labels:
            try:
                kept = owner.read(label)
                told.append({"name": label, "until": _day(kept.row.until_day), "why_not": ""})
            except (ConfigError, GatewayBusy) as error:
                told.append({"name": label, "until": "", "why_not": str(error)})
    if as_json:
        print_json({"entities": told})
        return
    for each in told:
        print(f"{each['name']}  " + (f"kept until {each['until']}" if each["until"] else each["why_not"]))
    if not told:
        print("you have no entities: `tianmesh entities add NAME` registers one", file=sys.stderr)


@entities_app.command(epilog="Examples: tianmesh entities show 李晓明   tianmesh entities show 李晓明 --json")
def show(
    label: LabelArgument,
    keys: KeysOption = None,
    data: DataOption = DATA,
    gateway: GatewayOption = GATEWAY,
    as_json: JsonOption = False,
) -> None:
    """Show the fields of an entity, the pages that you have graded, and the weights of its score."""
    with GatewayClient(gateway) as client:
        kept = Owner(client, _keys_in(keys)).read(label)
    told = {**_told(kept.profile), "until": _day(kept.row.until_day)}
    if as_json:
        print_json(told)
        return
    for name, texts in told["fields"].items():
        if texts:
            print(f"{name:12} {', '.join(texts)}")
    print(f"{'kept until':12} {told['until']}")
    print(f"{'graded':12} {', '.join(f'{count} {grade}' for grade, count in told['graded'].items())}")
    right, total = told["pairs_in_order"], told["pairs"]
    if total:
        print(f"{'in order':12} {right:g} of {counted(total, 'pair')} of these pages")
    for name, weight in told["weights"].items():
        changed = "" if weight == PRIOR[name] else f"  (by your feedback; {PRIOR[name]:g} for everybody)"
        print(f"  {name:12} {weight:6.2f}{changed}")


@entities_app.command(
    epilog="Examples: tianmesh entities pages 李晓明   tianmesh entities pages 李晓明 --pages 300 --explain"
)
def pages(
    label: LabelArgument,
    count: Annotated[int, typer.Option("-k", min=1, max=PAGES_MAX, help="Pages that are shown.")] = 20,
    read: Annotated[int, typer.Option("--pages", min=1, max=PAGES_MAX, help="Pages that are read.")] = 100,
    newest: Annotated[
        bool, typer.Option("--newest", help="Read the newest pages, not the best hits.")
    ] = False,
    explain: Annotated[bool, typer.Option("--explain", help="Show the parts of each score.")] = False,
    lexicon: LexiconOption = None,
    keys: KeysOption = None,
    data: DataOption = DATA,
    gateway: GatewayOption = GATEWAY,
    as_json: JsonOption = False,
) -> None:
    """Find the pages that have a name of an entity, the highest scores first, with their tone."""
    with GatewayClient(gateway) as client:
        kept = Owner(client, _keys_in(keys)).read(label)
        found = _found(client, kept.profile, _model(lexicon), read, newest=newest)[:count]
    if as_json:
        print_json({"entity": label, "pages": [_page_told(page) for page in found]})
        return
    for page in found:
        _show_page(page.url, page.title, page.found, explain=explain)
    if not found:
        print(f"no page of the mesh has a name of {label}", file=sys.stderr)


@entities_app.command(epilog="Example: tianmesh entities score 李晓明 https://www.example.org/news.html")
def score(
    label: LabelArgument,
    url: Annotated[str, typer.Argument(help="A page that the mesh has.")],
    lexicon: LexiconOption = None,
    keys: KeysOption = None,
    data: DataOption = DATA,
    gateway: GatewayOption = GATEWAY,
    as_json: JsonOption = False,
) -> None:
    """Score one page now, and show the parts of its score."""
    with GatewayClient(gateway) as client:
        kept = Owner(client, _keys_in(keys)).read(label)
        page, at_s = page_at(client, url)
    found = score_page(kept.profile, page, _model(lexicon))
    if found is None:
        print_told(
            as_json, {"url": page.url, "score": None}, f"{page.url} has no name of {label}, or a namesake's"
        )
        return
    if as_json:
        print_json(_page_told(ScoredPage(page.url, page.title, at_s, found)))
        return
    _show_page(page.url, page.title, found, explain=True)


@entities_app.command(
    epilog="Example: tianmesh entities feedback 李晓明 https://www.example.org/biography.html high"
)
def feedback(
    label: LabelArgument,
    url: Annotated[str, typer.Argument(help="A page that the mesh has.")],
    grade: Annotated[
        str,
        typer.Argument(
            metavar="high|middle|low",
            help="high: its biography, works, reports about it; middle: by it, or a large part of a report; "
            "low: in passing.",
        ),
    ],
    keys: KeysOption = None,
    data: DataOption = DATA,
    gateway: GatewayOption = GATEWAY,
    as_json: JsonOption = False,
) -> None:
    """Grade a page, from which the scores of this entity are learned anew, by pairs of graded pages."""
    if grade not in GRADES:
        raise typer.BadParameter(f"a grade is one of {', '.join(GRADES)}")
    with GatewayClient(gateway) as client:
        owner = Owner(client, _keys_in(keys))
        kept = owner.read(label)
        page, _ = page_at(client, url)
        found = score_page(kept.profile, page, own_model())
        if found is None:
            raise ConfigError(
                f"{page.url} has no name of {label}, or a namesake's: there is nothing to learn"
            )
        graded = GradedPage(digest_of(page.url), GRADES.index(grade), found.values)
        profile = with_grade(kept.profile, graded)
        profile = msgspec.structs.replace(profile, weights=fitted(profile, owner.others(label)))
        owner.write(kept, profile)
    before = pair_order(profile.graded, tuple(PRIOR.values()))
    after = pair_order(profile.graded, profile.weights)
    told = {"pairs": after.total, "in_order_before": before.right, "in_order": after.right}
    sentence = (
        f"of {counted(after.total, 'pair')} of graded pages {after.right:g} are in order, {before.right:g} "
        "by the weights of everybody"
        if after.total
        else "graded; grades of two kinds make pairs, from which scores are learned"
    )
    print_told(as_json, told, sentence)


@entities_app.command(
    epilog="Examples: tianmesh entities feed 李晓明   tianmesh entities feed 李晓明 --end   "
    "0 * * * * tianmesh entities feed 李晓明 (in crontab)"
)
def feed(
    label: LabelArgument,
    read: PagesOption = 100,
    end: Annotated[bool, typer.Option("--end", help="End the feed: its address leads nowhere then.")] = False,
    lexicon: LexiconOption = None,
    keys: KeysOption = None,
    data: DataOption = DATA,
    gateway: GatewayOption = GATEWAY,
    as_json: JsonOption = False,
) -> None:
    """Publish the newest pages of an entity as an Atom feed, and print its secret address.

    Whoever has the address reads the feed at any gateway of the mesh. Each call brings it up to date.
    """
    with GatewayClient(gateway) as client:
        owner = Owner(client, _keys_in(keys))
        kept = owner.read(label)
        if end:
            owner.end_feed(kept.profile)
            owner.write(kept, msgspec.structs.replace(kept.profile, feed=b""))
            print_told(as_json, {"entity": label, "feed": ""}, f"the feed of {label} is ended")
            return
        found = _found(client, kept.profile, _model(lexicon), read, newest=True)
        secret = _feed_secret(owner, kept)
        owner.publish(secret, feed_bytes(_feed_of(label, found)))
        address = f"{client.url}/feed/{secret_of(RowKey(secret))}"
    print_told(as_json, {"entity": label, "feed": address, "pages": len(found)}, address)


@entities_app.command(
    epilog="Example: tianmesh entities follow 李晓明 https://hooks.example.org/new --secret @hook.secret"
)
def follow(
    label: LabelArgument,
    url: Annotated[str, typer.Argument(help="Gets the pages, by POST.")],
    secret: SecretOption = "",
    every: Annotated[str, typer.Option(metavar="TIME", help="Search so often, such as 15m or 1h.")] = "15m",
    once: Annotated[bool, typer.Option("--once", help="Search and post once, as for cron.")] = False,
    private: Annotated[bool, typer.Option("--private", help="The URL may be at a private address.")] = False,
    state: Annotated[
        Path | None, typer.Option(help="Where to keep what was seen. Default: in your state folder.")
    ] = None,
    lexicon: LexiconOption = None,
    keys: KeysOption = None,
    data: DataOption = DATA,
    gateway: GatewayOption = GATEWAY,
) -> None:
    """Post new pages of an entity to a URL, each with its score and tone, until it is stopped.

    As `tianmesh webhook` does with the hits of searches: signed, and again until they are taken.
    """
    # Here, so that other commands need not wait for the rest.
    from peers.webhooks.endpoint import Endpoint, key_in
    from peers.webhooks.watch import OPTION as STATE_OPTION
    from peers.webhooks.watch import SearchWatch

    endpoint = Endpoint(url, key_in(secret), may_be_private=private)
    path = state or state_path("entity-webhook", [gateway, endpoint.url, label], STATE_OPTION)
    model = _model(lexicon)
    with GatewayClient(gateway) as client:
        profile = Owner(client, _keys_in(keys)).read(label).profile
        complete = partial(completed, client, profile, model)
        hook = SearchWatch(client, endpoint, queries_of(profile), seconds_in(every), path, complete)
        while True:
            due = hook.step(time.monotonic(), lambda text: print(printable(text), file=sys.stderr))
            if once:
                raise typer.Exit(1 if hook.n_missed or hook.state.waiting else 0)
            time.sleep(max(0.0, due - time.monotonic()))


@entities_app.command(epilog="Example: tianmesh entities forget 李晓明")
def forget(
    label: LabelArgument,
    keys: KeysOption = None,
    data: DataOption = DATA,
    gateway: GatewayOption = GATEWAY,
    as_json: JsonOption = False,
) -> None:
    """Delete an entity and its feed on all peers, and your key to it."""
    with GatewayClient(gateway) as client:
        was_there = Owner(client, _keys_in(keys)).forget(label)
    sentence = f"{label} is deleted on all peers" if was_there else f"the mesh did not have {label} any more"
    print_told(as_json, {"entity": label, "was_there": was_there}, f"{sentence}; your key to it, too")


def _keys_in(keys: Path | None) -> Path:
    return keys or state_path("entities", [], OPTION)


def _model(lexicon: Path | None) -> ToneModel:
    return own_model() if lexicon is None else read_lexicon(lexicon)


def _texts(texts: list[str] | tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text.strip() for text in texts if text.strip()))


_FIELD: Final = re.compile(r"\$\.([a-z]+)")  # in an error of msgspec, the field that is wrong


def _checked(fields: dict[str, Any]) -> Profile:
    try:
        profile = msgspec.convert(fields, Profile)
        profile_bytes(profile)
        return profile
    except UnicodeEncodeError as error:
        raise ConfigError(
            f"{error.object!r} is no text: type it in a terminal that is set to UTF-8 (LANG)"
        ) from error
    except msgspec.ValidationError as error:
        field = _FIELD.search(str(error))
        raise ConfigError(
            f"{field[1] if field else 'names'}: give {TEXTS_MAX} texts at most, of 1 to {TEXT_CHARS_MAX} "
            "characters each"
        ) from error


def _feed_secret(owner: Owner, kept: KeptEntity) -> bytes:
    """Return the secret of an entity's feed, which is kept with it from the first time on."""
    if kept.profile.feed:
        return kept.profile.feed
    secret = os.urandom(KEY_BYTES)
    owner.write(kept, msgspec.structs.replace(kept.profile, feed=secret))
    return secret


def _feed_of(label: str, found: list[ScoredPage]) -> Feed:
    newest = sorted(found, key=lambda page: -page.at_s)[:ENTRIES_MAX]
    entries = (
        FeedEntry(
            page.url,
            page.title[:FEED_TITLE_CHARS_MAX],
            page.found.sentence.strip()[:SENTENCE_CHARS_MAX],
            page.found.score,
            page.found.tone.sign,
            page.at_s,
        )
        for page in newest
    )
    return Feed(label, tuple(entries))


def _found(
    client: GatewayClient, profile: Profile, model: ToneModel, most: int, *, newest: bool
) -> list[ScoredPage]:
    with _telling() as told:
        return pages_of(client, profile, model, most, sort="date" if newest else "score", told=told)


@contextmanager
def _telling() -> Iterator[Callable[[int, int], None]]:
    """Tell how many pages are read, on a terminal, where it takes longer than a moment."""
    since = time.monotonic()
    is_told = False

    def told(done: int, total: int) -> None:
        nonlocal is_told
        if sys.stderr.isatty() and time.monotonic() - since > TOLD_AFTER_S:
            is_told = True
            print(f"\r{done:,} of {counted(total, 'page')} read", end="", file=sys.stderr, flush=True)

    yield told
    if is_told:
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def _told(profile: Profile) -> dict[str, Any]:
    names = ("names", "domain", "employers", "occupations", "posts", "image", "features", "works", "excluded")
    weights = profile.weights or tuple(PRIOR.values())
    order = pair_order(profile.graded, weights)
    return {
        "entity": profile.label,
        "fields": {name: list(getattr(profile, name)) for name in names},
        "graded": {
            name: sum(page.grade == grade for page in profile.graded) for grade, name in enumerate(GRADES)
        },
        "pairs": order.total,
        "pairs_in_order": order.right,
        "weights": dict(zip(PRIOR, weights, strict=True)),
        "has_feed": bool(profile.feed),
    }


def _page_told(page: ScoredPage) -> dict[str, Any]:
    tone = page.found.tone
    return {
        "url": page.url,
        "title": page.title,
        "score": page.found.score,
        "tone": {"sign": tone.sign, "share": round(tone.share, 3), "sentences": tone.sentences},
        "sentence": page.found.sentence,
        "parts": [
            {**part._asdict(), "value": round(part.value, 4), "points": round(part.points)}
            for part in page.found.parts
        ],
        "fetched_at": page.at_s,
    }


def _show_page(url: str, title: str, found: PageScore, *, explain: bool) -> None:
    tone = found.tone
    said = f"{TONES[tone.sign]}, {tone.share:.0%} of {counted(tone.sentences, 'sentence')}"
    print(printable(f"{found.score:6}  {url}  {' '.join(title.split())}"))
    print(printable(f"        tone: {said}  {' '.join(found.sentence.split())[:120]}"))
    if explain:
        for part in found.parts:
            if part.value:
                print(f"        {part.points:+7.0f}  {part.name} ({part.value:.2f} x {part.weight:g})")


def _day(number: int) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(number * 86_400))
