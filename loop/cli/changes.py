"""Changing tasks: add, edit, requeue, cancel. The person is the actor `user`."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from loop.cli.parser import Command, UsageError, name
from loop.cli.task_fields import (
    field_arguments,
    fields_to_add,
    fields_to_edit,
    flags_named,
    given_fields,
)


def _add_arguments(parser: ArgumentParser) -> None:
    # Not required here: an option before it has taken it, and that has to be said.
    parser.add_argument(
        "title", nargs="?", help="what it is called; alone, it is what is to be done, too"
    )
    parser.add_argument("description", nargs="?", help="what is to be done")
    field_arguments(parser)
    parser.add_argument(
        "--key",
        metavar="K",
        type=name,
        help="a name of your own: sending the same under it again queues it once",
    )


def add(given: Namespace) -> int:
    """Queues a task."""
    from loop.actions.submit import position, submit
    from loop.cli.place import project_of, utc_now
    from loop.cli.printing import show, write_json
    from loop.cli.view import View, cell, glyph
    from loop.core.task import title_of
    from loop.store.project_files import read_owner
    from loop.store.scan import QueueScan, locate

    if given.title is None:
        raise UsageError("add: give the title first: `loop add TITLE --instruction TEXT ...`")
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
    elif read_owner(project) is None:
        view.line(cell("no worker is open; `loop work` runs it", "dim"), indent=2)
    show(view)
    return 0


def _id_argument(parser: ArgumentParser) -> None:
    parser.add_argument("task_id", metavar="ID", help="the task, such as 42 or 42.1")


def _edit_arguments(parser: ArgumentParser) -> None:
    _id_argument(parser)
    parser.add_argument("--title", metavar="TEXT", help="what it is called")
    field_arguments(parser)


def edit(given: Namespace) -> int:
    """Changes a queued task."""
    from loop.actions.change import edit as change
    from loop.cli.place import project_of, utc_now
    from loop.cli.printing import say, write_json
    from loop.core.task import task_dict, title_of

    project = project_of(given)
    with flags_named():
        fields = fields_to_edit(given)
        task = change(project, given.task_id, fields, "user", utc_now())
    changed = sorted(given_fields(fields))
    if given.json:
        write_json({"id": task.id, "changed": changed, "task": task_dict(task)})
    else:
        say(f"✓ {task.id} changed ({', '.join(changed)}): {title_of(task)}")
    return 0


def _requeue_arguments(parser: ArgumentParser) -> None:
    _id_argument(parser)
    parser.add_argument("guidance", nargs="*", help="your answer, or what was wrong")
    parser.add_argument(
        "--fresh", action="store_true", help="without the memory of the last run's session"
    )


def requeue(given: Namespace) -> int:
    """Lets a settled task run again, on the person's word."""
    from loop.actions.requeue import requeue as run_again
    from loop.cli.place import project_of, utc_now
    from loop.cli.printing import say, write_json
    from loop.core.task import TaskFields, title_of

    task = run_again(
        project_of(given),
        given.task_id,
        TaskFields(),
        " ".join(given.guidance).strip() or None,
        "user",
        utc_now(),
        fresh=given.fresh,
        from_user=True,
    )
    if given.json:
        write_json({"id": task.id, "state": "queued", "run": task.run})
    else:
        say(f"· {task.id} queued for run {task.run}: {title_of(task)}")
    return 0


def cancel(given: Namespace) -> int:
    """Cancels a task, queued or running."""
    from loop.actions.change import cancel as call_off
    from loop.cli.place import project_of, utc_now
    from loop.cli.printing import say, write_json

    now = utc_now()
    located = call_off(project_of(given), given.task_id, "user", now)
    task_id, result = located.task.id, located.result
    changed = result is None or result.completed_at >= now
    if given.json:
        write_json({"id": task_id, "state": located.state, "changed": changed})
    elif result is None:
        say(f"▶ {task_id} is asked to end; its worker ends the run")
    elif changed:
        say(f"✗ {task_id} cancelled")
    else:
        say(f"{task_id} has ended already ({result.status}, {result.reason}); nothing was changed")
    return 0


COMMANDS = (
    Command(
        "add",
        "Day by day",
        "queue a task",
        "Queue a task for Claude Code. The description, every --instruction and the text of\n"
        "--file are what is to be done, in this order; with a title alone, the title is.",
        _add_arguments,
        add,
    ),
    Command(
        "edit",
        "Day by day",
        "change a queued task",
        "Change fields of a task that is still queued. What is not given stays as it is.",
        _edit_arguments,
        edit,
    ),
    Command(
        "requeue",
        "Day by day",
        "run a task again, with an answer or a correction",
        "Let a task that has ended run again under its id. The words behind the id answer its\n"
        "question or say what was wrong.",
        _requeue_arguments,
        requeue,
    ),
    Command(
        "cancel",
        "Day by day",
        "cancel a task, queued or running",
        "Cancel a task: a queued one at once, a running one by ending its run. What the run has\n"
        "changed in the files stays. `loop requeue` runs the task again.",
        _id_argument,
        cancel,
    ),
)
