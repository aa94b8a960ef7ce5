"""What is wrong with a plan, told by ref and field; and each task's place among the others."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from loop.core.plan_order import Step
from loop.core.rings import ring
from loop.core.task import Task, TaskFields, priority_value, task_from
from loop.core.task_id import checked_id, is_id, sort_key
from loop.errors import BadInput, NotFound, WrongState
from loop.store.families import NOT_RUN_ITSELF, counting
from loop.store.paths import Project
from loop.store.plans import Planned, ring_of
from loop.store.scan import locate

MOST_TASKS = 200
#: Stands for the number that a new task will get, behind all that there are.
_BEHIND = 500_000_000

Ref = Annotated[str, Meta(min_length=1, max_length=40, pattern=r"^[^\r\n]*\Z")]


class PlanTask(TaskFields, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """One task of a plan; `ref` is its name within it, for `depends_on` and `parent` of others."""

    ref: Ref | int | None = None


@dataclass(frozen=True, slots=True)
class Checked:
    """A task of a plan in which nothing is wrong."""

    planned: Planned
    step: Step


def check_all(
    project: Project, tasks: Sequence[PlanTask], now: datetime
) -> tuple[dict[str, Checked], list[BadInput]]:
    """The tasks by their refs, and all that is wrong."""
    if not tasks or len(tasks) > MOST_TASKS:
        problem = f"give 1 to {MOST_TASKS} tasks, not {len(tasks)}; queue a larger plan in parts"
        return {}, [BadInput("tasks", problem)]
    problems: list[BadInput] = []
    refs: list[str] = []
    for number, task in enumerate(tasks):
        ref = f"#{number + 1}" if task.ref is None else str(task.ref)
        if ref in refs:
            first = refs.index(ref)
            problems.append(
                BadInput(f"tasks[{number}].ref", f"{ref!r} is used twice, by tasks[{first}], too")
            )
        refs.append(ref)
    checked: dict[str, Checked] = {}
    plan = _Refs(project, refs, now)
    for number, task in enumerate(tasks):
        try:
            checked[refs[number]] = plan.check(number, task)
        except BadInput as error:
            problems.append(error)
    if not problems:
        problems = _parents_in_ring(checked)
        numbers = {ref: number for number, ref in enumerate(refs)}
        above = dict.fromkeys(c.planned.parent_ref for c in checked.values())
        problems += [
            BadInput(plan.where(numbers[ref], "acceptance"), NOT_RUN_ITSELF)
            for ref in above
            if ref is not None and checked[ref].planned.fields.get("acceptance")
        ]
    if not problems:
        planned = [c.planned for c in checked.values()]
        found = ring_of(project, planned, now)
        if found is not None:
            words = f"they would wait for each other: {' → '.join(found)}"
            problems.append(BadInput("tasks", f"{words}; take one of these out of depends_on"))
    if not problems:
        checked = _placed(checked, plan.parents)
        deep = [ref for ref, c in checked.items() if not is_id(".".join(map(str, c.step.place)))]
        problems += [BadInput(f"{ref}.parent", "subtasks go no deeper than 8 levels")
                     for ref in deep]  # fmt: skip
    return checked, problems


def _parents_in_ring(checked: Mapping[str, Checked]) -> list[BadInput]:
    def above(ref: str) -> list[str]:
        parent = checked[ref].planned.parent_ref
        return [] if parent is None else [parent]

    found = ring(checked, above)
    if found is None:
        return []
    return [BadInput("tasks", f"they would be parts of each other: {' → '.join(found)}")]


class _Refs:
    """The names of a plan, and what its tasks name by them."""

    def __init__(self, project: Project, refs: Sequence[str], now: datetime) -> None:
        self._project = project
        self._refs = refs
        self._known = frozenset(refs)
        self._now = now
        #: parents of its tasks that are there already, by id
        self.parents: dict[str, Task] = {}

    def where(self, number: int, name: str) -> str:
        """A field of a task as errors name it."""
        return f"tasks[{number}] ({self._refs[number]}).{name}"

    def check(self, number: int, task: PlanTask) -> Checked:
        """A task with its names sorted into refs and ids.

        Raises:
            BadInput: a field is wrong, or a name is not known.
        """
        given: dict[str, Any] = msgspec.to_builtins(task)
        given.pop("ref", None)
        needs = list(dict.fromkeys(str(n).strip() for n in given.pop("depends_on", None) or []))
        parent = given.pop("parent", None)
        try:
            made = task_from(given, "1", self._now)
        except BadInput as error:
            raise BadInput(self.where(number, error.field), error.problem) from None
        known = [need for need in needs if need in self._known]
        others = [
            self._there(self.where(number, f"depends_on[{n}]"), need).id
            for n, need in enumerate(needs)
            if need not in self._known
        ]
        parent_ref = str(parent).strip() if parent is not None else None
        parent_id = None
        if parent_ref is not None and parent_ref not in self._known:
            above = self._there(self.where(number, "parent"), parent_ref, takes_subtasks=True)
            self.parents[above.id] = above
            parent_ref, parent_id = None, above.id
        if "priority" not in given and parent_id is not None:
            made.priority = self.parents[parent_id].priority
        ref = self._refs[number]
        planned = Planned(ref, given, tuple(known), tuple(others), parent_ref, parent_id)
        step = Step(priority_value(made.priority), (), planned.needs, parent_ref)
        return Checked(planned, step)

    def _there(self, where: str, name: str, *, takes_subtasks: bool = False) -> Task:
        try:
            located = locate(self._project, checked_id(name), self._now)
        except (BadInput, NotFound):
            listed = ", ".join(self._refs[:10]) + (", …" if len(self._refs) > 10 else "")
            problem = f"{name!r:.60} is neither a ref of this plan ({listed}) nor a task's id"
            raise BadInput(where, problem) from None
        task = located.task
        if takes_subtasks:
            try:
                counting(located)
            except WrongState as error:
                raise BadInput(where, str(error)) from None
            except BadInput as error:
                raise BadInput(where, error.problem) from None
        return task


def _placed(checked: Mapping[str, Checked], parents: Mapping[str, Task]) -> dict[str, Checked]:
    """The same with the place and the inherited priority of each, as its id will give them."""
    places: dict[str, tuple[int, ...]] = {}
    priorities: dict[str, int] = {}
    children: dict[str, int] = {}
    for number, planned in enumerate(parents_first(checked)):
        step = checked[planned.ref].step
        above = planned.parent_ref or planned.parent_id
        if above is None:
            place: tuple[int, ...] = (_BEHIND + number,)
        else:
            before = parents[above].children if planned.parent_id else 0
            children[above] = children.get(above, before) + 1
            base = sort_key(above) if planned.parent_id else places[above]
            place = (*base, children[above])
        inherits = planned.parent_ref is not None and "priority" not in planned.fields
        priorities[planned.ref] = priorities[str(planned.parent_ref)] if inherits else step.priority
        places[planned.ref] = place
    return {
        ref: Checked(c.planned, Step(priorities[ref], places[ref], c.step.needs, c.step.parent))
        for ref, c in checked.items()
    }


def parents_first(checked: Mapping[str, Checked]) -> list[Planned]:
    """In the order of the plan, but each after its parent."""
    placed: dict[str, Planned] = {}
    for one in checked.values():
        chain = [one.planned]
        while (above := chain[-1].parent_ref) is not None and above not in placed:
            chain.append(checked[above].planned)
        for planned in reversed(chain):
            placed.setdefault(planned.ref, planned)
    return list(placed.values())


_TASK_FIELD = re.compile(r"tasks\[(\d+)\]\.?(.*)")


def named_by_ref(error: BadInput, tasks: object) -> BadInput:
    """The same error with the task's ref beside its number; `tasks` are the plan as it was sent."""
    found = _TASK_FIELD.fullmatch(error.field)
    number = int(found[1]) if found else -1
    if found is None or not isinstance(tasks, list) or number >= len(tasks):
        return error
    ref = tasks[number].get("ref") if isinstance(tasks[number], dict) else None
    if ref is None or found[2] == "ref":
        return error
    return BadInput(f"tasks[{number}] ({str(ref)[:40]}).{found[2]}", error.problem)
