"""Notifications: which events are news, and their words. Pure; what is sent is plain text.

An event becomes at most one `News`; the news of one moment become one `Message`, however many they
are. What a message lacks room for is at its end, and what a person must act on is at its beginning.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Fields = Mapping[str, Any]

#: Every kind of news by name, most urgent first: its emoji, and what it says.
KINDS = {
    "escalation": ("🙋", "the Architect puts a question to you"),
    "needs_input": ("❓", "the Builder asks something"),
    "paused": ("⏸️", "the queue was paused; the first time of an episode only"),
    "failure": ("❌", "a task failed, for whatever reason"),
    "timeout": ("⏰", "a task failed since it reached its time limit"),
    "blocked": ("⛔", "a task can't run because another one failed"),
    "success": ("✅", "a task was done"),
    "all_done": ("🏁", "the last task has ended, nothing is queued or runs"),
}
#: Names of other systems for the same.
ALIASES = {"task_done": "success", "task_failed": "failure", "task_timeout": "timeout"}

#: Events with which a task is in the queue.
_BEGIN = ("task_queued", "task_requeued")
#: Characters of the text of a message's only news, of one among several, and of a title.
_ALONE, _AMONG, _TITLE = 600, 160, 72
#: News of one message that are told one by one.
_MOST = 20
#: Control characters, and those that turn the direction of writing around.
_STEERING = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)


@dataclass(frozen=True, slots=True)
class News:
    """Something that a person wants to be told."""

    kind: str
    text: str
    #: None when it is about the whole queue
    task_id: str | None = None
    title: str = ""


@dataclass(frozen=True, slots=True)
class Message:
    """What is sent. `link` leads back to the Architect's chat; None when nobody knows it."""

    title: str
    body: str
    link: str | None = None

    @property
    def text(self) -> str:
        """All of it, for services that know no titles."""
        return f"{self.title}\n{self.body}".rstrip()


def kind_of(event: Fields) -> str | None:
    """The kind of news that an event is; None when it is none."""
    match event["event"]:
        case "run_completed" if not event.get("retry"):
            status, reason = event.get("status"), event.get("reason")
            if status == "failure":
                # Who cancelled it knows.
                return {"timeout": "timeout", "cancelled": None}.get(str(reason), "failure")
            return str(status) if status in ("success", "needs_input") else None
        case "queue_paused" if not event.get("tries"):
            return "paused"
        case "task_blocked":
            return "blocked"
        case "escalated_to_user":
            return "escalation"
    return None


def news_of(event: Fields, title: str, summary: str, remarks: str | None) -> News | None:
    """An event as news; title of the task, summary and remarks of its result where known."""
    kind = kind_of(event)
    if kind is None:
        return None
    task_id = event.get("task_id")
    return News(
        kind=kind,
        text=_text(kind, event, summary, remarks),
        task_id=None if task_id is None else str(task_id),
        title=title,
    )


def _text(kind: str, event: Fields, summary: str, remarks: str | None) -> str:
    if kind in ("failure", "timeout"):
        reason = str(event.get("reason", "")).replace("_", " ")
        return f"{reason}: {summary}" if reason and summary else reason or summary
    if kind == "needs_input":
        return remarks or summary
    if kind == "paused":
        return str(event.get("reason", ""))
    if kind == "blocked":
        return f"waits for task {event.get('cause')}, which failed"
    if kind == "escalation":
        given = event.get("options")
        options = given if isinstance(given, list) else []
        numbered = (f"{n}. {option}" for n, option in enumerate(options, 1))
        return "\n".join([str(event.get("question", "")), *numbered])
    return summary


def ends_a_task(event: Fields) -> bool:
    """Whether a task has ended with an event; the request to end a run is none."""
    if event["event"] == "task_cancelled":
        return "run" not in event
    return event["event"] == "run_completed" and not event.get("retry")


