"""Having the queue worked on: serve, work, and `loop` alone."""

from __future__ import annotations

import os
import stat
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from typing import TYPE_CHECKING

from loop.cli.parser import Command, UsageError, name, number, whole

if TYPE_CHECKING:
    from loop.store.paths import Project


def serve(given: Namespace) -> int:
    """Serves Claude Desktop. Nothing is printed here: stdout is the protocol's."""
    from loop.cli.place import project_of

    project = project_of(given)  # a wrong folder is told before the server is imported
    name = _server_name(project)
    from loop.service.app import serve as run_server

    return run_server(project, name)


def _server_name(project: Project) -> str:
    from loop.errors import LoopError
    from loop.setup.desktop import server_name
    from loop.setup.instructions import server_name_of

    try:
        return server_name_of(project, env=os.environ)
    except LoopError:  # the settings of Claude Desktop can't be read: no reason not to serve
        return server_name(project.root, {})


def _work_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--drain", action="store_true", help="end when nothing in the queue can run any more"
    )
    parser.add_argument(
        "--max-tasks", metavar="N", type=whole(1), help="end after so many tasks have ended"
    )
    parser.add_argument(
        "--cooldown", metavar="S", type=number(0), default=0.0, help="seconds between two tasks"
    )
    parser.add_argument(
        "--model", metavar="M", type=name, help="the model for tasks that name none"
    )


def work(given: Namespace) -> int:
    """Works on the queue and shows what happens."""
    from loop.cli.place import project_of

    return _work(
        project_of(given),
        drain=given.drain,
        max_tasks=given.max_tasks,
        cooldown_s=given.cooldown,
        model=given.model,
    )


def alone(given: Namespace) -> int:
    """`loop` without a command: works on a terminal, serves a pipe.

    Raises:
        UsageError: stdin is neither.
    """
    from loop.cli.place import project_of

    if sys.stdin is not None and sys.stdin.isatty():
        return _work(project_of(given), drain=False, max_tasks=None, cooldown_s=0.0, model=None)
    if not _is_piped():
        raise UsageError("stdin is neither a terminal nor a pipe; say `loop work` or `loop serve`")
    return serve(given)


def _is_piped() -> bool:
    try:
        mode = os.fstat(0).st_mode
    except OSError:
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or stat.S_ISREG(mode)


def _work(
    project: Project, *, drain: bool, max_tasks: int | None, cooldown_s: float, model: str | None
) -> int:
    from loop.builder.session import is_alive
    from loop.cli.printing import show
    from loop.cli.view import View, cell
    from loop.errors import NotReady
    from loop.store.project_files import load_config, read_owner
    from loop.store.shift import living

    view = View().line("Working on ", cell(project.name, "bold"), f" ({project.root})")
    owner = read_owner(project)
    if owner is not None:
        who = f"process {owner.pid}" if owner.pid else "another process"
        view.line(f"{who} ({owner.driver}) does so now; this one takes over when it ends", indent=2)
    shift = living(project, is_alive)
    if shift is not None:
        who = f"a session of Claude Code (process {shift.pid})"
        view.line(f"{who} works the queue now; tasks start here when its shift is over", indent=2)
    if not drain:
        try:
            stops = load_config(project).on_shutdown == "stop"
        except NotReady:  # told when it is needed
            stops = False
        run = "and the run under way" if stops else "a run under way goes on until it has ended"
        view.line(cell(f"Ctrl-C ends it{' ' if stops else '; '}{run}", "dim"), indent=2)
    show(view)
    from loop.service.app import work as run_worker
    from loop.service.worker import WorkerOptions

    options = WorkerOptions(
        driver="work", drain=drain, max_tasks=max_tasks, cooldown_s=cooldown_s, model=model
    )
    return run_worker(project, options, news_printer())


def news_printer() -> Callable[[dict[str, object]], None]:
    """Prints events as they come, and of the progress what is new in it."""
    from loop.cli.event_rows import event_row, hint_row, progress_row, rows_view, trouble_row
    from loop.cli.place import utc_now
    from loop.cli.printing import show

    last: object = None

    def print_it(news: dict[str, object]) -> None:
        nonlocal last
        if news.get("event") == "trouble":
            show(rows_view(trouble_row(news)))
        elif news.get("event") != "progress":
            hint = hint_row(news)
            show(rows_view(event_row(news, utc_now()), *([hint] if hint else [])))
        elif news.get("last_action") not in (None, last):
            last = news["last_action"]
            show(rows_view(progress_row(news)))

    return print_it


COMMANDS = (
    Command(
        "work",
        "Day by day",
        "have the queue worked on here, and show what happens",
        "Have Claude Code run the queued tasks, one after another, and show what happens.\n"
        "Only one process works on a project; a second one waits and takes over.",
        _work_arguments,
        work,
        prints_data=False,
    ),
    Command(
        "serve",
        "Day by day",
        "serve Claude Desktop, which starts this by itself",
        "Serve Claude Desktop over stdin and stdout, and work on the queue meanwhile.\n"
        "Claude Desktop starts this by itself; on a terminal use `loop work`.",
        lambda parser: None,
        serve,
        prints_data=False,
    ),
)
