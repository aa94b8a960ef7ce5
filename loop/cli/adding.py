"""Queueing tasks: one by its words, or a whole plan from a file. The person is the actor `user`."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from loop.cli.parser import Command, UsageError, name
from loop.cli.task_fields import bytes_of, field_arguments, fields_to_add, flags_named

if TYPE_CHECKING:
    from loop.actions.plan_check import PlanTask

_HINT = "`loop add --help` says what is allowed"
#: What may stand beside --plan.
_WITH_PLAN = ("plan", "dry_run", "no_commands", "key", "json", "project")


def _add_arguments(parser: ArgumentParser) -> None:
    # Not required here: an option before it may have taken it, and that has to be said.
    parser.add_argument(
        "title", nargs="?", help="what it is called; alone, it is what is to be done, too"
    )
    parser.add_argument("description", nargs="?", help="what is to be done")
    field_arguments(parser)
    parser.add_argument("--parent", metavar="ID", help="the waiting task that it is a part of")
    parser.add_argument(
        "--key",
        metavar="K",
        type=name,
        help="a name of your own: sending the same under it again queues it once",
    )
    parser.add_argument(
        "--plan", metavar="F", help="a JSON list of tasks instead of one; - reads stdin"
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="with --plan: only show what would be queued"
    )
    parser.add_argument(
        "--no-commands",
        action="store_true",
        help="with --plan: refuse one that has commands to run (`acceptance`)",
    )


def add(given: Namespace) -> int:
    """Queues a task, or a plan."""
    if given.plan is not None:
        others = [k for k, v in vars(given).items() if v not in (None, False, [])]
        wrong = [other for other in others if other not in _WITH_PLAN]
        if wrong:
            shown = wrong[0] if wrong[0] in ("title", "description") else f"--{wrong[0]}"
            raise UsageError(f"add: {shown.replace('_', '-')} is said in the plan itself; {_HINT}")
        return _add_plan(given)
    if given.dry_run or given.no_commands:
        flag = "--dry-run" if given.dry_run else "--no-commands"
        raise UsageError(f"add: {flag} goes with --plan; {_HINT}")
    if given.title is None:
        words = "give the title first, as in `loop add TITLE --instruction TEXT`, or --plan"
        raise UsageError(f"add: {words}")
    return _add_task(given)


def _add_task(given: Namespace) -> int:
    from loop.actions.submit import position, submit
    from loop.builder.session import is_alive
    from loop.cli.place import project_of, utc_now
    from loop.cli.printing import show, write_json
    from loop.cli.view import View, cell, glyph
    from loop.core.task import title_of
    from loop.store.project_files import read_owner
    from loop.store.scan import QueueScan, locate
    from loop.store.shift import living

    project, now = project_of(given), utc_now()
    with flags_named(title="title"):
        fields = fields_to_add(given)
        sent = submit(project, fields, given.key, "user", now)
    task = sent.task
    state = locate(project, task.id, now).state
    place = position(QueueScan(project, utc_now).look(), task.id)
    if given.json:
        write_json({"id": task.id, "state": state, "position": place, "note": sent.note})
        return 0
    at = f", number {place} in the queue" if place else ""
    view = View().line(
        glyph(state), " ", cell(task.id, "bold"), f" {state}{at}: ", cell(title_of(task))
    )
    if sent.note:
        view.line(cell(f"not queued again: {sent.note}"), indent=2)
    elif read_owner(project) is None and living(project, is_alive) is None:
        view.line(cell("no worker is open; `loop work` runs it", "dim"), indent=2)
    show(view)
    return 0


def _add_plan(given: Namespace) -> int:
    from loop.actions.plan import plan_from, queue_plan
    from loop.cli.place import project_of, utc_now
    from loop.cli.plan_view import plan_view
    from loop.cli.printing import show, write_json
    from loop.store.words import used_up

    project = project_of(given)
    tasks = plan_from(bytes_of("--plan", given.plan), "--plan")
    if given.no_commands:
        _refuse_commands(tasks)
    made = queue_plan(project, tasks, "user", utc_now(), dry_run=given.dry_run, key=given.key)
    if made.ids and not given.dry_run:
        used_up(project, given.plan)
    if given.json:
        write_json(
            {
                "ids": made.ids,
                "order": made.order,
                "critical_path": made.critical_path,
                "problems": made.problems,
                "note": made.note,
            }
        )
    else:
        show(plan_view(tasks, made, dry_run=given.dry_run))
    return 1 if made.problems else 0


def _refuse_commands(tasks: list[PlanTask]) -> None:
    from loop.errors import BadInput

    for number, task in enumerate(tasks):
        if task.acceptance:
            raise BadInput(
                f"tasks[{number}].acceptance",
                "commands to run are refused here; say in words what must hold, or leave "
                "--no-commands out",
            )


COMMANDS = (
    Command(
        "add",
        "Day by day",
        "queue a task",
        "Queue a task for Claude Code. The description, every --instruction and the text of\n"
        "--file are what is to be done, in this order; with a title alone, the title is.\n\n"
        "--plan queues several tasks at once, or none if anything is wrong with one. Each is an\n"
        "object with instructions and, all optional, ref, title, depends_on, parent, role,\n"
        "priority, acceptance_criteria and the other fields of a task; depends_on and parent take\n"
        "refs of the plan or ids. The same plan sent again is not queued twice.",
        _add_arguments,
        add,
    ),
)
