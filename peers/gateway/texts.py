"""What the gateway's pages say, in each language, and which language a reader wants."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

DEFAULT_LANGUAGE: Final = "en"
HEADER_CHARS_MAX: Final = 300  # of Accept-Language; browsers send up to 100

TEXTS: Final[Mapping[str, Mapping[str, str]]] = {
    "en": {
        "html_lang": "en",
        "this_language": "English",
        "name": "Tianmesh",
        "tagline": "A search engine made of ordinary machines",
        "search_label": "Search for",
        "search_placeholder": "Words, 词语, “a phrase”",
        "search_button": "Search",
        "home": "Tianmesh, start page",
        "syntax": "“quotation marks” for a phrase, -word to leave a word out, site:example.org for one site",
        "languages": "Language",
        "results_of": "Results for “{query}”",
        "results": "Results",
        "one_result": "1 page",
        "many_results": "{total} pages",
        "page_of": "page {page}",
        "took": "{ms} ms",
        "covered": "the whole mesh answered",
        "covered_partly": "{percent} of the mesh answered in time, pages may be missing. Ask again shortly.",
        "fallback": "No page has all of these words. These pages have some of them.",
        "nothing": "No page matches “{query}”.",
        "nothing_here": "There are no more results on this page.",
        "nothing_first": "See the first page of results",
        "advice_words": "Try fewer or more general words, or another spelling.",
        "advice_operators": "Leave out quotation marks, site: and words with a minus.",
        "advice_time": "The mesh may still be fetching the page you look for.",
        "fetched": "fetched {date}",
        "cached": "Stored copy",
        "cached_of": "Stored copy of {title}",
        "pages": "Pages of results",
        "previous": "Previous",
        "next": "Next",
        "page_number": "Page {page}",
        "too_long": "That is longer than {limit} characters. Ask with fewer words.",
        "busy": "Too many people are asking this peer at once. Ask again in a moment.",
        "failed": "Something went wrong here. It has been written to the log of this peer.",
        "not_found": "There is nothing at this address.",
        "stored_copy": "Stored copy",
        "stored_from": "This is the page as it was fetched on {date}. It may have changed since.",
        "stored_safe": "Scripts, forms and pictures from elsewhere are switched off.",
        "stored_cut": "Only the beginning is shown: the page is very long.",
        "stored_live": "Open the live page",
        "stored_frame": "The stored page",
        "stored_none": "The mesh has no stored copy of this page.",
        "stored_other": "The stored copy is not text ({kind}) and is not shown here.",
        "stored_damaged": "The stored copy is damaged and cannot be shown.",
        "stored_bad_url": "That is not the address of a web page. It has to begin with http:// or https://.",
        "status": "State of the mesh",
        "status_facts": "{peers} peers, {pages} pages, {queue} URLs to fetch, {speed} pages per second",
        "status_peer": "peer",
        "status_state": "state",
        "status_crawled": "slots crawled",
        "status_answered": "slots answered",
        "status_complete": "complete copies",
        "status_wanted": "to get",
        "status_moved": "MB/s",
        "status_pages": "pages",
        "status_queue": "queue",
        "status_memory": "MB memory",
        "status_all": "all",
        "status_hosts": "Longest queues",
        "status_urls": "{urls} URLs",
        "status_disk_full": "disk full",
        "state_cut_off": "cut off from most peers: fetches nothing",
        "state_unlicensed": "no answer from others of late: fetches nothing",
        "state_drained": "drained: may be stopped",
        "state_draining": "draining: gives its slots away",
        "state_claiming": "taking over slots",
        "state_moving": "moving what belongs to slots",
        "state_steady": "steady",
    },
    "zh": {
        "html_lang": "zh-Hans",
        "this_language": "中文",
        "name": "天网 Tianmesh",
        "tagline": "由普通机器织成的搜索引擎",
        "search_label": "搜索",
        "search_placeholder": "词语、words、“短语”",
        "search_button": "搜索",
        "home": "天网首页",
        "syntax": "用“引号”查找短语，-词 排除词语，site:example.org 只看一个网站",
        "languages": "语言",
        "results_of": "“{query}”的搜索结果",
        "results": "搜索结果",
        "one_result": "1 个网页",
        "many_results": "{total} 个网页",
        "page_of": "第 {page} 页",
        "took": "{ms} 毫秒",
        "covered": "全网均已应答",
        "covered_partly": "只有 {percent} 的网络及时应答，结果可能不全，请稍后再试。",
        "fallback": "没有网页包含全部词语，以下网页包含其中一部分。",
        "nothing": "没有找到与“{query}”相符的网页。",
        "nothing_here": "这一页没有更多结果了。",
        "nothing_first": "查看第一页结果",
        "advice_words": "试试更少或更常用的词语，或换一种写法。",
        "advice_operators": "去掉引号、site: 和带减号的词语。",
        "advice_time": "您要找的网页可能还在抓取之中。",
        "fetched": "抓取于 {date}",
        "cached": "网页快照",
        "cached_of": "{title} 的网页快照",
        "pages": "结果分页",
        "previous": "上一页",
        "next": "下一页",
        "page_number": "第 {page} 页",
        "too_long": "查询超过了 {limit} 个字符，请减少词语。",
        "busy": "同时查询的人太多，请稍后再试。",
        "failed": "出了点问题，已记入本节点的日志。",
        "not_found": "这个地址没有内容。",
        "stored_copy": "网页快照",
        "stored_from": "这是该网页在 {date} 抓取时的样子，之后可能已有变化。",
        "stored_safe": "脚本、表单和外部图片已停用。",
        "stored_cut": "网页很长，只显示开头部分。",
        "stored_live": "打开原网页",
        "stored_frame": "已保存的网页",
        "stored_none": "天网没有保存这个网页。",
        "stored_other": "保存的内容不是文本（{kind}），在此不予显示。",
        "stored_damaged": "保存的副本已损坏，无法显示。",
        "stored_bad_url": "这不是网页地址，地址应以 http:// 或 https:// 开头。",
        "status": "全网状态",
        "status_facts": "{peers} 个节点，{pages} 个网页，{queue} 个网址待抓取，每秒 {speed} 页",
        "status_peer": "节点",
        "status_state": "状态",
        "status_crawled": "抓取的槽",
        "status_answered": "应答的槽",
        "status_complete": "完整副本",
        "status_wanted": "待取",
        "status_moved": "MB/秒",
        "status_pages": "网页",
        "status_queue": "队列",
        "status_memory": "内存 MB",
        "status_all": "合计",
        "status_hosts": "最长的队列",
        "status_urls": "{urls} 个网址",
        "status_disk_full": "磁盘已满",
        "state_cut_off": "与多数节点失去联系，停止抓取",
        "state_unlicensed": "近来无节点回应，停止抓取",
        "state_drained": "已腾空，可以停机",
        "state_draining": "正在腾空，移交各槽",
        "state_claiming": "正在接管各槽",
        "state_moving": "正在传送槽中内容",
        "state_steady": "正常",
    },
}


def language_of(accept_language: str, wanted: str = "") -> str:
    """Choose a language of `TEXTS`.

    Args:
      accept_language: the header's value (RFC 9110, 12.5.4), of any quality.
      wanted: what the reader chose by hand, which wins when we have it.
    """
    if wanted in TEXTS:
        return wanted
    best, best_quality = DEFAULT_LANGUAGE, 0.0
    for part in accept_language[:HEADER_CHARS_MAX].lower().split(","):
        tag, _, parameter = part.partition(";")
        language = tag.strip().partition("-")[0]
        quality = _quality(parameter)
        if language in TEXTS and quality > best_quality:
            best, best_quality = language, quality
    return best


def _quality(parameter: str) -> float:
    name, _, value = parameter.partition("=")
    if name.strip() != "q":
        return 1.0
    try:
        return float(value)
    except ValueError:
        return 0.0
