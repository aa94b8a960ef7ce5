"""Looking at the timeline: the last events, and those to come."""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace

from loop.cli.parser import Command, whole

#: Seconds between two looks at the file.
_LOOK_S = 1.0


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("task_id", metavar="ID", nargs="?", help="only events of this task")
    parser.add_argument("-f", "--follow", action="store_true", help="go on until Ctrl-C")
    parser.add_argument(
        "-n", "--lines", metavar="N", type=whole(0), default=20, help="how many; 20 if not given"
    )


def timeline(given: Namespace) -> int:
    """Prints the last events; with `--follow` the new ones, too, as they come."""
    from loop.cli.place import project_of
    from loop.cli.printing import say, write_json
    from loop.core.task_id import checked_id
    from loop.store import timeline as file

    path = project_of(given).timeline
    task_id = None if given.task_id is None else checked_id(given.task_id)
    if not given.follow:
        events = file.last(path, given.lines, task_id) if given.lines else []
        if given.json:
            write_json(events)
        else:
            _print(events)
            if not events and given.lines:
                about = "" if task_id is None else f" to task {task_id}"
                say(f"nothing has happened{about} yet")
        return 0
    events, offset = file.read_from(path, 0)
    events = [event for event in events if task_id in (None, event.get("task_id"))]
    events = events[len(events) - min(given.lines, len(events)) :]
    while True:
        if given.json:
            for event in events:
                write_json(event, indent=None)
        else:
            _print(events)
        time.sleep(_LOOK_S)
        news, offset = file.read_from(path, offset)
        events = [event for event in news if task_id in (None, event.get("task_id"))]


def _print(events: list[dict[str, object]]) -> None:
    from loop.cli.event_rows import event_row, rows_view
    from loop.cli.place import utc_now
    from loop.cli.printing import show

    if events:
        show(rows_view(*(event_row(event, utc_now()) for event in events)))


COMMANDS = (
    Command(
        "timeline",
        "Look",
        "show what happened, the last events",
        "Show the last events, oldest first. With --json they are one list; with -f --json each\n"
        "is a JSON document on a line of its own.",
        _arguments,
        timeline,
    ),
)
