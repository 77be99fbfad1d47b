"""Read dates as people and programs write them: ISO 8601, RFC 822, months by name in many languages. Pure.

A date without a zone is taken for UTC, one without a time for its first second, a year or month for its first
day. What cannot be told, such as which of 3/4/2024 is the month, depends on the language of the page.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta, timezone
from itertools import islice
from typing import Final

TEXT_CHARS_MAX: Final = 200  # of what is looked at
FOUND_MAX: Final = 4  # dates of a form in one text

# Names of months from January on; those that begin alike are abbreviated in no text.
_MONTHS: Final = (
    "january february march april may june july august september october november december",
    "januar februar märz april mai juni juli august september oktober november dezember",
    "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
    "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
    "januari februari maart april mei juni juli augustus september oktober november december",
    "januari februari mars april maj juni juli augusti september oktober november december",
    "januar februar marts april maj juni juli august september oktober november desember",
    "stycznia lutego marca kwietnia maja czerwca lipca sierpnia września października listopada grudnia",
    "ledna února března dubna května června července srpna září října listopadu prosince",
    "января февраля марта апреля мая июня июля августа сентября октября ноября декабря",
    "январь февраль март апрель май июнь июль август сентябрь октябрь ноябрь декабрь",
    "січня лютого березня квітня травня червня липня серпня вересня жовтня листопада грудня",
    "ocak şubat mart nisan mayıs haziran temmuz ağustos eylül ekim kasım aralık",
    "januari februari maret april mei juni juli agustus september oktober november desember",
    "ianuarie februarie martie aprilie mai iunie iulie august septembrie octombrie noiembrie decembrie",
    "január február március április május június július augusztus szeptember október november december",
    "ιανουαρίου φεβρουαρίου μαρτίου απριλίου μαΐου ιουνίου ιουλίου αυγούστου σεπτεμβρίου οκτωβρίου νοεμβρίου",
    "يناير فبراير مارس أبريل مايو يونيو يوليو أغسطس سبتمبر أكتوبر نوفمبر ديسمبر",
    "jänner feber märz april mai juni juli august sept oktober november dezember",
)
_MONTH_CHARS_MIN: Final = 3
_MONTH_OF: Final = {
    name[:length]: number
    for names in reversed(_MONTHS)
    for number, name in enumerate(names.split(), 1)
    for length in range(_MONTH_CHARS_MIN, len(name) + 1)
}

# Hours by which zones that RFC 822 names are behind UTC.
_ZONES: Final = {"EDT": 4, "EST": 5, "CDT": 5, "CST": 6, "MDT": 6, "MST": 7, "PDT": 7, "PST": 8}

_YEAR: Final = r"(?<![\d.,/-])(?P<year>[12]\d{3})"
_NAME: Final = r"(?P<name>[^\W\d_]{3,12})"
_DAY: Final = r"(?<![\d.,:/-])(?P<day>\d{1,2})"
_FORMS: Final = {
    # ISO 8601, 5.2.2 and 5.2.3: 20240305 with a time or without, 2024-W10-2, 2024-065.
    "compact": re.compile(_YEAR + r"(?P<month>\d\d)(?P<day>\d\d)(?=\D|\d{4}(?:\d\d)?(?!\d)|$)"),
    "week": re.compile(_YEAR + r"-?W(?P<week>\d\d)(?:-?(?P<weekday>[1-7]))?(?![\d-])"),
    "ordinal": re.compile(_YEAR + r"-?(?P<ordinal>\d{3})(?![\d-])"),
    # 5.2.1 with what people write instead of its separators, 2024/3/5 or 2024年3月5日 too.
    "year first": re.compile(
        _YEAR
        + r"(?!\d)(?: ?[-/.年년] ?(?P<month>\d{1,2})(?!\d)"
        + r"(?: ?[-/.月월] ?(?P<day>\d{1,2})(?!\d) ?[日号號일]?)?|(?!-?W?\d))"
    ),
    "year name": re.compile(_YEAR + r"[ -]" + _NAME + r"\.?[ -](?P<day>\d{1,2})(?!\d)"),
    "day first": re.compile(
        _DAY
        + r"(?:st|nd|rd|th|er|\.|º|ª)?(?:\s|-|/|\.)?\s?(?:of |de |den |d')?"
        + _NAME
        + r"\.?(?:\s|-|/|,)?\s?(?:of |de |del )?(?P<year>[12]\d{3}|\d\d(?= \d\d:))(?!\d)"
    ),
    "month first": re.compile(
        r"(?<!\w)" + _NAME + r"\.? ?(?P<day>\d{1,2})(?:st|nd|rd|th|\.)?(?: ?, ?| )(?P<year>[12]\d{3})(?!\d)"
    ),
    # As C's asctime has it, RFC 9110, 5.6.7.
    "with time": re.compile(
        r"(?<!\w)"
        + _NAME
        + r" {1,2}(?P<day>\d{1,2}) (?P<clock>\d\d:\d\d:\d\d)(?: [A-Z]{3,4})? (?P<year>[12]\d{3})(?!\d)"
    ),
    "numbers": re.compile(
        _DAY.replace("day", "one")
        + r" ?(?P<sign>[./-]) ?(?P<two>\d{1,2}) ?(?P=sign) ?(?P<year>[12]\d{3})(?!\d|[./-]\d)"
    ),
}
# By what they begin with: four digits, fewer, a letter.
_YEAR_FORMS: Final = ("compact", "week", "ordinal", "year name", "year first")
_DAY_FORMS: Final = ("day first", "numbers")
_NAME_FORMS: Final = ("month first", "with time")
YEAR: Final = re.compile(r"[12]\d{3}(?!\d)")
_TIME: Final = re.compile(
    r"(?:T|t|[\s,|@·•-]{1,4}(?:at |um |à |a las |às |klo )?)?"
    r"(?P<hour>\d{1,2})(?:[:.h時时点](?P<minute>\d{2})(?:[:分](?P<second>\d{2})(?:[.,]\d+)?)?)?"
    r"(?:\s?(?P<half>[AaPp])\.?[Mm]\b\.?)?"
    r"(?:\s?(?P<zone>Z\b|z\b|(?:GMT|UTC)?[+-]\d\d(?::?\d\d)?|[A-Z]{3}\b))?"
)
_COMPACT_TIME: Final = re.compile(
    r"[Tt ]?(?P<hour>\d\d)(?P<minute>\d\d)(?P<second>\d\d)?(?:[.,]\d+)?(?P<half>)"
    r"(?P<zone>Z|[+-]\d\d(?::?\d\d)?)?(?![\d:])"
)
_WEEKDAY: Final = re.compile(r"\s*(?:[^\W\d_]{2,12}[.,]{0,2}\s+)?")
_FRACTION: Final = re.compile(r":\d\d[.,](\d{1,9})")
_OFFSET: Final = re.compile(r"([+-])(\d\d):?(\d\d)?$")
_MONTH_FIRST: Final = frozenset(("en", "en-us", "en_us", "en-ph"))  # where 3/4/2024 is the 4th of March


def read_moment(text: str, language: str = "") -> datetime | None:
    """Read a text that begins with a date, with a weekday or without; None for any other text."""
    text = text[:TEXT_CHARS_MAX]
    try:  # most are as they should be
        moment = datetime.fromisoformat(text)
        return moment.replace(tzinfo=moment.tzinfo or UTC, microsecond=0)
    except ValueError:
        return _read_moment(text, language)


def _read_moment(text: str, language: str) -> datetime | None:
    start = _WEEKDAY.match(text)
    places = (start.end() if start else 0, len(text) - len(text.lstrip()))
    for place in dict.fromkeys(places):
        begin = text[place : place + 4]
        forms = _YEAR_FORMS if begin.isdecimal() else _DAY_FORMS if begin[:1].isdecimal() else _NAME_FORMS
        for form in forms:
            match = _FORMS[form].match(text, place)
            moment = match and _moment(form, match, language)
            if moment:
                return moment
    return None


def moments_in(text: str, language: str = "") -> Iterator[datetime]:
    """Yield the whole dates, with a day, that are in a text; by form, not in order."""
    text = text[:TEXT_CHARS_MAX]
    # In running text other numbers look like the other forms.
    for form in ("year first", "year name", *_DAY_FORMS, *_NAME_FORMS) if YEAR.search(text) else ():
        for match in islice(_FORMS[form].finditer(text), FOUND_MAX):
            moment = _moment(form, match, language)
            if moment and (form != "year first" or match["day"]):
                yield moment


def fraction_of(text: str) -> float:
    """Return the fraction of a second that a date in ISO 8601 has, to the microsecond."""
    match = _FRACTION.search(text[:TEXT_CHARS_MAX])
    return round(float(f"0.{match[1]}"), 6) if match else 0.0


def _moment(form: str, match: re.Match[str], language: str) -> datetime | None:
    day = _day(form, match, language)
    if day is None:
        return None
    after = match["clock"] if form == "with time" else match.string[match.end() :]
    is_compact = form == "compact" or after[:1] in ("T", "t")
    time = (_COMPACT_TIME.match(after) if is_compact else None) or _TIME.match(after)
    moment = datetime(day.year, day.month, day.day, tzinfo=UTC)
    return moment if time is None else _at(moment, time)


def _day(form: str, match: re.Match[str], language: str) -> date | None:
    """The day that a match means; None when there is no such day."""
    year = int(match["year"])
    year += 2000 if year < 70 else 1900 if year < 100 else 0
    try:
        match form:
            case "week":
                return date.fromisocalendar(year, int(match["week"]), int(match["weekday"] or 1))
            case "ordinal":
                day = date(year, 1, 1) + timedelta(int(match["ordinal"]) - 1)
                return day if day.year == year else None
            case "numbers":
                one, two = int(match["one"]), int(match["two"])
                is_month_first = two > 12 or (one <= 12 and match["sign"] == "/" and language in _MONTH_FIRST)
                return date(year, one, two) if is_month_first else date(year, two, one)
            case "year name" | "day first" | "month first" | "with time":
                return date(year, _MONTH_OF.get(match["name"].lower(), 0), int(match["day"]))
            case _:
                return date(year, int(match["month"] or 1), int(match["day"] or 1))
    except ValueError:  # the 31st of February
        return None


def _at(day: datetime, time: re.Match[str]) -> datetime | None:
    """Return a moment of a day; the day itself where no time of day follows, None where the time is wrong."""
    hour, minute, second = int(time["hour"]), int(time["minute"] or 0), int(time["second"] or 0)
    is_time = time["minute"] or time["half"] or time[0][:1] in "Tt"
    if not is_time:
        return day
    if time["half"]:
        hour = hour % 12 + (12 if time["half"] in "Pp" else 0) if hour <= 12 else hour
    if hour > 24 or minute > 59 or second > 60 or (hour == 24 and minute):
        return None
    zone = _zone(time["zone"] or "Z")
    moment = day + timedelta(hours=hour, minutes=minute, seconds=min(second, 59))
    return moment.replace(tzinfo=zone)


def _zone(text: str) -> timezone:
    match = _OFFSET.search(text)
    if match is None:
        return timezone(-timedelta(hours=_ZONES.get(text, 0)))
    minutes = 60 * int(match[2]) + int(match[3] or 0)
    return timezone(timedelta(minutes=minutes if match[1] == "+" else -minutes)) if minutes < 1440 else UTC
