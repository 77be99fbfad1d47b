"""The table of quantities: all that a peer tells of itself, and the report of a mesh that is made of it.

What an entry means, and what follows from it, is in `quantity`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Annotated, Final

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from mesh.actors.conduct import MEMBERS_TOLD_MAX
from mesh.errors import RemoteProtocolError
from mesh.membership.model.members import State
from mesh.membership.model.messages import UNREACHABLE_MAX
from mesh.membership.model.wire_messages import Rumour
from peers.gateway.model.quantity import (
    ALL,
    ANY,
    COUNT_MAX,
    MAX,
    Amount,
    Bilingual,
    Count,
    Curve,
    Kind,
    counter,
    fact,
    figure,
    gauge,
    longest,
    ratio,
    total_of,
    without_private,
)

STATUS_BYTES_MAX: Final = 65_536  # encoded, as `StatusTold` takes it
TEXT_CHARS_MAX: Final = 300  # of a name
REASONS_MAX: Final = 1_000  # distinct HTTP status codes and failure reasons of one peer
OTHER: Final = "other"  # counts together those that would be too many
HOT_HOSTS_MAX: Final = 10  # named, of one peer and of all
SEARCHED_WORDS_MAX: Final = 64
STORES_MAX: Final = 64  # of one peer
UNREACHABLE_TOLD_MAX: Final = UNREACHABLE_MAX + 1  # and the peer itself
OFFENCES_MAX: Final = 64  # kinds

Text = Annotated[str, Meta(max_length=TEXT_CHARS_MAX)]
Words = Annotated[tuple[Text, ...], Meta(max_length=SEARCHED_WORDS_MAX)]


# fmt: off
# One entry is two or three lines here, and ten where a formatter breaks them.


class FrontierSize(msgspec.Struct, frozen=True):
    """Counts of the hosts and URLs that a peer still has to fetch."""

    hosts: Annotated[Count, gauge("hosts", "Hosts with anything queued.", "队列中有网址的主机数",
        "controller")] = 0
    queued: Annotated[Count, gauge("URLs", "URLs that wait to be fetched.", "等待抓取的网址数",
        "controller.due", metric="frontier_urls", label=Bilingual("queue", "队列"), chart=Curve("queued",
        "URLs to fetch", "待抓取网址"))] = 0
    in_flight: Annotated[Count, gauge("fetches", "Fetches under way.", "正在进行的抓取数", "controller",
        metric="fetches_in_flight")] = 0


class SlotCounts(msgspec.Struct, frozen=True):
    """The slots of a peer, counted by their present states."""

    owned: Annotated[Count, gauge("slots", "Slots to be crawled by it.", "应由它抓取的槽数", "handover",
        chart=Curve("slots_owned"))] = 0
    held: Annotated[Count, gauge("slots", "Slots crawled by it, of those that it should crawl.",
        "正由它抓取的槽数 / 应由它抓取的槽数", "handover", label=Bilingual("slots crawled", "抓取的槽"),
        share_of="slots.owned")] = 0
    kept: Annotated[Count, gauge("slots", "Slots kept, as owner or standby.",
        "作为主节点或备用节点保存的槽数", "handover")] = 0
    complete: Annotated[Count, gauge("slots", "Slots of which everything is here, of those kept.",
        "内容完整的槽数 / 保存的槽数", "handover", label=Bilingual("complete copies", "完整副本"),
        share_of="slots.kept")] = 0
    answered: Annotated[Count, gauge("slots", "Slots searched here.", "在此应答查询的槽数",
        "searcher.slots_answered", label=Bilingual("slots answered", "应答的槽"))] = 0
    wanted: Annotated[Count, gauge("slots",
        "Slots to be brought here; one counts for every peer and store that has some of it.",
        "待取回的槽数，按拥有其内容的节点和存储分别计数", label=Bilingual("to get", "待取"),
        chart=Curve("slots_wanted"))] = 0
    strays: Annotated[Count, gauge("slots", "Slots not to be kept here any more, and not yet safe elsewhere.",
        "不再由此保存、但别处尚未存好的槽数", "handover")] = 0
    stopping: Annotated[Count, gauge("slots",
        "Slots no longer to be crawled here, with pages still on their way.",
        "不再由此抓取、但仍有网页在处理的槽数", "handover")] = 0


class StoreCounts(msgspec.Struct, frozen=True):
    """One store of a peer: the number of slots that it has data of, and the transfers of that data."""

    slots: Annotated[Count, figure("slots", "Slots of which anything is here.", "存有任何内容的槽数")] = 0
    wanted: Annotated[Count, figure("slots",
        "Slots to be brought here; one counts for every peer that has some of it.",
        "待取回的槽数，按拥有其内容的节点分别计数")] = 0
    moving: Annotated[Count, figure("transfers", "Transfers under way, in and out.",
        "正在进行的收发传输数")] = 0
    unkept: Annotated[Count, figure("messages",
        "Messages of changes on their way to others that keep the same slots.",
        "正在发往同槽其他节点的变更消息数")] = 0
    bytes_received: Annotated[Count, figure("B",
        "Bytes got from others when slots changed hands or were repaired.", "槽移交或修复时收到的字节数")] = 0
    bytes_sent: Annotated[Count, figure("B", "Bytes sent to others then.", "槽移交或修复时发出的字节数")] = 0


class MemberMisconduct(msgspec.Struct, frozen=True):
    """The offences of another member that a peer has seen itself; see `mesh.actors.conduct`."""

    peer: Annotated[Text, fact("Id of the member.", "成员标识")]
    points: Annotated[Amount, figure("points", "Points for offences, as of now.", "当前违规分数", rule=None)]
    is_quarantined: Annotated[bool, fact("Whether nothing of it is believed.", "是否已被隔离")]
    offences: Annotated[dict[Text, Count], Meta(max_length=OFFENCES_MAX), figure("offences",
        "Offences since the start, by kind.", "启动以来各类违规次数", rule=None)]


class PeerState(Enum):
    """The state of a peer beside the crawl; the gravest that applies."""

    CUT_OFF = "cut off"  # most members are out of its sight: it begins no fetches
    UNLICENSED = "unlicensed"  # nobody has answered it lately: it begins no fetches
    DRAINED = "drained"  # nothing depends on it any more
    DRAINING = "draining"  # it gives its slots away
    CLAIMING = "claiming"  # it does not crawl all of its slots yet
    MOVING = "moving"  # it gets or gives what belongs to slots
    STEADY = "steady"


class MemberRow(msgspec.Struct, frozen=True, kw_only=True):
    """A member of the mesh, whether it answers or not, as the peer that was asked believes."""

    id: Annotated[str, fact("Id of the member.", "成员标识")]
    name: Annotated[str, fact("Name among people, as it says itself; may be anything.", "节点自报的名称",
        is_private=True)] = ""
    is_door: Annotated[bool, fact("A bootstrap node: it has no slots, no gateway and no status.",
        "引导节点：没有槽、网关和状态")] = False
    state: Annotated[str, fact("Alive, suspect, or down.", "存活、疑似停机或停机")]
    down_s: Annotated[float | None, figure("s",
        "Seconds for which it has been down; null when longer than that is known.",
        "停机秒数；更早停机则为 null", rule=None)] = None
    endpoint: Annotated[str, fact("tcp://host:port of its inbox.", "收件地址", is_private=True)] = ""
    door: Annotated[str, fact("Where newcomers knock.", "新节点加入时连接的地址", is_private=True)] = ""
    key: Annotated[str, fact("The key that they must know then, Z85.", "加入时须知的公钥（Z85）",
        is_private=True)] = ""
    gateway: Annotated[str, fact("URL of its gateway.", "网关网址", is_private=True)] = ""


class Total(msgspec.Struct, frozen=True, kw_only=True):
    """The numbers of a peer, or of all peers of a report taken together.

    Since the start of a peer, where nothing else is said; counters grow, gauges are as of now.
    """

    pages_fetched: Annotated[Count, counter("pages", "Pages that were asked for and answered.",
        "已请求并得到应答的网页数", "controller", chart=Curve("pages_per_s", "Pages per second",
        "每秒网页数"))] = 0
    pages_stored: Annotated[Count, counter("pages", "Pages stored as owner of their slots, ever.",
        "作为槽的主节点累计存储的网页数", "cell.stored")] = 0
    pages_indexed: Annotated[Count, gauge("pages",
        "Pages that searches find here; over all peers every page counts once.",
        "在此可搜到的网页数；全部节点合计时每页只计一次", "indexer.documents", label=Bilingual("pages",
        "网页"))] = 0
    pages_per_second: Annotated[Amount, figure("pages/s", "Pages fetched per second since the start.",
        "启动以来平均每秒抓取的网页数", rule=ratio("pages_fetched", "seconds"))] = 0.0
    pages_per_second_now: Annotated[Amount, figure("pages/s",
        "Pages fetched per second, over the last seconds.", "最近几秒平均每秒抓取的网页数",
        label=Bilingual("pages/s", "网页/秒"))] = 0.0
    urls_seen: Annotated[Count, counter("URLs", "URLs met, ever, of the slots held.", "累计见过的网址数",
        "controller")] = 0
    frontier: FrontierSize = FrontierSize()
    fetch_status: Annotated[dict[Text, Count], Meta(max_length=REASONS_MAX), counter("fetches",
        "Fetches by how they ended: a status of HTTP, or a reason.",
        "按结果（HTTP 状态码或原因）统计的抓取数", "controller", metric="fetches", key="outcome",
        is_private=True)] = {}
    bytes_fetched: Annotated[Count, counter("B", "Bytes of bodies that were fetched.", "抓取到的正文字节数",
        "controller", metric="fetched_bytes", chart=Curve("fetched_bytes_per_s"))] = 0
    links_found: Annotated[Count, counter("links", "Links found on pages.", "网页中发现的链接数",
        "controller")] = 0
    links_sent: Annotated[Count, counter("links", "Links sent to other peers.", "发给其他节点的链接数",
        "controller")] = 0
    searches: Annotated[Count, counter("searches", "Searches that people and programs asked for.",
        "用户和程序发起的查询数", "searcher", chart=Curve("searches_per_s", "Searches per second",
        "每秒查询数"))] = 0
    searches_cached: Annotated[Count, counter("searches", "Searches answered from memory.",
        "直接由缓存应答的查询数", "searcher.cache_hits")] = 0
    searches_incomplete: Annotated[Count, counter("searches", "Searches answered without all slots.",
        "未能覆盖全部槽的查询数", "searcher.incomplete")] = 0
    messages_sent: Annotated[Count, counter("messages", "Messages sent to other peers.",
        "发给其他节点的消息数", chart=Curve("messages_per_s", "Messages per second", "每秒消息数"))] = 0
    bytes_sent: Annotated[Count, counter("B", "Bytes sent to other peers.", "发给其他节点的字节数",
        metric="sent_bytes", chart=Curve("message_bytes_per_s"))] = 0
    seconds: Annotated[Amount, gauge("s", "Seconds since the start; of all, the longest.",
        "启动以来的秒数；合计为最长者", rule=MAX, metric="up_seconds")] = 0.0
    cpu_seconds: Annotated[Amount, counter("s", "Processor time, helping processes included.",
        "处理器时间，含辅助进程", chart=Curve("cpu_cores", "Processors busy", "占用处理器数"))] = 0.0
    slots: Annotated[SlotCounts, gauge("slots", "Slots by what is true of them; see `tianmesh status`.",
        "按状态统计的槽数", key="what")] = SlotCounts()
    stores: Annotated[dict[Text, StoreCounts], Meta(max_length=STORES_MAX), figure("stores",
        "Stores by name.", "各存储，按名称")] = {}
    bytes_moved: Annotated[Count, counter("B",
        "Bytes received with slots that changed hands, or were repaired.", "槽移交或修复时收到的字节数",
        metric="moved_bytes", chart=Curve("moved_bytes_per_s"))] = 0
    bytes_moved_per_s: Annotated[Amount, figure("B/s",
        "Bytes of slots received per second, over the last seconds.", "最近几秒平均每秒收到的槽内容",
        label=Bilingual("MB/s", "MB/秒"))] = 0.0
    private_bytes: Annotated[Count, gauge("B", "Memory that is of no file.", "不属于任何文件的内存",
        label=Bilingual("MB memory", "内存 MB"), chart=Curve("memory_bytes", "Memory", "内存"))] = 0
    rss_bytes: Annotated[Count, gauge("B", "Memory, files that the system caches included.",
        "内存，含系统缓存的文件", metric="resident_bytes")] = 0
    disk_bytes: Annotated[Count, gauge("B", "Size of archive and index on disk.", "存档与索引占用的磁盘空间",
        chart=Curve("disk_bytes", "Archive and index", "存档与索引"))] = 0
    archive_bytes: Annotated[Count, gauge("B", "Size of the archive on disk.", "存档占用的磁盘空间",
        "cell")] = 0
    index_bytes: Annotated[Count, gauge("B", "Size of the index on disk.", "索引占用的磁盘空间")] = 0
    documents: Annotated[Count, gauge("documents", "Documents in the index, those of other owners included.",
        "索引中的文档数，含其他主节点的", chart=Curve("documents"))] = 0
    pending: Annotated[Count, gauge("pages", "Pages and batches begun, not yet durable where they belong.",
        "已开始、尚未在应在之处存妥的网页与批次数")] = 0
    activity: Annotated[Count, figure("1",
        "Changes whenever anything happens: equal twice and idle means at rest.",
        "有任何动作即变化；两次相等且空闲即为静止")] = 0
    idle: Annotated[bool, gauge("", "1 when there is nothing to do.", "无事可做时为 1", rule=ALL)] = False
    disk_full: Annotated[bool, figure("", "Nothing is fetched until the disk has space again.",
        "磁盘已满，停止抓取", rule=ANY)] = False
    is_out_of_space: Annotated[bool, gauge("", "1 while nothing is fetched for lack of space.",
        "因空间不足而停止抓取时为 1", rule=ANY, metric="disk_full")] = False
    disk_free_bytes: Annotated[Count, gauge("B",
        "Space left on the disk of archive and index; 0 when that is not told.",
        "存档与索引所在磁盘的剩余空间；未知时为 0", is_private=True)] = 0
    disk_bytes_per_s: Annotated[Amount, figure("B/s",
        "Bytes per second by which archive and index grow, over the last ten minutes.",
        "最近十分钟存档与索引平均每秒的增长")] = 0.0
    members: Annotated[Count, gauge("members", "Live members that this peer sees, itself included.",
        "此节点可见的存活成员数，含自身", "membership.alive", rule=MAX)] = 0
    members_quarantined: Annotated[Count, gauge("members",
        "Members that this peer believes nothing of, for what they did.", "因违规被此节点隔离的成员数",
        rule=MAX, is_private=True)] = 0
    weight: Annotated[Count, gauge("1", "Share of the slots, relative to those of others.",
        "相对于其他节点的槽份额", "membership")] = 0
    relayed: Annotated[Count, figure("peers", "Peers that others reach over this one.",
        "经此节点中继的节点数")] = 0
    pages_max: Annotated[Count, figure("pages",
        "Limit of the whole mesh by its policy, when that is why nothing is fetched; else 0.",
        "因策略的网页总数上限而停止抓取时的上限，否则为 0", "controller", rule=MAX)] = 0
    policy_late_s: Annotated[Amount, figure("s",
        "Seconds since the policy should have been followed by another.", "策略应被下一策略取代以来的秒数",
        "controller", rule=MAX)] = 0.0
    hot_hosts: Annotated[tuple[tuple[Text, Count], ...], Meta(max_length=HOT_HOSTS_MAX), figure("URLs",
        "Hosts with the longest queues, longest first, with the URLs queued.", "队列最长的主机及其排队网址数",
        "controller", rule=longest(HOT_HOSTS_MAX), is_private=True)] = ()


class PeerStatus(Total, frozen=True):
    """One peer: its numbers, and the facts that are its own."""

    id: Annotated[Text, fact("Id of the peer.", "节点标识", kind=Kind.INFO, metric="peer")]
    pid: Annotated[Count, fact("Number of its process.", "进程号", is_private=True)] = 0
    endpoint: Annotated[Text, fact("tcp://host:port of its inbox.", "收件地址", is_private=True)] = ""
    gateway: Annotated[Text, fact("URL of its gateway.", "网关网址", is_private=True)] = ""
    machine: Annotated[Text, fact("What its machine calls itself.", "机器名", is_private=True,
        kind=Kind.INFO)] = ""
    version: Annotated[Text, fact("Version of tianmesh.", "tianmesh 版本", kind=Kind.INFO)] = ""
    state: Annotated[PeerState, fact("What the peer is busy with beside the crawl; as a metric 1 for it.",
        "节点在抓取之外的状态", kind=Kind.GAUGE, key="state")] = PeerState.STEADY
    epoch: Annotated[str, Meta(max_length=64), fact("Hexadecimal name of the slots' present owners.",
        "当前槽分配的标识（十六进制）", "membership")] = ""
    is_draining: Annotated[bool, fact("Whether it gives its slots away.", "是否正在移交各槽",
        "membership")] = False
    relay: Annotated[Text, fact("The member over which others reach it.", "其他节点经由哪个成员连接它",
        "membership")] = ""
    disk_stop: Annotated[Text, fact("The limit of its disk by which it fetches nothing.",
        "令其停止抓取的磁盘限制", is_private=True)] = ""
    misconduct: Annotated[tuple[MemberMisconduct, ...], Meta(max_length=MEMBERS_TOLD_MAX),
        fact("Offences of other members, the worst first.", "其他成员的违规，最严重者在前",
        is_private=True)] = ()
    unreachable: Annotated[tuple[tuple[Text, Text], ...], Meta(max_length=UNREACHABLE_TOLD_MAX),
        fact("Peers that others do not reach and why: this one, or those that ask to be let in here.",
        "其他节点无法连接的节点及原因", is_private=True)] = ()
    searched_words: Annotated[Words, fact("Guide words that the crawl takes from searches.",
        "由查询得来的抓取引导词", "controller", is_private=True)] = ()


# fmt: on
class Report(msgspec.Struct, frozen=True):
    """The JSON of /api/status and of `--report`."""

    peers: tuple[PeerStatus, ...]
    total: Total
    members: tuple[MemberRow, ...] = ()  # of the mesh: also those that are down or have no status


def public_part(report: Report) -> Report:
    """Return the part of a report for everybody: no addresses, processes, hosts that are crawled."""
    return Report(
        tuple(map(without_private, report.peers)),
        without_private(report.total),
        tuple(map(without_private, report.members)),
    )


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(PeerStatus)


def report_of(peers: Iterable[PeerStatus], members: Iterable[MemberRow] = ()) -> Report:
    """Sort the peers by id and sum them up."""
    listed = tuple(sorted(peers, key=lambda peer: peer.id))
    return Report(listed, total_of(listed, Total), tuple(sorted(members, key=lambda each: each.id)))


def member_rows(members: Iterable[Rumour], down_s: Mapping[str, float]) -> list[MemberRow]:
    """Return a row for each member as a membership believes it to be, for people."""
    return [
        MemberRow(
            id=record.peer,
            name=record.name,
            is_door=not (record.gateway or record.weight or record.serving),
            state=_STATES[State(state)],
            down_s=down_s.get(record.peer) if state == State.DEAD else None,
            endpoint=record.endpoint,
            door=record.door,
            key=record.curve_key.decode("ascii", "replace"),
            gateway=record.gateway,
        )
        for record, state in ((rumour.record, rumour.state) for rumour in members)
    ]


_STATES: Final = {State.ALIVE: "alive", State.SUSPECT: "suspect", State.DEAD: "down", State.LEFT: "gone"}


def state_of(
    slots: SlotCounts, *, has_majority: bool, is_licensed: bool, is_draining: bool, is_quiet: bool
) -> PeerState:
    """Return the state of a peer, the gravest that applies.

    Args:
      is_quiet: nothing of its slots is moving or has to.
    """
    if not has_majority:
        return PeerState.CUT_OFF
    if is_draining:
        uses = (slots.owned, slots.held, slots.kept, slots.answered, slots.strays, slots.stopping)
        return PeerState.DRAINING if any(uses) else PeerState.DRAINED
    if not is_licensed:
        return PeerState.UNLICENSED
    if slots.held < slots.owned:
        return PeerState.CLAIMING
    return PeerState.STEADY if is_quiet else PeerState.MOVING


def encode(status: PeerStatus) -> bytes:
    """MessagePack, as `MeterRead` and `StatusTold` carry it.

    Whatever a web or a bug has made of names and counts, it is cut to what `decode` takes: a peer whose
    status cannot be read counts as gone.
    """
    hosts = status.hot_hosts[:HOT_HOSTS_MAX]
    cut = replace(status, hot_hosts=tuple((name[:TEXT_CHARS_MAX], min(n, COUNT_MAX)) for name, n in hosts))
    reasons = REASONS_MAX
    while True:
        encoded = _encoder.encode(replace(cut, fetch_status=_most(status.fetch_status, reasons)))
        if len(encoded) <= STATUS_BYTES_MAX:
            return encoded
        reasons //= 2
        assert reasons, "a status is small but for its reasons"


def decode(encoded: bytes) -> PeerStatus:
    """Read a status.

    Raises:
      RemoteProtocolError: it is none.
    """
    try:
        return _decoder.decode(encoded)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise RemoteProtocolError(f"undecodable status of {len(encoded)} bytes: {error}") from error


def _most(counts: Mapping[str, int], limit: int) -> dict[str, int]:
    """The most frequent ones, with all others counted together, at most `limit` of both."""
    most_first = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    n_named = len(counts) if len(counts) < limit else limit - 1
    named = [(name[:TEXT_CHARS_MAX], n) for name, n in most_first[:n_named]]
    kept: dict[str, int] = {}
    for name, n in (*named, *((OTHER, n) for _, n in most_first[n_named:])):
        kept[name] = min(kept.get(name, 0) + n, COUNT_MAX)
    return kept
