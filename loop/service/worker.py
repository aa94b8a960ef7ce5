"""The worker: owns the queue of a project and has its tasks run, one after another.

Only the holder of the worker's lock works; the others try for it once a second and take over when
it is free. Everything that a dead worker left is dealt with before a new task is claimed, by the
table of core/recovery.py. Nothing here is remembered that can't be read from the folders again.
"""

from __future__ import annotations

import asyncio
import signal
import uuid
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime

import msgspec

from loop.actions.finish import Finished, finish
from loop.actions.held import lift_when_through
from loop.actions.put_back import KeptRun
from loop.actions.ready import MENDABLE, Ready, check_brought, check_place, missing, ready
from loop.actions.recover import (
    at_work,
    examine,
    running_ids,
    void,
    wake_shim,
)
from loop.actions.spending import Spending, over_budget
from loop.actions.start import claim, prepare, unclaim
from loop.actions.survey import Survey
from loop.builder.processes import signal_bearers
from loop.builder.session import is_alive
from loop.core.config import Config
from loop.core.event import RunRecovered
from loop.core.graph import Graph
from loop.core.recovery import Found
from loop.core.task import Task
from loop.errors import LoopError, NotReady
from loop.service.process_end import ProcessEnd
from loop.service.run import spawn, until_let_go, until_unlocked
from loop.service.wakeups import Wakeup, Wakeups
from loop.service.watcher import Watcher
from loop.store import pauses, queue
from loop.store.files import cannot_use, sweep_temporary
from loop.store.intake import clear_leftover, set_aside_running, take_in, waiting_misfit
from loop.store.locks import FileLock, is_locked
from loop.store.paths import Project
from loop.store.project_files import Pause, load_config, read_pause, this_process
from loop.store.run_files import cancel_reason
from loop.store.scan import QueueScan, QueueView
from loop.store.shift import living

#: Seconds between two tries for the worker's lock.
_TRY_S = 1.0
#: Seconds between two looks at a run that nothing tells of.
_LOOK_AGAIN_S = 0.2
#: Launches of one run that may be refused before it counts as one that could not start.
_MAX_REFUSALS = 3


def utc_now() -> datetime:
    """The time, in UTC."""
    return datetime.now(UTC)


def _in_words(error: LoopError | OSError) -> str:
    return str(cannot_use(error) if isinstance(error, OSError) else error)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerOptions:
    """How a worker works."""

    #: shown to people: `serve` or `work`
    driver: str = "serve"
    #: end when nothing can be run any more
    drain: bool = False
    #: end after so many results; None has no limit
    max_tasks: int | None = None
    #: seconds between two tasks
    cooldown_s: float = 0.0
    #: for tasks that name no model; None leaves it to the settings
    model: str | None = None


