"""What a task did, for the one who must judge it: summary, files, differences, warnings."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from loop.actions.brief import title_in
from loop.core.denial import line_of
from loop.core.mask import masked
from loop.core.result import Result
from loop.core.task import Task
from loop.core.task_id import children_of
from loop.errors import NotFound, WrongState
from loop.git.command import GitError, Repository, repository_of, shown
from loop.git.diff import Lines, diff_text
from loop.git.undo import Change, Step, changed_over, lines_of
from loop.store.paths import Project
from loop.store.scan import locate

DEFAULT_DIFF_BYTES = 20_000
MOST_DIFF_BYTES = 200_000
#: of the answer without the diff, as JSON; what the server adds about the project comes on top
_BRIEF_BYTES = 1700
#: characters of a text, entries of a list: the widest pair with which an answer fits is taken
_BOUNDS = ((600, 20), (400, 12), (240, 8), (120, 5), (60, 3), (30, 1))
_MOST_DIFFS = 200


def review(
    project: Project, task_id: str, path: str | None, max_bytes: int, now: datetime
) -> dict[str, Any]:
    """A settled task's work. The diff holds whole files, the smallest first, up to `max_bytes`.

    `path`, relative to the project or absolute, shows that file or folder alone; empty, it is as
    if it were not given. 0 bytes leave the diff out.

    Raises:
        BadInput: it is not an id.
        NotFound: no such task, or the task did not change the path.
        WrongState: it is not settled.
    """
    located = locate(project, task_id, now)
    if located.result is None:
        raise WrongState(f"task {located.task.id} is {located.state}: there is nothing to review")
    result = located.result
    path = _bare(project, path)
    repository = repository_of(project.root)
    steps = [Step(r.before, r.after) for r in located.task.runs if r.before and r.after]
    if repository is None or not steps:
        return _fitting(result, {"note": _why_nothing(located.task)})
    try:
        changed = changed_over(repository, steps)
        names = [name for name in sorted(changed) if _below(name, path)]
        if path is not None and not names:
            raise NotFound(f"task {located.task.id} did not change {path}: its files are named by "
                           "review_changes without path")  # fmt: skip
        lines = lines_of(repository, [changed[name] for name in names])
        commits = _commits(repository, result)
        known: dict[str, Any] = {"files": [_file(lines[name]) for name in names]}
        data = _fitting(result, known | {"commits": commits})
        return data | _diff(repository, [changed[n] for n in names], lines, max_bytes)
    except GitError as error:
        return _fitting(result, {"note": f"changes can't be shown: {error}"})


def _why_nothing(task: Task) -> str:
    if task.children:
        some = ", ".join(children_of(task.id, min(task.children, 10)))
        return f"its subtasks did the work, so review them: {some}"
    return "no snapshots of it: changes can't be shown or undone"


def _fitting(result: Result, work: dict[str, Any]) -> dict[str, Any]:
    """The answer without the diff, shortened until it is small."""
    data: dict[str, Any] = {}
    for characters, entries in _BOUNDS:
        data = _brief(result, work, characters, entries)
        if len(msgspec.json.encode(data)) <= _BRIEF_BYTES:
            break
    return data


def _brief(result: Result, work: dict[str, Any], characters: int, entries: int) -> dict[str, Any]:
    def cut(text: str | None) -> str | None:
        if text is None:
            return None
        whole = masked(text)
        return whole if len(whole) <= characters else f"{whole[:characters].rstrip()}…"

    def some(texts: list[str]) -> list[str | None]:
        return [cut(text) for text in texts[:entries]]

    files: list[str] = work.get("files", [])
    # Denials have a line of their own; what is left of the warnings must not be lost among them.
    warnings = [w for w in result.warnings if not w.startswith("denied: ")]
    denials = [line_of(d) for d in result.permission_denials]
    summary = cut(result.summary)
    if summary is not None and summary.endswith("…"):
        summary += " (get_task has all)"
    data: dict[str, Any] = {
        "task_id": result.task_id,
        "title": cut(title_in(result.task)),
        "status": result.status,
        "reason": result.reason,
        "summary": summary,
        "remarks": cut(result.remarks),
        "warnings": some(warnings),
        "more_warnings": max(0, len(warnings) - entries) or None,
        "denials": some(denials),
        "more_denials": max(0, len(denials) - entries) or None,
        "verification": cut(_verification(result)),
        "cost_usd": result.cost_usd,
        "turns": result.turns,
        "undone": bool(len(result.undos) % 2) or None,
        "files": some(files),
        "more_files": max(0, len(files) - entries) or None,
        "commits": some(work.get("commits", [])),
        "more_commits": max(0, len(result.commits) - entries) or None,
        "note": cut(work.get("note")),
    }
    return {k: v for k, v in data.items() if v not in (None, [])}


def _verification(result: Result) -> str | None:
    if not result.verification:
        return None
    code = result.verification.get("exit")
    how = "passed" if code == 0 else "took too long" if code is None else f"failed (exit {code})"
    before = result.verification.get("baseline")
    before = f", {before} before" if code != 0 and before in ("passed", "failed") else ""
    return f"{how}{before}: {result.verification.get('command')}"


def _bare(project: Project, path: str | None) -> str | None:
    """The path as git names it; None for the whole project."""
    bare = (path or "").removeprefix(str(project.root)).lstrip("/").removeprefix("./").rstrip("/")
    return bare if bare not in ("", ".") else None


def _below(name: str, path: str | None) -> bool:
    return path is None or shown(name) == path or shown(name).startswith(f"{path}/")


def _file(line: Lines) -> str:
    counts = "(binary)" if line.added is None else f"+{line.added} -{line.removed}"
    return f"{line.path} {counts}"


def _commits(repository: Repository, result: Result) -> list[str]:
    found = []
    for commit in result.commits[:20]:
        subject = repository.git.maybe("log", "-1", "--format=%h %s", commit)
        found.append(subject or commit)
    return found


def _diff(
    repository: Repository, changes: list[Change], lines: dict[str, Lines], max_bytes: int
) -> dict[str, Any]:
    """Whole files, those with the fewest lines first, as long as there is room."""
    if max_bytes <= 0:
        return {}
    room = min(max_bytes, MOST_DIFF_BYTES)
    texts: dict[str, str] = {}
    first = ""
    for change in sorted(changes, key=lambda c: (_size(lines[c.path]), c.path))[:_MOST_DIFFS]:
        text = diff_text(repository, change.before, change.after, change.path)
        first = first or text
        size = len(text.encode())
        if size > room:
            break
        room -= size
        texts[change.path] = text
    data: dict[str, Any] = {"diff": "".join(texts[c.path] for c in changes if c.path in texts)}
    left = [shown(c.path) for c in changes if c.path not in texts]
    if left and not texts:  # not even one fits: its beginning is better than nothing
        data["diff"] = first.encode()[:room].decode(errors="ignore").rpartition("\n")[0]
        data["cut"] = True
    if left:
        data["not_shown"] = [name[-200:] for name in left[:20]]
        data["more_not_shown"] = max(0, len(left) - 20)
        data["hint"] = f"give path for one of them, or a larger max_bytes (up to {MOST_DIFF_BYTES})"
    return data


def _size(line: Lines) -> int:
    return (line.added or 0) + (line.removed or 0)
