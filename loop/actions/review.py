"""What a task did, for the one who must judge it: summary, files, differences, warnings."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from loop.actions.status import title_in
from loop.core.result import Result
from loop.core.task import Task
from loop.errors import NotFound, WrongState
from loop.git.command import GitError, Repository, repository_of
from loop.git.diff import diff_text, line_counts
from loop.git.undo import Step, changed_over
from loop.store.paths import Project
from loop.store.scan import locate

DEFAULT_DIFF_BYTES = 20_000
MOST_DIFF_BYTES = 200_000
_MOST_FILES = 20
_SUMMARY_CHARACTERS = 600


def review(
    project: Project, task_id: str, path: str | None, max_bytes: int, now: datetime
) -> dict[str, Any]:
    """A settled task's work. The diff holds whole files, the smallest first, up to `max_bytes`.

    `path` shows that file or folder alone; 0 bytes leave the diff out.

    Raises:
        BadInput: it is not an id.
        NotFound: no such task, or the task did not change the path.
        WrongState: it is not settled.
    """
    located = locate(project, task_id, now)
    if located.result is None:
        raise WrongState(f"task {located.task.id} is {located.state}: there is nothing to review")
    result = located.result
    data = _brief(result)
    repository = repository_of(project.root)
    steps = [Step(r.before, r.after) for r in located.task.runs if r.before and r.after]
    if repository is None or not steps:
        return data | {"note": "no snapshots of it: changes can't be shown or undone"}
    try:
        return data | _changes(repository, located.task, result, steps, path, max_bytes)
    except GitError as error:
        return data | {"note": f"changes can't be shown: {error}"}


def _brief(result: Result) -> dict[str, Any]:
    summary = result.summary
    if len(summary) > _SUMMARY_CHARACTERS:
        summary = f"{summary[:_SUMMARY_CHARACTERS].rstrip()}… (get_task has all)"
    data: dict[str, Any] = {
        "task_id": result.task_id,
        "title": title_in(result.task),
        "status": result.status,
        "reason": result.reason,
        "summary": summary,
        "remarks": (result.remarks or "")[:_SUMMARY_CHARACTERS] or None,
        "warnings": [w[:200] for w in result.warnings[:6]],
        "denials": [f"{d.tool} {d.input[:80]} (rule: {d.rule})" for d in
                    result.permission_denials[:5]],
        "verification": _verification(result),
        "cost_usd": result.cost_usd,
        "turns": result.turns,
        "undone": bool(len(result.undos) % 2) or None,
    }  # fmt: skip
    return {k: v for k, v in data.items() if v not in (None, [])}


def _verification(result: Result) -> str | None:
    if not result.verification:
        return None
    code = result.verification.get("exit")
    how = "passed" if code == 0 else f"failed (exit {code})"
    return f"{result.verification.get('command')}: {how}"


def _changes(
    repository: Repository,
    task: Task,
    result: Result,
    steps: list[Step],
    path: str | None,
    max_bytes: int,
) -> dict[str, Any]:
    changed = changed_over(repository, steps)
    names = [name for name in sorted(changed) if _below(name, path)]
    if path is not None and not names:
        raise NotFound(f"task {task.id} did not change {path}; its files are in `files`")
    first, last = steps[0].before, steps[-1].after
    counts = {line.path: line for line in line_counts(repository, first, last)}
    files = []
    for name in names[:_MOST_FILES]:
        line = counts.get(name)
        binary = line is None or line.added is None
        files.append(f"{name} (binary)" if binary or line is None
                     else f"{name} +{line.added} -{line.removed}")  # fmt: skip
    data: dict[str, Any] = {"files": files, "commits": _commits(repository, result)}
    if len(names) > _MOST_FILES:
        data["more_files"] = len(names) - _MOST_FILES
    return data | _diff(repository, first, last, names, max_bytes)


def _below(name: str, path: str | None) -> bool:
    if path is None:
        return True
    bare = path.removeprefix("./").rstrip("/")
    return name == bare or name.startswith(f"{bare}/")


def _commits(repository: Repository, result: Result) -> list[str]:
    found = []
    for commit in result.commits[:10]:
        subject = repository.git.maybe("log", "-1", "--format=%h %s", commit)
        found.append((subject or commit)[:120])
    return found


def _diff(
    repository: Repository, first: str, last: str, names: list[str], max_bytes: int
) -> dict[str, Any]:
    if max_bytes <= 0:
        return {}
    texts = {name: diff_text(repository, first, last, name) for name in names[:200]}
    room = min(max_bytes, MOST_DIFF_BYTES)
    shown: set[str] = set()
    for name in sorted(texts, key=lambda n: (len(texts[n].encode()), n)):
        size = len(texts[name].encode())
        if size > room:
            break
        room -= size
        shown.add(name)
    data: dict[str, Any] = {"diff": "".join(texts[n] for n in names if n in shown)}
    left = [name for name in names if name not in shown]
    if left:
        data["not_shown"] = left[:50]
        data["hint"] = "give path for one of them, or a larger max_bytes"
    return data
