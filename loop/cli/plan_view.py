"""How a plan is shown to people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from loop.cli.view import View, cell, glyph
from loop.cli.wording import counted, listed, one_line

if TYPE_CHECKING:
    from loop.actions.plan import Plan
    from loop.actions.plan_check import PlanTask

_SHOWN = 40


def plan_view(tasks: Sequence[PlanTask], plan: Plan, *, dry_run: bool) -> View:
    """The tasks of a plan with their ids, what they wait for, and the longest chain."""
    view = View()
    if plan.problems:
        view.line(glyph("failure"), " the plan would be refused:")
        for problem in plan.problems:
            view.line("- ", cell(problem), indent=2)
        return view
    if plan.note:
        return view.line(cell(plan.note)).line(cell(listed([str(i) for i in plan.ids.values()], 9)))
    count = counted(len(tasks), "task")
    view.line(cell(f"{count} would be queued" if dry_run else f"{count} queued", "bold"))
    rows = []
    for ref, task in list(zip(plan.ids, tasks, strict=True))[:_SHOWN]:
        words = [f"part of {task.parent}"] if task.parent is not None else []
        words += [f"after {listed([str(n) for n in task.depends_on])}"] if task.depends_on else []
        words += [str(task.priority)] if task.priority not in (None, "normal") else []
        words += [task.role] if task.role else []
        name = cell(plan.ids[ref] or ref, "bold")
        rows.append((glyph("queued"), name, cell(_title(task)), cell(", ".join(words), "dim")))
    view.rows(rows)
    if len(tasks) > _SHOWN:
        view.line(cell(f"and {len(tasks) - _SHOWN} more", "dim"), indent=3)
    return view.line(cell(plan.words))


def _title(task: PlanTask) -> str:
    instructions = task.instructions
    first = instructions if isinstance(instructions, str) else (instructions or [""])[0]
    return one_line(task.title or first, 60)
