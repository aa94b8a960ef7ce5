"""Looking at the queue or at one task: status, watch."""

from __future__ import annotations

import os
import time
from argparse import ArgumentParser, Namespace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from loop.cli.parser import Command

if TYPE_CHECKING:
    from loop.store.paths import Project

#: Seconds between two looks at the timeline and at the run.
_LOOK_S = 1.0
#: Looks after which everything is read anew, whether the timeline grew or not.
_LOOKS = 5


def _status_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("task_id", metavar="ID", nargs="?", help="a task, to see it in full")
    parser.add_argument("--all", action="store_true", help="every task, however many there are")
    parser.add_argument(
        "--graph", action="store_true", help="print the waiting tasks as a Mermaid diagram"
    )


def status(given: Namespace) -> int:
    """Shows the queue, or one task in full."""
    from loop.cli.place import project_of, utc_now
    from loop.cli.printing import show, write_json

    project, now = project_of(given), utc_now()
    if given.task_id is not None:
        from loop.cli.task_view import task_view

        data = _one(project, given.task_id, now)
        if given.json:
            write_json(data)
        else:
            show(task_view(data, now))
        return 0

    from loop.cli.status_view import status_view

    if given.graph:
        from loop.cli.mermaid import mermaid
        from loop.cli.printing import write

        write(mermaid(_Look(project).graph(now)))
        return 0
    data = _Look(project).at_all(now, whole=given.all)
    if given.json:
        write_json(data)
    else:
        show(status_view(data, now))
    return 0


def _one(project: Project, task_id: str, now: datetime) -> dict[str, Any]:
    from loop.actions.one_task import task_in_full
    from loop.actions.progress import ProgressReader
    from loop.store.scan import QueueScan, locate

    data = task_in_full(project, QueueScan(project, lambda: now).look(), task_id, 0, now)
    if data["state"] == "running":
        task = locate(project, task_id, now).task
        if task.runs and not task.children:
            data["progress"] = ProgressReader(project).progress(task, now)
    return data


class _Look:
    """Looks again and again; reads everything anew only when something happened."""

    def __init__(self, project: Project) -> None:
        from loop.actions.progress import ProgressReader
        from loop.cli.place import utc_now
        from loop.store.scan import QueueScan

        self._project = project
        self._scan = QueueScan(project, utc_now)
        self._progress = ProgressReader(project)
        self._seen: tuple[int, bool] | None = None
        self._looks = 0
        self._data: dict[str, Any] = {}

    def at_all(self, now: datetime, *, whole: bool = False) -> dict[str, Any]:
        """Everything that status shows, read from the files; `whole`, however much it is."""
        from loop.actions.overview import overview

        return overview(self._project, self._scan.look(), os.environ, now, whole=whole)

    def graph(self, now: datetime) -> list[dict[str, Any]]:
        """All tasks that have not ended as rows, with the parts of those."""
        from loop.actions.overview import graph_rows

        return graph_rows(self._project, self._scan.look(), now)

    def at_news(self, now: datetime) -> dict[str, Any]:
        """The same, read anew when the timeline has grown; else only how far the run is."""
        from loop.store import timeline

        seen = (timeline.size_of(self._project.timeline), self._project.paused.exists())
        self._looks += 1
        if seen != self._seen or self._looks >= _LOOKS:
            self._seen, self._looks = seen, 0
            self._data = self.at_all(now)
        else:
            self._update_progress(now)
        return self._data

    def _update_progress(self, now: datetime) -> None:
        from loop.store.scan import read_task

        for row in self._data["tasks"]:
            if row["state"] == "running":
                path = self._project.task_file(self._project.running, row["id"])
                task = read_task(path, row["id"], now)
                if task is not None and task.runs:
                    row["progress"] = self._progress.progress(task, now)


def watch(given: Namespace) -> int:
    """Shows the queue again and again, until Ctrl-C."""
    from loop.cli.place import project_of, utc_now
    from loop.cli.printing import to_terminal
    from loop.errors import LoopError

    project = project_of(given)
    if not to_terminal():
        raise LoopError("watch needs a terminal; `loop timeline -f` follows in a pipe")

    from rich.live import Live

    from loop.cli.status_view import status_view
    from loop.cli.terminal import Terminal, drawn

    look = _Look(project)
    console = Terminal()
    with Live(console=console, auto_refresh=False) as live:
        while True:
            now = utc_now()
            view = status_view(look.at_news(now), now)
            live.update(drawn(view.line().line("Ctrl-C ends it"), console.width), refresh=True)
            time.sleep(_LOOK_S)


COMMANDS = (
    Command(
        "status",
        "Look",
        "show what runs, what waits and what has ended; or one task",
        "Show who works on the queue, what runs, what waits in its order and what has ended. A\n"
        "subtask stands under its parent; behind a task stands what it waits for, or who blocks\n"
        "it. With an id, show that task in full. --graph prints what waits for a document that\n"
        "draws Mermaid diagrams.",
        _status_arguments,
        status,
    ),
    Command(
        "watch",
        "Look",
        "show the same, kept up to date until Ctrl-C",
        "Show the status again and again, once a second, until Ctrl-C. It needs a terminal.",
        lambda parser: None,
        watch,
        prints_data=False,
    ),
)