class Worker:
    """The one that has runs executed, or waits to become it."""

    def __init__(
        self,
        project: Project,
        wakeups: Wakeups,
        env: Mapping[str, str],
        options: WorkerOptions | None = None,
        *,
        watcher: Watcher | None = None,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self._project = project
        self._wakeups = wakeups
        self._env = env
        self._options = options or WorkerOptions()
        self._watcher = watcher
        self._now = now
        self._lock = FileLock(project.worker_lock)
        self._scan = QueueScan(project, now)
        self._survey = Survey(project, self._scan)
        self._spending = Spending(project)
        self._session_end = ProcessEnd(wakeups.wake)
        self._kept: KeptRun | None = None
        self._settled = 0
        self._refused: dict[str, int] = {}
        #: what keeps the worker from working; None while nothing does
        self.trouble: str | None = None
        self._since = now()
        self._signed: tuple[datetime, str | None] | None = None

    async def run(self) -> None:
        """Works until cancelled, or until the options say that it is enough."""
        try:
            with self._wakeups.subscribe() as wakeup:
                while not self._enough():
                    try:
                        await self._until_put_back()
                        await self._own()
                        if not await self._step(wakeup):
                            return
                        self.trouble = None
                    except (LoopError, OSError) as error:
                        self.trouble = _in_words(error)
                        # What was begun may have woken us by itself: never at once again.
                        await asyncio.sleep(_TRY_S)
                        await wakeup.wait(self._scan_s())
        finally:
            self._let_go()
            self._lock.release()

    def stop_run(self) -> None:
        """Has the run that goes on end, for `on_shutdown: stop`; does not wait for it."""
        if self._kept is not None and self._lock.held:
            queue.request_cancel(self._project, self._kept.task, "interrupted", None)
            wake_shim(self._project, self._kept.task)

    @property
    def is_owner(self) -> bool:
        """Whether this process is the one that has runs executed."""
        return self._lock.held

    async def _own(self) -> None:
        """Waits until this process is the owner; it deals with what the last one left."""
        await asyncio.to_thread(check_place, self._project)
        if self._lock.still_there():
            return
        self._lock.release()
        while not self._lock.try_acquire():
            self.trouble = None
            self._look_alive()
            await asyncio.sleep(_TRY_S)
        self._since = self._now()
        self._sign()
        self._wakeups.wake()
        for folder in self._project.folders():
            await asyncio.to_thread(sweep_temporary, folder)
        for task_id in running_ids(self._project):
            await self._note_found(task_id)

    def _sign(self) -> None:
        """Writes into the lock who holds it, for people."""
        events = self._watcher.trouble if self._watcher is not None else None
        if self._lock.held and (self._since, events) != self._signed:
            owner = this_process(self._options.driver, self._since, events)
            with suppress(OSError):  # a full disk: nothing depends on it
                self._lock.write(msgspec.json.encode(owner))
                self._signed = (self._since, events)

    def _look_alive(self) -> None:
        if self._watcher is not None:
            self._watcher.look_alive()
        self._sign()

    async def _note_found(self, task_id: str) -> None:
        now = self._now()
        found, task = await asyncio.to_thread(examine, self._project, task_id, now)
        if task is not None and found not in (Found.CLEAR, Found.HELD):
            event = RunRecovered(
                ts=now, actor="builder", task_id=task_id, run=task.run, found=found.value
            )
            await asyncio.to_thread(queue.note_event, self._project, event)

    async def _step(self, wakeup: Wakeup) -> bool:
        """Does the one thing that is due; False when a draining worker is through."""
        for task_id in running_ids(self._project):
            if self._kept is None or self._kept.task.id != task_id:
                await asyncio.to_thread(check_brought, self._project)
            await self._go_on(task_id, wakeup)
            return True
        self._let_go()
        if await self._leave_to_session(wakeup):
            return True
        self._look_alive()
        view = await asyncio.to_thread(self._look)
        hold_s = await self._try_claim(view)
        if hold_s is None:
            return True
        if self._options.drain and not waiting_misfit(view):
            return False
        await wakeup.wait(min(hold_s, self._scan_s()))
        return True

    async def _leave_to_session(self, wakeup: Wakeup) -> bool:
        """Waits while the queue is bound to an interactive session; whether it is.

        Woken when the binding changes and when the session's process ends.
        """
        shift = await asyncio.to_thread(living, self._project, is_alive)
        if shift is None:
            return False
        self._look_alive()
        self._session_end.watch(shift.pid, shift.start, shift.boot)
        await wakeup.wait(self._scan_s())
        return True

    def _look(self) -> QueueView:
        view = self._scan.look()
        if view.dropped or view.misfits:
            take_in(self._project, view, self._now())
            view = self._scan.look()
        return view

    async def _try_claim(self, view: QueueView) -> float | None:
        """Claims the next task; else the seconds after which to look again."""
        now = self._now()
        pause = read_pause(self._project)
        task, moved = await asyncio.to_thread(self._survey.look, view, now)
        if moved:
            self._wakeups.wake()
            return None
        if task is None:
            await self._lift_if_mended(pause, now)
            return self._scan_s()
        held_s = self._held_s(pause, now)
        if held_s:
            return held_s
        try:
            able = await asyncio.to_thread(ready, self._project, self._env)
            over = await asyncio.to_thread(over_budget, self._spending, task, able.config, now)
            if over is not None:
                raise NotReady("daily_budget", over[0], until=over[1])
        except NotReady as error:
            new = await asyncio.to_thread(
                pauses.pause_for, self._project, error.kind, str(error), error.until, now
            )
            if new is not None:  # else it is no news, and this worker would wake itself for ever
                self._wakeups.wake()
            return self._scan_s()
        if pause is not None and pause.kind in MENDABLE:
            await asyncio.to_thread(pauses.resume, self._project, "builder", now, "mended")
        if not self._lock.still_there():
            return 0.0
        run_uuid = str(uuid.uuid4())
        claimed = await asyncio.to_thread(claim, self._project, task.id, self._env, run_uuid, now)
        if claimed is None:
            self._survey.forget()
            await asyncio.to_thread(clear_leftover, self._project, task.id, now)
        self._wakeups.wake()
        return None

    def _held_s(self, pause: Pause | None, now: datetime) -> float:
        """Seconds for which nothing may be claimed; 0 when something may."""
        if is_locked(self._project.slot_lock):
            return _TRY_S
        if pause is None or (pause.by == "worker" and pause.kind in MENDABLE):
            return 0.0
        if pause.by != "worker" or pause.until is None:
            return self._scan_s()
        return max(0.0, (pause.until - now).total_seconds())

    async def _lift_if_mended(self, pause: Pause | None, now: datetime) -> None:
        """Lifts the worker's own pause when what was missing is there, though no task waits."""
        if pause is None or pause.kind not in MENDABLE:
            return
        if pause.until is not None and pause.until > now:
            return
        if await asyncio.to_thread(missing, self._project, self._env) is None:
            await asyncio.to_thread(pauses.resume, self._project, "builder", now, "mended")
            self._wakeups.wake()

    async def _go_on(self, task_id: str, wakeup: Wakeup) -> None:
        """Takes a task in running/ one step further."""
        now = self._now()
        found, task = await asyncio.to_thread(examine, self._project, task_id, now)
        if task is None and found is Found.WAIT:
            await until_unlocked(self._project.log(task_id))
            return
        if task is None:
            name = self._project.task_file(self._project.running, task_id).name
            reason = "the record of a run that can't be read"
            await asyncio.to_thread(set_aside_running, self._project, name, reason)
            return
        match found:
            case Found.LAUNCH:
                self._keep(task)
                await self._launch(task)
            case Found.WAIT:
                await self._wait(self._keep(task), wakeup)
            case Found.HELD:
                self._let_go()
                if not await self._leave_to_session(wakeup):  # a hook of its is still at work
                    await until_unlocked(self._project.shift_lock)
            case Found.CLEAR:
                self._let_go()
                await asyncio.to_thread(queue.clear_run, self._project, task_id)
            case _:
                self._keep(task)
                await self._finish(task)

    async def _launch(self, task: Task) -> None:
        reason = cancel_reason(self._project, task.id)
        if reason is not None:
            await asyncio.to_thread(void, self._project, task, reason)
            return
        try:
            able = await asyncio.to_thread(self._ready)
        except NotReady as error:
            await asyncio.to_thread(unclaim, self._project, task, error, self._now())
            self._wakeups.wake()
            return
        graph = await asyncio.to_thread(self._graph)
        prepared = await asyncio.to_thread(prepare, self._project, task, able, self._env, graph)
        code = await spawn(self._project, prepared)
        if code:
            await self._not_launched(task, code)

    def _graph(self) -> Graph:
        return self._survey.graph(self._scan.look(), self._now())

    async def _not_launched(self, task: Task, code: int) -> None:
        """The launcher gave no run: tries again a few times, then says so in a result."""
        run_uuid = task.runs[-1].uuid
        self._refused[run_uuid] = self._refused.get(run_uuid, 0) + 1
        if self._refused[run_uuid] < _MAX_REFUSALS:
            await asyncio.sleep(_TRY_S)
            return
        error = f"the launcher ended with {code}; .ai/logs has its .err file"
        await asyncio.to_thread(void, self._project, task, None, error)

    def _ready(self) -> Ready:
        able = ready(self._project, self._env)
        if self._options.model:
            builder = msgspec.structs.replace(able.config.builder, model=self._options.model)
            config = msgspec.structs.replace(able.config, builder=builder)
            return Ready(config, able.claude, able.settings)
        return able

    def _keep(self, task: Task) -> KeptRun:
        """Holds on to the run of a record, and lets go of any other."""
        if self._kept is not None and not self._kept.is_of(task):
            self._let_go()
        self._kept = self._kept or KeptRun(self._project, task)
        self._kept.task = task
        return self._kept

    def _let_go(self) -> None:
        if self._kept is not None:
            self._kept.close()
            self._kept = None

    async def _until_put_back(self) -> None:
        """Waits until the run at hand is where it was, if its folders were removed."""
        while self._kept is not None:
            if not self._kept.is_in_place():
                await until_let_go(self._kept)
            try:
                if await asyncio.to_thread(self._kept.put_back, self._now()):
                    return
                self.trouble = (
                    f"{self._project.ai} is gone: run `loop init` again; "
                    f"the result of task {self._kept.task.id} is kept until then"
                )
            except (LoopError, OSError) as error:
                self.trouble = _in_words(error)
            await asyncio.sleep(_TRY_S)

    async def _wait(self, run: KeptRun, wakeup: Wakeup) -> None:
        """Waits for the end of a run; a cancel that its shim was not told of is passed on.

        Where the shim is dead, it is carried out here.
        """
        task = run.task
        signum = signal.SIGTERM
        over = asyncio.ensure_future(self._over(run))
        try:
            while not over.done():
                self._look_alive()
                asked = cancel_reason(self._project, task.id) is not None
                if asked and not await asyncio.to_thread(wake_shim, self._project, task):
                    await asyncio.to_thread(signal_bearers, task.runs[-1].uuid, signum)
                    signum = getattr(signal, "SIGKILL", signal.SIGTERM)
                    await asyncio.wait({over}, timeout=_TRY_S)
                if self._survey.is_due:
                    await asyncio.to_thread(self._keep_up)
                woken = asyncio.ensure_future(wakeup.wait(self._scan_s()))
                await asyncio.wait({over, woken}, return_when=asyncio.FIRST_COMPLETED)
                woken.cancel()
            await over
        finally:
            over.cancel()

    def _keep_up(self) -> None:
        """While a run goes on: parents end, and blocks are told, that others have brought about.

        Trouble with the folders is no reason to let go of the run; the next look says what it is.
        """
        with suppress(LoopError, OSError):
            while self._survey.look(self._look(), self._now())[1]:
                pass

    async def _over(self, run: KeptRun) -> None:
        """Waits until nothing of a run is at work."""
        await until_let_go(run)
        while await asyncio.to_thread(at_work, self._project, run.task):
            await asyncio.sleep(_LOOK_AGAIN_S)
            await until_unlocked(self._project.log(run.task.id))

    async def _finish(self, task: Task) -> None:
        """Ends a run; not interrupted half-way by the end of the service."""
        loop = asyncio.get_running_loop()

        def told() -> None:
            with suppress(RuntimeError):  # the event loop has been closed meanwhile
                loop.call_soon_threadsafe(self._wakeups.wake)

        step = asyncio.to_thread(finish, self._project, task, self._config(), self._now(), told)
        finished = await asyncio.shield(asyncio.ensure_future(step))
        self._wakeups.wake()
        await self._after(finished)

    async def _after(self, finished: Finished) -> None:
        if finished.result is None:
            return
        self._let_go()
        self._settled += 1
        await asyncio.to_thread(lift_when_through, self._project, self._now())
        if self._options.cooldown_s and not self._enough():
            await asyncio.sleep(self._options.cooldown_s)

    def _enough(self) -> bool:
        most = self._options.max_tasks
        return most is not None and self._settled >= most

    def _config(self) -> Config:
        try:
            return load_config(self._project)
        except NotReady:
            return Config()

    def _scan_s(self) -> float:
        return self._config().scan_seconds