def all_done(events: Iterable[Fields]) -> News | None:
    """The sum of what ended since the queue was empty the last time, from the timeline up to now.

    None when no run of a task has ended in that time. The queue must be empty: what has no end in
    the timeline was brought in as done, or its file was removed.
    """
    events = list(events)
    endless = _endless(events)
    open_tasks: set[str] = set()
    ended: dict[str, str] = {}
    over = True
    for event in events:
        task_id = str(event.get("task_id"))
        if event["event"] in _BEGIN:
            if task_id in endless:
                continue
            if over:
                ended, over = {}, False
            open_tasks.add(task_id)
        elif ends_a_task(event):
            if event["event"] == "task_cancelled" or event.get("reason") == "cancelled":
                ended[task_id] = "cancelled"
            else:
                ended[task_id] = str(event.get("status"))
            open_tasks.discard(task_id)
            over = not open_tasks
    counts = Counter(ended.values())
    if not counts.keys() - {"cancelled"}:
        return None
    words = [f"{counts['success']} succeeded", f"{counts['failure']} failed"]
    if asking := counts["needs_input"]:
        words.append("1 asks" if asking == 1 else f"{asking} ask")
    if counts["cancelled"]:
        words.append(f"{counts['cancelled']} cancelled")
    return News(kind="all_done", text=", ".join(words))


def _endless(events: Iterable[Fields]) -> set[str]:
    """Tasks that were queued and of which no end is told."""
    found: set[str] = set()
    for event in events:
        if event["event"] in _BEGIN:
            found.add(str(event.get("task_id")))
        elif ends_a_task(event):
            found.discard(str(event.get("task_id")))
    return found


def is_wanted(news: News, names: Sequence[str] | None) -> bool:
    """Whether `notify.events` lets it through; None lets all through."""
    if names is None:
        return True
    wanted = {ALIASES.get(name, name) for name in names}
    # A time limit is a failure, too.
    return news.kind in wanted or (news.kind == "timeout" and "failure" in wanted)


def message(project: str, news: Sequence[News], link: str | None = None) -> Message:
    """One message for all news, of which there must be one at least."""
    place = _cut_words(project, _TITLE)
    if len(news) == 1:
        (only,) = news
        about = f" · {_about(only)}" if only.task_id else ""
        text = "\n".join(map(_clean, _masked(only.text).splitlines()))
        return Message(f"{_mark(only.kind)} · {place}{about}", _cut(text, _ALONE), link)
    counts = Counter(one.kind for one in news)
    names = list(KINDS)
    sums = ", ".join(
        f"{KINDS[k][0]} {counts[k]} {k}" for k in names if counts[k] and k != "all_done"
    )
    done = f", {_mark('all_done')}" if counts["all_done"] else ""
    urgent_first = sorted(news, key=lambda one: names.index(one.kind))
    lines = [_line(one) for one in urgent_first[:_MOST]]
    if len(news) > _MOST:
        lines.append(f"and {len(news) - _MOST} more")
    return Message(f"{sums}{done} · {place}".removeprefix(", "), "\n".join(lines), link)


def trial_message(project: str, link: str | None = None) -> Message:
    """What `loop test-notify` sends."""
    title = f"🔔 test · {_cut_words(project, _TITLE)}"
    return Message(title, "Notifications of this project arrive here.", link)


def _mark(kind: str) -> str:
    return f"{KINDS[kind][0]} {kind}"


def _about(news: News) -> str:
    title = _cut_words(news.title, _TITLE)
    return f"{news.task_id}: {title}" if title else f"task {news.task_id}"


def _line(news: News) -> str:
    about = f" · {_about(news)}" if news.task_id else ""
    text = _cut_words(news.text, _AMONG)
    return f"{_mark(news.kind)}{about}" + (f"\n   {text}" if text else "")


def _masked(text: str) -> str:
    from loop.core.mask import masked  # not for those who only read the settings

    return masked(text)


def _clean(line: str) -> str:
    return _STEERING.sub(" ", line).rstrip()


def _cut_words(text: str, most: int) -> str:
    """In one line; secrets are hidden before a cut could make them unrecognisable."""
    return _cut(" ".join(_clean(_masked(" ".join(text.split()))).split()), most)


def _cut(text: str, most: int) -> str:
    text = text.strip()
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


def cut_bytes(text: str, most_bytes: int) -> str:
    """The text in at most so many bytes of UTF-8, cut behind a whole character."""
    data = text.encode()
    if len(data) <= most_bytes:
        return text
    return data[: max(0, most_bytes - 3)].decode(errors="ignore").rstrip("\u200d ") + "…"
