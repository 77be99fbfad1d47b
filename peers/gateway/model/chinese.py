"""Sentences that are put together of facts, in Chinese, by the English ones: see `sentences`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from mesh.actors.conduct import Offence
from peers.crawler.explanations import DelayBy, DueBy, Hold, IndexState, UrlState
from peers.crawler.model.web_request import FailureReason

_TIMES: Final[Mapping[str, str]] = {
    "for ever": "永久",
    "never": "永不",
    "now": "现在",
    "in {span}": "{span}后",
    "{span} ago": "{span}前",
    "{number} s": "{number} 秒",
    "{number} min": "{number} 分钟",
    "{number} h": "{number} 小时",
    "{number} days": "{number} 天",
}

_STATES: Final[Mapping[str, str]] = {
    UrlState.UNKNOWN: "未知",
    UrlState.QUEUED: "排队中",
    UrlState.FETCHING: "正在抓取",
    UrlState.IN_PROGRESS: "正在存储",
    UrlState.STORED: "已存储",
    UrlState.IMPORTED: "已存储，来自文件",
    UrlState.VISITED: "已访问，未存储内容",
    UrlState.FAILED: "失败",
    UrlState.LEFT_OUT: "未收录",
    DueBy.FIRST: "从未访问过",
    DueBy.AGAIN: "失败后重试",
    DueBy.INTERVAL: "网页的再访问间隔",
    DueBy.POLICY: "再次查看策略是否仍不收录",
    DueBy.ROBOTS: "再次获取其 robots.txt",
    DueBy.ONCE: "网页只访问一次，因为未设置 `revisit_after_s`",
    DelayBy.ROBOTS: "其 robots.txt 的 Crawl-delay",
    DelayBy.ANSWER: "本节点设置中的 delay_factor",
    DelayBy.RULE: "策略中的一条规则",
    DelayBy.SETTING: "本节点设置中的 delay_s",
    IndexState.INDEXED: "已在索引中",
    IndexState.MARKED: "索引即将更新",
    IndexState.DAMAGED: "不在索引中：有一个版本已损坏，将从另一节点取回",
    IndexState.HIDDEN: "不在索引中：已被下架",
    IndexState.MOVED: "不在索引中：该网页已迁移",
    IndexState.GONE: "不在索引中：该网页已不存在，或要求不被索引",
}

_HOLDS: Final[Mapping[str, str]] = {
    Hold.NOT_HELD: "其槽正在移交",
    Hold.STOPPED: "抓取正在结束",
    Hold.UNLICENSED: "没有抓取许可，因为应答的成员太少",
    Hold.HELD_UP: "其他节点不接收它的链接",
    Hold.DISK_FULL: "磁盘已满",
    Hold.PAUSED: "暂停，因为自身网络出错或槽正在换手",
    Hold.PAGE_LIMIT: "网格的网页数已达策略上限",
    Hold.ALL_PAUSED: "策略暂停了全部抓取",
    Hold.POLICY: "策略规定的暂停或时段",
    Hold.GIVEN_UP: "失败次数过多，已放弃",
    Hold.NO_ADDRESS: "已放弃：没有可以访问的地址",
    Hold.BACK_OFF: "失败后暂不访问",
    Hold.DAY_SPENT: "该主机当天的访问次数已用完",
    Hold.DELAY: "该主机或其地址的礼貌间隔",
    Hold.BEING_ASKED: "正在向该主机请求别的内容",
    Hold.DOMAIN: "正在访问同一域名的其他主机，或正在解析其网页",
    Hold.NOT_DUE: "尚未到期",
    Hold.BEHIND: "同一主机的其他网址在前",
    Hold.ROBOTS_TXT: "须先读取 robots.txt",
    Hold.BUSY: "同时进行的抓取和网页已达上限",
    "ready": "就绪",
}

_ADVICE: Final[Mapping[str, str]] = {
    "wait": "请等待",
    "wait: slots are handed over, which `tianmesh status` shows": (
        "请等待：正在移交槽，可用 `tianmesh status` 查看"
    ),
    "start the mesh again to go on": "重新启动网格即可继续",
    "`tianmesh status` shows who is down: start them again": (
        "`tianmesh status` 显示哪些节点停机：请重新启动它们"
    ),
    "`tianmesh status` shows who does not answer": "`tianmesh status` 显示哪些节点没有应答",
    "make room on its disk, or raise the limit in its [storage], and it goes on by itself": (
        "请腾出磁盘空间，或提高其 [storage] 中的上限，之后会自动继续"
    ),
    "wait a moment, and look at its network if that comes again": "请稍候；若再次出现，请检查其网络",
    "`tianmesh seed URL --pages-max N` with a larger number goes on": (
        "用更大的数执行 `tianmesh seed URL --pages-max N` 即可继续"
    ),
    "`tianmesh resume` goes on": "`tianmesh resume` 即可继续",
    "`tianmesh policy show` has the hours and pauses, `tianmesh resume HOST` lifts a pause": (
        "时段和暂停见 `tianmesh policy show`，用 `tianmesh resume HOST` 解除暂停"
    ),
    "look whether these hosts can be reached; they are asked again a day later": (
        "请检查能否访问这些主机；一天后会再次访问"
    ),
    "check their names and the resolver; private addresses have to be allowed (`tianmesh seed URL "
    "--allow-private NAME`); a seed has them asked at once, else they are a day later": (
        "请检查主机名和域名解析；私有地址须经允许（`tianmesh seed URL --allow-private NAME`）；给出种子会立"
        "即访问，否则一天后再访问"
    ),
    "wait: a host that has failed is asked again after a growing pause": (
        "请等待：失败的主机会在逐渐加长的间隔后再次访问"
    ),
    "it goes on after midnight UTC; a site of yours may be asked more often: `requests_a_day` of a "
    "rule of the policy, or `crawl.requests_per_host_day_max` for all hosts": (
        "UTC 午夜后继续；您自己的网站可以访问得更频繁：用策略规则的 `requests_a_day`，或用于全部主机的 "
        "`crawl.requests_per_host_day_max`"
    ),
    "nothing is wrong: a host is asked one thing at a time; more hosts are fetched from faster": (
        "一切正常：对一台主机一次只请求一项；主机越多抓取越快"
    ),
    "nothing is wrong: a host is asked one thing at a time": "一切正常：对一台主机一次只请求一项",
    "nothing is wrong: of one domain some hosts are asked at a time, and some pages taken apart": (
        "一切正常：同一域名一次只访问若干主机、解析若干网页"
    ),
    "nothing is wrong: all that is known is visited; `tianmesh seed URL` adds pages": (
        "一切正常：已知的网页都已访问；用 `tianmesh seed URL` 添加网页"
    ),
    "nothing is wrong: it fetches as much as it may": "一切正常：抓取已达允许的上限",
}

_CRAWLS: Final[Mapping[str, str]] = {
    "no peer has answered: `tianmesh status` shows who lives": (
        "没有节点应答：`tianmesh status` 显示哪些节点在运行"
    ),
    "nobody has a share of the slots: `tianmesh status` shows who drains and who is down": (
        "没有节点分得槽：`tianmesh status` 显示哪些节点正在腾空、哪些停机"
    ),
    "no peer fetches anything: {why}": "所有节点都没有抓取：{why}",
    "it fetches nothing: {why}": "它没有抓取：{why}",
    "fetching nothing: {number} of {peers:peer}: {why}": "{peers} 个节点中有 {number} 个没有抓取：{why}",
    "; ": "；",
    "{hold}; {advice}": "{hold}；{advice}",
    "{hold}, {when}": "{hold}，{when}",
    "not all slots are crawled yet; {advice}": "还有槽未开始抓取；{advice}",
    "{fetches:fetch} under way": "正在进行 {fetches} 次抓取",
    "nothing is fetched now": "目前没有抓取",
    "{begin}, a fetch is under way wherever one may be": "{begin}，可以抓取的地方都在抓取",
    "{begin}; most new URLs, {urls} of {hosts:host}, wait for this: {hold}{next}; {advice}": (
        "{begin}；多数新网址（{hosts} 台主机的 {urls} 个）在等待：{hold}{next}；{advice}"
    ),
    "nothing is queued: all that is known is visited; `tianmesh seed URL` adds pages": (
        "队列为空：已知的网页都已访问；用 `tianmesh seed URL` 添加网页"
    ),
    ", and {links:link} led out of scope, which `tianmesh seed URL --within DOMAIN` widens": (
        "；另有 {links} 个链接超出范围，用 `tianmesh seed URL --within DOMAIN` 可扩大范围"
    ),
    ", the next may be asked {when}": "，下一次可访问：{when}",
    "; {url} has not answered for {span}": "；{url} 已有 {span}没有应答",
    "{sentence}.": "{sentence}。",
}

_URLS: Final[Mapping[str, str]] = {
    "nobody crawls anything: no live member has a share of the slots; `tianmesh status` says why": (
        "没有节点在抓取：在线成员都没有分得槽；原因见 `tianmesh status`"
    ),
    "{owner}, which owns the slot, did not answer, nor did another who keeps it: ask again, and see "
    "`tianmesh status`": (
        "该槽的主节点 {owner} 没有应答，保存它的其他节点也没有：请再问一次，并查看 `tianmesh status`"
    ),
    "{owner}, which owns the slot, did not answer; by what {keeper} keeps of it {said}": (
        "该槽的主节点 {owner} 没有应答；据 {keeper} 所存：{said}"
    ),
    "it is taken down: shown to nobody, and not visited; `tianmesh policy show` has the rule": (
        "已被下架：不向任何人显示，也不再访问；规则见 `tianmesh policy show`"
    ),
    "it is queued, and waits: {wait}": "在队列中等待：{wait}",
    "it is {state}, {index}": "{state}，{index}",
    "it is {state}": "{state}",
    "its versions are with other peers": "其版本在其他节点上",
    "it was left out: {why}": "未收录：{why}",
    "its last visit failed: {why}": "上次访问失败：{why}",
    "it has moved to {url}, which is found instead": "已迁移到 {url}，由后者代替",
    "its last visit was answered {outcome}, and where that leads is visited as a page of its own": (
        "上次访问的应答为 {outcome}，其指向的网页单独访问"
    ),
    "its last visit was answered {outcome}, a sitemap, a feed or another thing that is no page to be kept": (
        "上次访问的应答为 {outcome}，是站点地图、订阅源或其他不作为网页保存的内容"
    ),
    "only pages of other domains link to it, and such links are not followed; `tianmesh seed URL` adds "
    "it, with --anywhere they all are": (
        "只有其他域名的网页链接到它，而这类链接不予跟踪；用 `tianmesh seed URL` 添加，加上 --anywhere 则全"
        "部跟踪"
    ),
    "a link to it was found and left out: it is looked at again under the policy of now": (
        "发现过它的链接但未收录：将按现行策略重新查看"
    ),
    "nobody has queued it: paths that are very deep or repeat themselves are not followed": (
        "未列入队列：过深或自我重复的路径不予跟踪"
    ),
    "nobody has found it, and its robots.txt forbids it": "尚未发现，且其 robots.txt 不允许",
    "nobody has found it: no page that was visited links to it; `tianmesh seed URL` adds it": (
        "尚未发现：已访问的网页都没有链接到它；用 `tianmesh seed URL` 添加"
    ),
    "nobody has found it, and ": "尚未发现，且",
    "a link to it was found, and ": "发现了它的链接，但",
    "it is out of scope: {ruling}; `tianmesh seed URL` with --within or --anywhere widens the scope, "
    "`tianmesh policy show` has the rules": (
        "它超出范围：{ruling}；用 `tianmesh seed URL` 加 --within 或 --anywhere 扩大范围，规则见 `tianmesh "
        "policy show`"
    ),
    "it has its turn as soon as there is room for a fetch": "一有抓取空位就轮到它",
    " if it is such a page": "（若是这类网页）",
    " if its host is in {addresses}": "（若其主机在 {addresses} 中）",
    ": a limit of it is reached": "：已达其上限",
    "rule {number}{by} says {action}": "规则 {number}{by} 规定 {action}",
    " by {condition}": "（{condition}）",
    "its robots.txt forbids it": "其 robots.txt 不允许",
    "{ruling}; `tianmesh policy show` has the rules": "{ruling}；规则见 `tianmesh policy show`",
    "its host has the pages of {site} and is taken for another name of it: they are visited there": (
        "其主机上的网页与 {site} 相同，被视为后者的别名：在后者访问"
    ),
    " in line {number}, {line}": "（第 {number} 行：{line}）",
    "; it is not visited again": "；不再访问",
    "; it is visited again {when}": "；再次访问：{when}",
}

# Of reasons that stand in the outcome of a visit: sentences, and those that are told as they are.
_REASONS: Final[Mapping[str, str]] = {
    "the policy of the mesh does not want it": "网格的策略不收录它",
    "no rule of the policy matches it": "策略中没有与之匹配的规则",
    "the policy sets a limit of pages or depth": "策略限定了网页数或深度",
    "as many pages of its host were asked for as may be": "该主机已访问的网页数达到上限",
    "as many questions were asked of its domain as may be": "该域名的访问次数达到上限",
    "its host is another name of a site whose pages are visited under the first one": (
        "其主机是某网站的别名，网页以原名访问"
    ),
    "pages with URLs like it were copies of each other": "类似网址的网页互为副本",
    "its host has more schemes and ports than are visited": "其主机的协议和端口多于所访问的数目",
    "a sitemap: of its host as many were read as may be, or it is in an index that is in another one "
    "of another one": ("站点地图：该主机已读取的数目达到上限，或嵌套过深"),
    "its site was submitted, and as many pages of it were asked for as may be": (
        "其网站由人提交，已访问的网页数达到上限"
    ),
    "it is asked for only to see whether its site was submitted by its owner, and had no proof": (
        "访问它只为查看网站是否由其所有者提交，但没有找到证明"
    ),
    "it is asked for only to see whether its site was submitted by its owner, and it was": (
        "访问它只为查看网站是否由其所有者提交，结果属实"
    ),
    "it is asked for only to see whether its site was submitted by its owner, and that is over": (
        "访问它只为查看网站是否由其所有者提交，此事已结束"
    ),
    "its robots.txt wants a longer delay than we wait": "其 robots.txt 要求的间隔比我们等待的更长",
    "its host has had no address or robots.txt for so long that its pages are shown no more; it is "
    "asked once a day": ("其主机长期没有地址或 robots.txt，网页已不再显示；每天访问一次"),
    "its robots.txt could not be had, which forbids everything for a while": (
        "无法取得其 robots.txt，因此暂时全部禁止"
    ),
    FailureReason.DNS: "域名不存在",
    FailureReason.DNS_TEMPORARY: "域名服务器出错或超时",
    FailureReason.DNS_OPEN: "域名服务器尚未应答",
    FailureReason.PRIVATE_ADDRESS: "私有地址",
    FailureReason.REFUSED: "连接被拒绝",
    FailureReason.UNREACHABLE: "无法到达",
    FailureReason.ADDRESS_BUSY: "其地址正忙",
    FailureReason.TIMEOUT: "超时",
    FailureReason.RESET: "连接中断",
    FailureReason.TLS: "TLS 出错",
    FailureReason.PROTOCOL: "应答不是 HTTP",
    FailureReason.HEADER_TOO_LARGE: "应答头过大",
    FailureReason.BODY_TOO_LARGE: "内容过大",
    FailureReason.DECODING: "内容无法解码",
    FailureReason.NOT_HTML: "类型不需要",
    FailureReason.PARSER: "解析程序出错",
    FailureReason.EXHAUSTING: "解析耗费过多",
    FailureReason.FETCHER: "抓取程序出错",
    FailureReason.UNLICENSED: "失去抓取许可",
    FailureReason.CROWDED: "同时到达的内容过多",
    FailureReason.NO_CONTACT: "未填写联系方式",
    FailureReason.LOCAL: "本机套接字或端口不足",
    FailureReason.ROBOTS: "robots.txt 不允许",
    FailureReason.CRAWL_DELAY: "Crawl-delay 过长",
    FailureReason.TOO_MANY_REDIRECTS: "重定向过多",
    FailureReason.TOO_MANY_LISTS: "站点地图过多",
    FailureReason.SILENT: "主机长期没有应答",
    FailureReason.UNASKED_304: "无故应答 304",
}

_ROWS: Final[Mapping[str, str]] = {
    "url": "网址",
    "slot": "槽",
    "answered by": "应答者",
    "policy": "策略",
    "kept at": "保存于",
    "taken down": "下架",
    "state": "状态",
    "asked now": "正在请求",
    "found": "来源",
    "links say": "链接文字",
    "moved from": "迁移自",
    "moved to": "迁移到",
    "last visit": "上次访问",
    "due": "到期",
    "missed": "未见",
    "queue": "队列",
    "waits for": "等待",
    "host": "主机",
    "fetches not": "不抓取",
    "slots": "槽",
    "fetches": "抓取",
    "pages": "网页",
    "slowest": "最慢",
    "hosts": "主机",
    "waiting": "等待中",
    "next": "下一次",
    "answers": "应答",
    "left out": "未收录",
    "undone": "不予采信",
    "links": "链接",
    "limit": "上限",
    "nobody": "无",
    ", standby {peers}": "，备节点 {peers}",
    "{slot} of {host}, owner {owner}": "{host} 的 {slot} 号，主节点 {owner}",
    ", which does not crawl this slot yet": "，尚未开始抓取该槽",
    "it is shown to nobody": "不向任何人显示",
    "{url}, for {span}": "{url}，已 {span}",
    "{when}, visit {number}: {outcome}": "{when}，第 {number} 次访问：{outcome}",
    ", changed {when}": "，变化于 {when}",
    "now: {why}": "现在：{why}",
    "never: {why}": "永不：{why}",
    "{when}: {why}": "{when}：{why}",
    "{visits:visit} in a row, the first {when}": "连续 {visits} 次访问，第一次在 {when}",
    "place {place} of its host": "在其主机中排第 {place}",
    "place {place} or later of its host": "在其主机中排第 {place} 或更后",
    ", by the order {order}": "，按 {order} 次序",
    ", rank {rank}": "，等级 {rank}",
    ", {clicks:click} from it at most, as its seed wants": "，按其种子的要求最多再点击 {clicks} 次",
    ", {clicks:click} from it at most without a relevant page": "，未遇相关网页最多再点击 {clicks} 次",
    "{why} of {span}": "{why}：{span}",
    ", by the policy {policy}": "，按 {policy} 策略",
    "its site says that it has changed, or several searchers were shown it": (
        "其网站说它有变化，或有多位搜索者看到过它"
    ),
    ": {changes} of its last {checks:visit} found it changed": (
        "：最近 {checks} 次访问中有 {changes} 次发现变化"
    ),
    ", linked from {domains:other domain}": "，有 {domains} 个其他域名链接到它",
    "in a file that was imported": "来自导入的文件",
    ", by {redirects:redirect}": "，经 {redirects} 次重定向",
    "{clicks:click} from a seed": "距种子 {clicks} 次点击",
    "from a seed": "来自种子",
    "given as a seed": "作为种子给出",
    " at {address}": "（{address}）",
    ", {urls:new URL} queued": "，{urls} 个新网址在队列中",
    "{host}{at}: {pages:page} asked for": "{host}{at}：已请求 {pages} 个网页",
    "{span} between two questions, by {by}": "两次访问间隔 {span}，依据：{by}",
    "rule {number} of the policy": "策略的规则 {number}",
    "{setting}, as its last answer took {span}": "{setting}，因为上次应答用了 {span}",
    "; {span} for its address": "；其地址为 {span}",
    "{failures:failure} in a row": "连续失败 {failures} 次",
    ", given up": "，已放弃",
    "given up: no address that may be asked": "已放弃：没有可以访问的地址",
    "another name of {site}, where what is new is visited": "{site} 的别名，新内容在后者访问",
    "may be asked again {when}": "可再次访问：{when}",
    "answered {status}{asked}": "应答 {status}{asked}",
    "could not be had": "无法取得",
    ", believed until {when}": "，有效期至：{when}",
    ", was believed until {when}": "，有效期曾至：{when}",
    "allows it": "允许",
    "forbids it": "不允许",
    ": line {number}, {line}": "：第 {number} 行，{line}",
    "wants {span} between pages: longer than we wait": "要求网页间隔 {span}：比我们等待的更长",
    "no version": "没有版本",
    "{versions:version}": "{versions} 个版本",
    "{versions:or more version}": "{versions} 个或更多版本",
    "{versions}, newest {when} ({status}), {bytes:byte}; {index}": (
        "{versions}，最新在 {when}（{status}），{bytes} 字节；{index}"
    ),
    "{held} of {owned} crawled": "{owned} 个中抓取 {held} 个",
    ", {slots} being given up": "，正在交出 {slots} 个",
    "{fetches} of at most {most}": "{fetches} 个，最多 {most} 个",
    ", {fetches} of them for a robots.txt": "，其中 {fetches} 个为 robots.txt",
    "{pages} of at most {most} fetched and not stored yet": "{pages} 个已抓取、未存储，最多 {most} 个",
    "{urls:URL} never visited": "{urls} 个网址从未访问",
    ", {urls} of them on hosts that were given up": "，其中 {urls} 个在已放弃的主机上",
    "{hosts} known, {looked} looked at: {ready} ready": "已知 {hosts} 台，查看 {looked} 台：{ready} 台就绪",
    "a host may be asked {when}": "可访问一台主机：{when}",
    "{links:link} out of scope since the start": "启动以来 {links} 个链接超出范围",
    "{visits:visit} that the policy does not believe": "策略不采信的 {visits} 次访问",
    ", and looks for more": "，仍在查找",
    "{links} that other peers have not accepted yet": "{links} 个尚未被其他节点接收",
    "{pages:page} of the whole mesh": "全网 {pages} 个网页",
}

_MEMBERS: Final[Mapping[str, str]] = {
    "nobody answers for {slots:slot} yet": "{slots} 个槽尚无节点应答",
    "{peers:more peer}": "另有 {peers} 个节点",
    "{peer} brings or compares what belongs to {slots:slot}": "{peer} 正在传送或核对 {slots} 个槽的内容",
    "{peer} with {slots:slot} has not answered": "{peer}（{slots} 个槽）没有应答",
    "too many requests at once": "同时的请求过多",
    "too many orders at once": "同时的命令过多",
    "this peer is stopping": "本节点正在停止",
    "no answer came": "没有得到应答",
    "{count} {offence}": "{offence} {count} 次",
    Offence.FORGED_RECORDS: "伪造记录",
    Offence.FORGED_DECREES: "伪造法令",
    Offence.ODD_MESSAGES: "不可能的消息",
    Offence.UNREADABLE: "无法读取的消息",
    Offence.ODD_LINKS: "不是链接的链接",
    Offence.DAMAGED_PARTS: "损坏的槽内容",
    Offence.FOREIGN_HITS: "未被询问的槽的结果",
    Offence.IMPOSSIBLE_SCORES: "任何网页都不可能有的分数",
    Offence.CONTRADICTED: "唯独它知道或唯独它不知道的网页",
    Offence.OVER_QUOTA: "超出配额",
    Offence.INVENTED: "内容与他人所见不同的网页",
}

CHINESE: Final[Mapping[str, str]] = {
    **_TIMES,
    **_STATES,
    **_HOLDS,
    **_ADVICE,
    **_CRAWLS,
    **_URLS,
    **_REASONS,
    **_ROWS,
    **_MEMBERS,
}
