"""Queueing a whole plan: several tasks with their dependencies, all or nothing, once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

import msgspec

from loop.actions.plan_check import PlanTask, check_all, named_by_ref, parents_first
from loop.core.checks import MAX_TASK_BYTES, clean_text, convert
from loop.core.event import Actor
from loop.core.plan_order import longest_chain, run_order
from loop.errors import BadInput
from loop.store.paths import Project
from loop.store.plans import known_plan, queue_all
from loop.store.submissions import plan_digest

_MOST_PROBLEMS = 5
#: Names of a chain that are shown; of a longer one its two ends.
_MOST_IN_WORDS = 8


@dataclass(frozen=True, slots=True)
class Plan:
    """A plan as it was, or would be, queued."""

    #: refs in the order of the plan, each with its id; the ids are None on a dry run
    ids: dict[str, str | None]
    #: refs in the order in which they will run; parents are not run themselves
    order: list[str] = field(default_factory=list)
    #: the longest chain of refs that stand on each other
    critical_path: list[str] = field(default_factory=list)
    #: said when nothing was queued since the same plan was sent before
    note: str | None = None
    #: on a dry run: why it would be refused
    problems: list[str] = field(default_factory=list)

    @property
    def words(self) -> str:
        """The critical path in words."""
        count, chain = len(self.order), self.critical_path
        if len(chain) < 2:
            return f"{count} to run, none waits for another" if count > 1 else "1 task to run"
        names = chain
        if len(chain) > _MOST_IN_WORDS:
            names = [*chain[:4], f"({len(chain) - 7} more)", *chain[-3:]]
        return (
            f"{count} to run; the longest chain is {len(chain)} of them, which can only run one "
            f"after another: {' → '.join(names)}"
        )


def queue_plan(
    project: Project,
    tasks: Sequence[PlanTask],
    actor: Actor,
    now: datetime,
    *,
    dry_run: bool,
    key: str | None = None,
) -> Plan:
    """Queues the tasks of a plan at once, or only says how they would run.

    The same plan sent again is not queued again: under a `key` for ever, without one as long as a
    task of it waits or runs.

    Raises:
        BadInput: names the tasks and the fields, all that is wrong; nothing was queued.
        WrongState: a parent among the tasks that are there is not queued.
    """
    content = plan_digest([msgspec.to_builtins(task) for task in tasks])
    known = known_plan(project, content, key, now)
    if known is not None:
        return Plan(dict(known.ids), note=known.note)
    checked, problems = check_all(project, tasks, now)
    if problems and dry_run:
        return Plan({}, problems=[str(problem) for problem in problems[:_MOST_PROBLEMS]])
    if problems:
        raise _as_one(problems)
    steps = {ref: c.step for ref, c in checked.items()}
    order, path = run_order(steps), longest_chain(steps)
    if dry_run:
        return Plan(dict.fromkeys(checked), order, path)
    queued = queue_all(project, parents_first(checked), content, key, actor, now)
    ids = {ref: queued.ids[ref] for ref in checked if ref in queued.ids}
    return Plan(dict(ids), order, path, queued.note)


def _as_one(problems: Sequence[BadInput]) -> BadInput:
    first, *others = problems
    if not others:
        return first
    told = "; ".join(str(problem) for problem in others[: _MOST_PROBLEMS - 1])
    more = len(others) - _MOST_PROBLEMS + 1
    tail = f"; and {more} more" if more > 0 else ""
    return BadInput(first.field, f"{first.problem}; {told}{tail}. Nothing was queued")


class _Sent(msgspec.Struct, forbid_unknown_fields=True):
    tasks: list[PlanTask]


def plan_from(data: bytes, where: str) -> list[PlanTask]:
    """The tasks of a plan in JSON: a list, or an object that has it as `tasks`.

    Raises:
        BadInput: it is none; the message names what is wrong.
    """
    if len(data) > MAX_TASK_BYTES:
        raise BadInput(
            where, "a plan may have 4 MB of text; put the rest into files of the project"
        )
    try:
        raw = msgspec.json.decode(data.removeprefix(b"\xef\xbb\xbf"))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadInput(where, f"not valid JSON in UTF-8: {error}") from None
    if isinstance(raw, list):
        raw = {"tasks": raw}
    if not isinstance(raw, dict):
        raise BadInput(where, "must be a list of tasks, as in [{...}, {...}]")
    clean_text(raw)
    try:
        return convert(raw, _Sent, strict=False).tasks
    except BadInput as error:
        raise named_by_ref(error, raw.get("tasks")) from None
