"""When a limit of the account ends, read from the words in which Claude Code says so.

Known wordings: `usage limit reached|1749924000`, `resets 11:30pm (Europe/Berlin)`,
`resets Mar 15 at 12pm (Europe/London)`, `resets at 4am`. A time of day without a date is the next
one in that zone. What can't be read for sure gives None: the worker then waits by itself.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

_EPOCH = re.compile(r"limit reached\|(\d{9,11})\b")
_WORDS = re.compile(
    r"resets?\s+(?:at\s+|on\s+)?"
    r"(?:(?P<month>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?\s+(?P<day>\d{1,2})"
    r"(?:,?\s+(?P<year>\d{4}))?(?:,?\s+at)?,?\s+)?"
    r"(?P<hour>\d{1,2})(?::(?P<minute>\d{2}))?\s*(?P<half>am|pm)?"
    r"(?:\s*\((?P<zone>[A-Za-z_+\-/0-9]+)\))?",
    re.IGNORECASE,
)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAY = timedelta(days=1)


def reset_time(text: str, now: datetime) -> datetime | None:
    """The moment at which a limit ends, in UTC; None when the text does not say it for sure.

    `now` is aware; a time without a zone is one of `now`'s own zone.
    """
    epoch = _EPOCH.search(text)
    if epoch:
        return from_epoch(float(epoch[1]))
    words = _WORDS.search(text)
    if words is None or (words["half"] is None and words["minute"] is None):
        return None
    zone = _zone(words["zone"], now)
    if zone is None:
        return None
    try:
        return _moment(words, now.astimezone(zone))
    except (ValueError, OverflowError):
        return None


def from_epoch(seconds: float) -> datetime | None:
    """The moment of an epoch second; None when there is no such moment."""
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError):
        return None


def _zone(name: str | None, now: datetime) -> tzinfo | None:
    if name is None:
        return now.tzinfo
    if name.upper() in ("UTC", "GMT", "Z"):
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


def _moment(words: re.Match[str], local: datetime) -> datetime:
    hour, minute = int(words["hour"]), int(words["minute"] or 0)
    half = (words["half"] or "").lower()
    if half:
        if not 1 <= hour <= 12:
            raise ValueError(hour)
        hour = hour % 12 + (12 if half == "pm" else 0)
    wall = local.replace(hour=hour, minute=minute, second=0, microsecond=0, fold=0)
    if not words["month"]:
        return _first_after(local, [wall, wall + _DAY])
    month = _MONTHS.index(words["month"].lower()) + 1
    wall = wall.replace(year=int(words["year"] or local.year), month=month, day=int(words["day"]))
    if not words["year"] and wall < local - timedelta(days=180):
        wall = wall.replace(year=wall.year + 1)
    return _first_after(local, [wall])


def _first_after(local: datetime, walls: list[datetime]) -> datetime:
    """The first moment after `local` at which a clock shows one of these times, else the last.

    In the night in which clocks are put back, a time of day comes twice.
    """
    moments = [wall.replace(fold=fold).astimezone(UTC) for wall in walls for fold in (0, 1)]
    now = local.astimezone(UTC)
    return next((moment for moment in sorted(moments) if moment > now), moments[0])
