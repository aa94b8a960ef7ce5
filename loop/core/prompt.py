"""The prompt of a run: what the Builder reads on stdin.

Its first line is ours, so that instructions beginning with `/` are no slash command; its last is an
order, so that a bare description is not taken for context.
"""

from __future__ import annotations

from typing import Final

from loop.core.role import commit_prefix
from loop.core.task import Run, Task, title_of

#: What is not the task itself stands below this line.
AROUND: Final = "Around this task:"


def compose(
    task: Task,
    *,
    project: str,
    continued: bool,
    context: str = "",
    left: str = "",
    prefix: str = "feat",
    order: str | None = None,
) -> str:
    """The prompt for the task's next run.

    `continued`: the Builder's earlier session goes on, so the history is not repeated.
    `context`: what else the Builder should know, ready to read; empty when there is nothing.
    `left`: what earlier runs left in the files; empty when nothing.
    `prefix`: of the commits of a developer.
    `order`: the last line; None is that of a headless run, which ends with a report.
    """
    parts = [f"Task {task.id} in {project}: {title_of(task)}"]
    if continued:
        parts.append("This goes on from your earlier run of the same task in this session.")
    parts.extend(_task(task))
    if not continued:
        parts.extend(_history(task))
    parts.extend(_news(task))
    if left:
        parts.append(left)
    parts.append(
        "Commits of this task are titled: "
        f"{commit_prefix(task.role, prefix)}({task.id}): {title_of(task)}"
    )
    if context:
        parts.append(f"{AROUND}\n\n{context}")
    parts.append(order or _order(task))
    return "\n\n".join(parts) + "\n"


def _task(task: Task) -> list[str]:
    parts = []
    facts = [("Type", task.type), ("Where", task.target)]
    lines = [f"{name}: {value}" for name, value in facts if value]
    if lines:
        parts.append("\n".join(lines))
    parts.append("Instructions:\n" + "\n".join(_item(i) for i in task.instructions))
    if task.acceptance_criteria:
        parts.append("It is done when:\n" + "\n".join(_item(c) for c in task.acceptance_criteria))
    if task.acceptance:
        parts.append(
            "Afterwards these commands will be run and must pass:\n"
            + "\n".join(_item(c) for c in task.acceptance)
        )
    if task.notes:
        parts.append(f"Notes:\n{task.notes}")
    return parts


def _item(text: str) -> str:
    return f"- {text}"


def _history(task: Task) -> list[str]:
    ended = [run for run in task.runs if run.status not in (None, "paused")]
    if not ended:
        return []
    lines = [_told(run) for run in ended[-5:]]
    head = "Earlier runs of this task (their changes may be in the files; look before you redo):"
    earlier = task.guidance[:-1]
    parts = ["\n".join([head, *lines])]
    if earlier:
        parts.append("What the Architect said after them:\n" + "\n".join(_item(g) for g in earlier))
    return parts


def _told(run: Run) -> str:
    return f"- run {run.number}: {run.status} ({run.reason})" + (
        f": {run.said}" if run.said else ""
    )


def _news(task: Task) -> list[str]:
    parts = []
    if task.guidance and task.attempt == 1:
        parts.append(f"The Architect says:\n{task.guidance[-1]}")
    elif task.guidance:
        parts.append(f"The Architect had said:\n{task.guidance[-1]}")
    if task.note_to_run:
        parts.append(f"About the last attempt: {task.note_to_run}")
    return parts


def _order(task: Task) -> str:
    return f"Carry out task {task.id} now, completely, and end with your report."
