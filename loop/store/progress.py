"""The handoff log: what each run left for the next, for people and for the next run to read.

    <header>
    ===
    session: ... run 2
    task: 42 Add a profile section
    ...
    ===

An entry is lines between two `===` lines, one field a line. All writers take the state lock, as a
part of their transition. A log that would have more than its lines is rotated: its oldest entries
go to progress.archive.txt and about half of the lines stay, among them always the newest entry.

    step of the transition          crash after it
    1 moved entries archived        they are in both files; the next transition takes step 2
    2 log put, without them         nothing: it is done

So entries move whole, and at no moment is one in neither file. The archive is never cut. What
people write into the log stays: its beginning as the header, the rest as entries. No run fails for
a log that can't be used: a folder in its place is moved away, one that is closed gets no entries.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from loop.core.result import Report, Result
from loop.core.task import Task, title_of
from loop.store.files import read, read_end, text_at_end
from loop.store.journal import Transition
from loop.store.paths import Project

HEADER: Final = "Handoff log: what each run left for the next. Older entries: progress.archive.txt"
SEPARATOR: Final = "==="
_FIELD_CHARACTERS = 500
_SHOWN_PATHS = 8
#: Read from the end of a log; more than this is never looked for.
_TAIL_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Handoff:
    """One entry. Texts may be long and have many lines; they are put into one line each."""

    session: str
    run: int
    time: datetime
    task_id: str
    title: str
    status: str
    changes: str = ""
    verification: str = ""
    next: str = ""
    blockers: str = ""

    def lines(self) -> list[str]:
        """The fields as lines, without separators."""
        fields = {
            "session": f"{self.session} run {self.run}",
            "time": f"{self.time:%Y-%m-%dT%H:%M:%SZ}",
            "task": f"{self.task_id} {self.title}",
            "status": self.status,
            "changes": self.changes or "none",
            "verification": self.verification or "none",
            "next": self.next or "none",
            "blockers": self.blockers or "none",
        }
        return [f"{name}: {one_line(value)}" for name, value in fields.items()]


def one_line(text: str, most: int = _FIELD_CHARACTERS) -> str:
    """The text in one line without control characters, cut at `most` characters."""
    words = "".join(c if c.isprintable() else " " for c in text)
    line = " ".join(words.split())
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"


def handoff(task: Task, result: Result, report: Report | None) -> Handoff:
    """The entry of a run that settled its task."""
    run = task.runs[-1] if task.runs else None
    reason = "" if result.reason == result.status else f" ({result.reason})"
    return Handoff(
        session=result.session_id or (run.uuid if run else "none"),
        run=run.number if run else task.run,
        time=result.completed_at,
        task_id=task.id,
        title=title_of(task),
        status=f"{result.status}{reason}",
        changes=_changes(result),
        verification=_verification(result, report),
        next=(report.next if report else None) or "",
        blockers=_blockers(result, report),
    )


def _changes(result: Result) -> str:
    paths = [change.path for change in result.files_changed]
    more = f" and {len(paths) - _SHOWN_PATHS} more" if len(paths) > _SHOWN_PATHS else ""
    files = f"[{', '.join(paths[:_SHOWN_PATHS])}{more}] " if paths else ""
    return files + result.summary


def _verification(result: Result, report: Report | None) -> str:
    ours = result.verification or {}
    words = [f"{ours['command']}: exit {ours.get('exit')}"] if ours.get("command") else []
    if report and report.verification:
        words.append(report.verification)
    return "; ".join(words)


def _blockers(result: Result, report: Report | None) -> str:
    if report and report.blockers:
        return report.blockers
    if result.status == "needs_input":
        return f"waits for an answer: {result.remarks or result.summary}"
    return result.summary if result.status == "failure" else ""


def append(t: Transition, entry: Handoff, max_lines: int) -> None:
    """Appends an entry, and rotates the log when it would have more than `max_lines`.

    A part of the caller's transition: once in each.
    """
    append_entries(t, [entry.lines()], max_lines)


def append_entries(t: Transition, entries: Sequence[Sequence[str]], max_lines: int) -> None:
    """Appends several entries, oldest first, as `append`; their lines must hold no separator."""
    log = t.project.progress
    if _is_closed(log):
        return  # whoever closed it wants no entry; a result must not wait for that
    data = read(log) if log.is_file() else None
    there = (data or b"").decode(errors="replace").splitlines()
    new = [line for entry in entries for line in (*entry, SEPARATOR)]
    if len(there) + len(new) > max_lines or not there:
        _rewrite(t, there, entries, max_lines)
        return
    if not is_separator(there[-1]):
        new.insert(0, SEPARATOR)  # a full disk or a person cut the last one
    t.add(log, "".join(f"{line}\n" for line in new))


def _rewrite(t: Transition, there: list[str], new: Sequence[Sequence[str]], max_lines: int) -> None:
    header, old = _parted(there)
    entries = [*old, *map(list, new)]
    whole = len(header) + 1 + _count(entries) <= max_lines
    keep = len(entries) if whole else _newest(entries, max_lines // 2 - len(header) - 1)
    archive = archive_of(t.project)
    if (archive.exists() and not archive.is_file()) or _is_closed(archive):
        keep = len(entries)  # a log that is too long harms less than entries that are lost
    moved, kept = entries[: len(entries) - keep], entries[len(entries) - keep :]
    if moved:
        begin = "" if read_end(archive, 5).endswith(b"\n===\n") else f"{SEPARATOR}\n"
        t.add(archive, begin + _text(moved))
    t.put(t.project.progress, ("\n".join([*header, SEPARATOR, _text(kept)])).encode())


def _newest(entries: Sequence[Sequence[str]], max_lines: int) -> int:
    """How many of the newest entries have at most so many lines; one at least."""
    lines = 0
    for number, entry in enumerate(reversed(entries)):
        lines += len(entry) + 1
        if number and lines > max_lines:
            return number
    return len(entries)


def _count(entries: Sequence[Sequence[str]]) -> int:
    return sum(len(entry) + 1 for entry in entries)


def _text(entries: Sequence[Sequence[str]]) -> str:
    return "".join(f"{line}\n" for entry in entries for line in (*entry, SEPARATOR))


def _parted(lines: Sequence[str]) -> tuple[list[str], list[list[str]]]:
    """Header and entries of a log; a log without a header gets ours."""
    blocks: list[list[str]] = [[]]
    for line in lines:
        if is_separator(line):
            blocks.append([])
        else:
            blocks[-1].append(line)
    header, *entries = blocks
    return header or [HEADER], [entry for entry in entries if any(line.strip() for line in entry)]


def is_separator(line: str) -> bool:
    """Whether a line parts two entries."""
    return len(line) >= len(SEPARATOR) and not line.strip().strip("=")


def entries_in(text: str) -> list[list[str]]:
    """The entries of a log, each as its lines; what stands before the first `===` is no entry."""
    return _parted(text.splitlines())[1]


def archive_of(project: Project) -> Path:
    """Where the older entries are."""
    return project.progress.with_name("progress.archive.txt")


def recent(project: Project, lines: int) -> list[str]:
    """The last lines of the log, without header and separators, oldest first."""
    return [line for entry in _tail(project.progress) for line in entry][-lines:]


def relevant(project: Project, task_id: str, lines: int, also: Sequence[str] = ()) -> list[str]:
    """The last lines about a task, oldest first: its own entries, and lines that name it.

    `also` are other names of the task. The archive is read too, from its end.
    """
    own = [["task:", name] for name in (task_id, *also)]
    named = _naming(task_id, also)
    found: list[str] = []
    for entry in [*_tail(archive_of(project)), *_tail(project.progress)]:
        whole = any(line.split()[:2] in own for line in entry)
        found += [line for line in entry if whole or named.search(line)]
    return found[-lines:]


def _naming(task_id: str, also: Sequence[str]) -> re.Pattern[str]:
    """Finds `task 42` and `(42)`, as in a commit's title; a bare number names no task."""
    number = re.escape(task_id)
    names = [rf"\btasks? #?{number}(?!\.?\d)", rf"\({number}\)"]
    names += [rf"(?<![\w.]){re.escape(name)}(?!\w|\.\d)" for name in also]
    return re.compile("|".join(names), re.IGNORECASE)


def _tail(path: Path) -> list[list[str]]:
    text = text_at_end(path, _TAIL_BYTES)
    return [[one_line(line) for line in entry] for entry in entries_in(text)]


def _is_closed(path: Path) -> bool:
    """Whether a file is there that may be neither read nor written."""
    return path.is_file() and not os.access(path, os.R_OK | os.W_OK)
