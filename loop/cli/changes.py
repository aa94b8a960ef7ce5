"""Changing tasks: edit, requeue, remove, cancel; and next. The person is the actor `user`."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from loop.cli.parser import Command, UsageError
from loop.cli.shift import claim_arguments
from loop.cli.task_fields import field_arguments, fields_to_edit, flags_named, given_fields
from loop.cli.task_status import ENDED, end, run_again, status_word
from loop.cli.wording import for_person, listed


def _id_argument(parser: ArgumentParser) -> None:
    parser.add_argument("task_id", metavar="ID", help="the task, such as 42 or 42.1")


def _edit_arguments(parser: ArgumentParser) -> None:
    _id_argument(parser)
    parser.add_argument("--title", metavar="TEXT", help="what it is called")
    parser.add_argument(
        "--desc", metavar="TEXT", action="append", default=[], help="what is to be done"
    )
    parser.add_argument(
        "--status",
        metavar="S",
        type=status_word,
        help="done or failed ends it by hand; pending has it run again",
    )
    field_arguments(parser)
    parser.add_argument(
        "--fields",
        metavar="F",
        help="a JSON file with fields to change, named as in a task; - reads stdin",
    )


def edit(given: Namespace) -> int:
    """Changes a queued task, or what has become of one."""
    from loop.actions.change import edit as change
    from loop.cli.place import project_of, utc_now
    from loop.cli.printing import say, write_json
    from loop.core.task import task_dict, title_of
    from loop.store.scan import locate
    from loop.store.words import used_up

    project, now = project_of(given), utc_now()
    with flags_named():
        fields = fields_to_edit(given)
        changed = sorted(given_fields(fields))
        state = locate(project, given.task_id, now).state
        if given.status == "queued" and state in ENDED:
            run_again(project, given.task_id, fields, now)
            changed.append("status")
        else:
            if changed or given.status is None:
                change(project, given.task_id, fields, "user", now)
            if given.status not in (None, state) and end(project, given.task_id, given.status, now):
                changed.append("status")
    used_up(project, given.fields)
    located = locate(project, given.task_id, now)
    task = located.task
    if given.json:
        data = {"id": task.id, "state": located.state, "changed": changed, "task": task_dict(task)}
        write_json(data)
    elif changed:
        is_now = f", it is {located.state} now" if "status" in changed else ""
        say(f"✓ {task.id} changed ({', '.join(changed)}){is_now}: {title_of(task)}")
    else:
        say(f"{task.id} is {located.state} already; nothing was changed")
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


def _remove_arguments(parser: ArgumentParser) -> None:
    _id_argument(parser)
    parser.add_argument(
        "--force", action="store_true", help="also when other tasks stand on it; they are blocked"
    )


def remove(given: Namespace) -> int:
    """Takes a waiting task out of the queue; it ends as cancelled."""
    from loop.actions.change import remove as take_out
    from loop.cli.place import project_of, utc_now
    from loop.cli.printing import show, write_json
    from loop.cli.view import View, cell, glyph

    done = take_out(project_of(given), given.task_id, "user", utc_now(), force=given.force)
    task_id = done.located.task.id
    if given.json:
        data = {"id": task_id, "state": done.located.state}
        write_json(data | {"subtasks": done.subtasks, "blocked": done.blocked})
        return 0
    also = f" with {listed(done.subtasks)}" if done.subtasks else ""
    view = View().line(
        glyph("failure"), " ", cell(task_id, "bold"), f" removed{also}; ",
        cell(f"`loop requeue {task_id}` brings it back"),
    )  # fmt: skip
    if done.blocked:
        are = "is" if len(done.blocked) == 1 else "are"
        view.line(cell(f"{listed(done.blocked)} {are} blocked now", "yellow"), indent=2)
    show(view)
    return 0


def following(given: Namespace) -> int:
    """Prints the task that runs next, or claims it for a session; 1 when none is ready."""
    if given.claim:
        from loop.cli.shift import claim

        return claim(given)
    for flag in ("session", "max_iterations", "max_minutes", "max_usd"):
        if getattr(given, flag) is not None:
            raise UsageError(f"next: --{flag.replace('_', '-')} goes with --claim")
    from loop.actions.waiting import why_none
    from loop.cli.place import project_of, utc_now
    from loop.cli.printing import say, write_json
    from loop.core.task import task_dict, title_of
    from loop.store.next_task import next_task
    from loop.store.scan import QueueScan

    project, now = project_of(given), utc_now()
    task = next_task(project, now)
    why = None if task else why_none(project, QueueScan(project, utc_now).look(), now)
    if given.json:
        write_json({"next": task_dict(task) if task else None} | ({"why": why} if why else {}))
    elif task is None:
        say(f"no task is ready: {for_person(str(why))}")
    else:
        say(f"· {task.id}  {title_of(task)}")
    return 0 if task else 1


def cancel(given: Namespace) -> int:
    """Cancels a task, queued or running."""
    from loop.actions.change import cancel as call_off
    from loop.actions.session_seen import ENDS_AT_STOP, in_session
    from loop.cli.place import project_of, utc_now
    from loop.cli.printing import say, write_json

    now = utc_now()
    located = call_off(project_of(given), given.task_id, "user", now)
    task_id, result = located.task.id, located.result
    changed = result is None or result.completed_at >= now
    if given.json:
        write_json({"id": task_id, "state": located.state, "changed": changed})
    elif result is None:
        how = ENDS_AT_STOP if in_session(located.task) else "its worker ends the run"
        say(f"▶ {task_id} is asked to end; {how}")
    elif changed:
        say(f"✗ {task_id} cancelled")
    else:
        say(f"{task_id} has ended already ({result.status}, {result.reason}); nothing was changed")
    return 0


COMMANDS = (
    Command(
        "edit",
        "Day by day",
        "change a queued task",
        "Change fields of a task that is still queued. What is not given stays as it is;\n"
        "--depends '' empties it. --status done or failed ends a task by hand, as success or\n"
        "failure, also one that has ended otherwise; --status pending has one that has ended\n"
        "run again. Only a worker starts a run, and blocked is what a task is while one that it\n"
        "depends on has failed.",
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
        "remove",
        "Day by day",
        "take a waiting task out of the queue",
        "Take a task that waits out of the queue. It ends as cancelled; nothing is deleted.\n"
        "Its open subtasks go with it. Refused while it runs; and, unless --force is given, while\n"
        "others stand on it, which are blocked then and named, or while it is a part of another.",
        _remove_arguments,
        remove,
    ),
    Command(
        "next",
        "Look",
        "print the task that runs next",
        "Print the task that runs next: the first by priority and id of those that are ready.\n"
        "When none is, say why, and exit with 1.\n"
        "With --claim, called by an interactive session: bind the queue to it and take the task.",
        claim_arguments,
        following,
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
