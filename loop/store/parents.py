"""The end of a parent: its result, made of those of its subtasks, when the last has ended."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from loop.core.event import RunCompleted
from loop.core.result import FileChange, Result, result_dict
from loop.core.task import Task, task_dict
from loop.core.task_id import sort_key
from loop.store.dependencies import graph_of, queued_below
from loop.store.journal import transition
from loop.store.paths import Project
from loop.store.scan import Located, family, read_task
from loop.store.submissions import forget

#: Subtasks that the summary of a parent names, and characters of what each of them says.
_MOST_LINES = 20
_SAID_CHARACTERS = 200


def roll_up(project: Project, ended: Iterable[str], now: datetime) -> bool:
    """Writes the results of parents whose last subtask has ended; whether there were any.

    Looks again under the lock: a subtask may have been requeued since.
    """
    moved = False
    for task_id in ended:
        with transition(project) as t:
            path = project.task_file(project.queue, task_id)
            parent = read_task(path, task_id, now)
            if parent is None:
                continue
            graph = graph_of(project, queued_below(project, parent, now), now)
            state = graph.ended_parents().get(task_id)
            if state is None:
                continue
            result = _result_of(project, parent, state, graph.standing(task_id).cause, now)
            t.put(project.task_file(project.completed, task_id), result_dict(result))
            t.append(
                RunCompleted(
                    ts=now,
                    actor="builder",
                    task_id=task_id,
                    run=parent.run,
                    status=result.status,
                    reason=result.reason,
                    commit_hash=result.commit_hash,
                    cost_usd=0.0,  # each run has told its own
                )
            )
            forget(t, parent)
            t.remove(path)
            moved = True
    return moved


def _result_of(
    project: Project, parent: Task, state: str, cause: str | None, now: datetime
) -> Result:
    """The result of a parent. Costs, turns and times are those of all runs of it and below it."""
    parts = list(family(project, parent, now))
    runs = [run for task in (parent, *(part.task for part in parts)) for run in task.runs]
    # The result of an inner parent is made of others that are here, too.
    leaves = [p.result for p in parts if p.result is not None and not p.task.children]
    leaves.sort(key=lambda result: (result.completed_at, sort_key(result.task_id)))
    commits = list(dict.fromkeys(commit for result in leaves for commit in result.commits))
    costs = [run.cost for run in runs]
    spans = [run.ended - run.started for run in runs if run.ended is not None]
    return Result(
        task_id=parent.id,
        status="success" if state == "success" else "failure",
        reason="subtasks",
        cause=cause,
        summary=_summary(parts, cause),
        completed_at=now,
        commit_hash=commits[-1] if commits else None,
        commits=commits,
        files_changed=_files(leaves),
        runs=len(runs),
        duration_s=max(0.0, round(sum(spans, timedelta()).total_seconds(), 1)),
        cost_usd=None if None in costs else round(sum(cost or 0.0 for cost in costs), 6),
        turns=sum(run.turns or 0 for run in runs),
        task=task_dict(parent),
    )


def _files(results: list[Result]) -> list[FileChange]:
    """The files that the subtasks changed, each once, with its lines added up."""
    found: dict[str, FileChange] = {}
    for change in (change for result in results for change in result.files_changed):
        known = found.get(change.path, FileChange(change.path, 0, 0))
        added, removed = _sum(known.added, change.added), _sum(known.removed, change.removed)
        found[change.path] = FileChange(change.path, added, removed)
    return list(found.values())


def _sum(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one + other


def _summary(parts: list[Located], cause: str | None) -> str:
    """How the subtasks ended, the one that failed first."""
    leaves = [part for part in parts if not part.task.children]
    good = sum(part.state == "success" for part in leaves)
    lines = [f"{good} of {len(leaves)} subtasks succeeded."]
    first = [part for part in leaves if part.task.id == cause]
    others = [part for part in leaves if part.task.id != cause]
    lines += [_line(part) for part in (*first, *others)[:_MOST_LINES]]
    if len(leaves) > _MOST_LINES:
        lines.append(f"and {len(leaves) - _MOST_LINES} more")
    return "\n".join(lines)


def _line(part: Located) -> str:
    result = part.result
    if result is None:
        return f"- {part.task.id} did not run"
    how = result.status if result.status == "success" else f"{result.status} ({result.reason})"
    said = " ".join(result.summary.split())[:_SAID_CHARACTERS]
    return f"- {part.task.id} {how}: {said}"
