"""The process: server and worker together, or the worker alone, from start to end.

Ending is crash-only: nothing needs to be tidied up, since every step is on disk and a run goes on
under its shim. So the process leaves within a bound whatever its threads are doing.
"""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import sys
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from loop.actions.progress import ProgressReader
from loop.errors import LoopError, NotFound
from loop.service.notify import Notifier
from loop.service.wakeups import Wakeups
from loop.service.watcher import Watcher
from loop.service.worker import Worker, WorkerOptions, utc_now
from loop.store import timeline
from loop.store.crash import write_crash
from loop.store.paths import Project
from loop.store.project_files import load_config
from loop.store.scan import locate

#: Seconds that the end may take; a client waits 2 s before it kills.
_LEAVE_S = 1.0
#: Seconds before a worker that died of a defect is started again.
_AGAIN_S = 5.0

Show = Callable[[dict[str, Any]], None]


@dataclass(frozen=True, slots=True)
class _Parts:
    """What runs in this process besides the server."""

    project: Project
    wakeups: Wakeups
    watcher: Watcher
    worker: Worker
    notifier: Notifier

    async def work_and_tell(self) -> None:
        """Runs the worker until it is through; what is due then is sent before the end."""
        await self.run_worker()
        await self.notifier.flush()

    async def run_worker(self) -> None:
        """Runs the worker; a defect is written down, and the worker begins anew."""
        while True:
            task = asyncio.create_task(self.worker.run(), name="worker")
            await asyncio.wait({task})
            error = None if task.cancelled() else task.exception()
            if error is None:
                return
            self.worker.trouble = f"the worker met a defect; details in {write_crash(error)}"
            sys.stderr.write(f"loop: {self.worker.trouble}\n")
            await asyncio.sleep(_AGAIN_S)


def _parts(project: Project, options: WorkerOptions) -> _Parts:
    wakeups = Wakeups()
    watcher = Watcher(project, wakeups)
    worker = Worker(project, wakeups, os.environ, options, watcher=watcher)
    notifier = Notifier(project, wakeups, os.environ, lambda: worker.is_owner)
    return _Parts(project, wakeups, watcher, worker, notifier)


def serve(project: Project, name: str) -> int:
    """Serves the Architect over stdio until stdin ends or a signal comes. Does not return.

    Inside a Builder's run (LOOP_RUN is set) only tools that change nothing are offered and no
    worker works: a Builder can't queue for itself.
    """
    asyncio.run(_serve(project, name))
    return 0


async def _serve(project: Project, name: str) -> None:
    gc.disable()  # thousands of classes of the protocol's library come now, and none is garbage
    from loop.service.server import build, serve_stdio
    from loop.service.tools.toolbox import Toolbox

    gc.freeze()
    gc.enable()
    inside_run = "LOOP_RUN" in os.environ
    parts = _parts(project, WorkerOptions(driver="serve"))
    toolbox = Toolbox(project, parts.wakeups, os.environ, lambda: parts.worker.trouble)
    server = build(project, toolbox, name, read_only=inside_run)
    side = [] if inside_run else [
        parts.watcher.run(), parts.run_worker(), parts.notifier.run(),
    ]  # fmt: skip
    await _until_over(parts, serve_stdio(server), side)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)  # threads of a step that is under way would hold up the end


def work(project: Project, options: WorkerOptions, show: Show | None) -> int:
    """Works the queue until it is drained (if that was asked) or a signal comes: 130 then.

    `show` is called with each event of the timeline, and with the progress of a run.
    """
    return asyncio.run(_work(project, options, show))


async def _work(project: Project, options: WorkerOptions, show: Show | None) -> int:
    parts = _parts(project, options)
    side = [parts.watcher.run(), parts.notifier.run()]
    if show is not None:
        side.append(_narrate(parts, show))
    interrupted = await _until_over(parts, parts.work_and_tell(), side)
    if not interrupted:
        return 0
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(130)


async def _until_over(
    parts: _Parts, main: Coroutine[Any, Any, None], side: list[Coroutine[Any, Any, None]]
) -> bool:
    """Runs until `main` ends or a signal comes; whether it was a signal."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for signum in (signal.SIGTERM, signal.SIGINT):
        with suppress(NotImplementedError):  # Windows has no such handlers
            loop.add_signal_handler(signum, stop.set)
    main_task = asyncio.create_task(main, name="main")
    tasks = [asyncio.create_task(part, name="side") for part in side]
    stopped = asyncio.create_task(stop.wait(), name="stop")
    await asyncio.wait({main_task, stopped}, return_when=asyncio.FIRST_COMPLETED)
    parts.watcher.end()
    # On threads, and before their tasks are over: they wait for the state lock or for an answer.
    last = [
        asyncio.create_task(asyncio.to_thread(_stop_run_if_asked, parts), name="stop run"),
        asyncio.create_task(asyncio.to_thread(parts.notifier.leave, _LEAVE_S / 2), name="leave"),
    ]
    await asyncio.wait(last, timeout=_LEAVE_S / 2)
    for task in (*tasks, stopped, main_task):
        task.cancel()
    await asyncio.wait({*tasks, stopped}, timeout=_LEAVE_S / 2)
    if main_task.done() and not main_task.cancelled() and (error := main_task.exception()):
        raise error
    return stop.is_set()


def _stop_run_if_asked(parts: _Parts) -> None:
    with suppress(LoopError, OSError):
        if load_config(parts.project).on_shutdown == "stop":
            parts.worker.stop_run()


async def _narrate(parts: _Parts, show: Show) -> None:
    """Tells what happens, as it happens."""
    project = parts.project
    offset = timeline.size_of(project.timeline)
    reader = ProgressReader(project)
    running: str | None = None
    trouble: str | None = None
    with parts.wakeups.subscribe() as wakeup:
        while True:
            events, offset = timeline.read_from(project.timeline, offset)
            for event in events:
                show(event)
                match event["event"]:
                    case "run_started" | "run_recovered":
                        running = str(event["task_id"])
                    case "run_completed" | "queue_paused":
                        running = None
            if running is not None:
                with suppress(NotFound):  # its file was removed by hand; the worker says so
                    located = locate(project, running, utc_now())
                    if located.state == "running":
                        progress = reader.progress(located.task, utc_now())
                        show({"event": "progress", "task_id": running, **progress})
            if parts.worker.trouble != trouble:
                trouble = parts.worker.trouble
                if trouble:
                    show({"event": "trouble", "reason": trouble})
            await wakeup.wait(1.0)
