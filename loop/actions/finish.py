"""Ending a run: judge it, keep what it changed, and write down what became of the task.

Every step bears repetition, so a worker that takes over begins again from the top:
snapshot, checkpoint, then ONE transition (result, timeline, removal; or back to the queue).
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

import msgspec

from loop.actions.in_session import checked_in_session, says_its_end
from loop.actions.verification import Verification, commands_of, verify
from loop.actions.work import Work, keep, what_changed
from loop.builder.judge import ending_of, exit_time
from loop.builder.prepare import config_of_run
from loop.builder.role import role_text
from loop.builder.sessions import cost_before
from loop.builder.stream import offset_of
from loop.builder.verify import end_bearers
from loop.core import transition as rules
from loop.core.config import Config
from loop.core.event import CheckpointSkipped, Event
from loop.core.last_attempt import broken_off, how_it_ended
from loop.core.outcome import Ending, Outcome, classify, retry_follows
from loop.core.result import FileChange, Result, Snapshot
from loop.core.split import parts_of, split_task
from loop.core.task import Run, Task
from loop.errors import BadInput
from loop.git.command import GitError, Repository, repository_of
from loop.store import queue
from loop.store.logs import cap_log
from loop.store.paths import Project
from loop.store.pauses import next_probe
from loop.store.progress import Handoff, handoff
from loop.store.run_files import cancel_reason
from loop.store.splits import split

_SAID_CHARACTERS = 2000
#: What a person does about a pause that does not end by itself.
_MENDS = {
    "login": "; run `claude` in a terminal and `/login`, then `loop resume` (an API key in the "
    "environment counts only with builder.inherit_api_key)",
    "credit": "; add credit to the account, then `loop resume`",
}


@dataclass(frozen=True, slots=True)
class Finished:
    """What became of the task. `result` is None when it went back to the queue."""

    task_id: str
    outcome: Outcome
    result: Result | None


def finish(
    project: Project,
    task: Task,
    config: Config,
    now: datetime,
    told: Callable[[], None] | None = None,
) -> Finished:
    """Ends the run of a running task whose processes are gone.

    The settings under which it was started count; `config` are those for one that never was.
    `told` is called once a result can be read, before what is left of the run is removed.
    """
    run = task.runs[-1]
    _make_exit_known(project, task)
    config = config_of_run(project, task) or config
    if task.acceptance or commands_of(config):
        end_bearers(run.uuid)  # what a worker that died in the middle of this had started
    repository = repository_of(project.root) if run.before else None
    seen = what_changed(project, repository, task, config)
    task = rules.end_run(task, after=seen.taken.commit if seen.taken else None)
    changed = None if seen.taken is None else tuple(line.path for line in seen.lines)
    ending = ending_of(project, task, run, config, changed)
    whole = tuple(line.path for line in seen.whole)
    ending = dataclasses.replace(ending, unseen=seen.unseen, changed_earlier=whole)
    outcome, parts = _parts(task, classify(ending), now)
    checks = Verification()
    if outcome.status == "success":
        # What the whole must pass is for the last of its parts.
        checked = msgspec.structs.replace(task, acceptance=[]) if parts else task
        checks = _verified(project, repository, checked, config)
        verdict = checks.verdict
        if checks.stopped:
            outcome = classify(dataclasses.replace(ending, ended_by="cancelled"))
        elif verdict is not None and verdict.failed:
            outcome = classify(dataclasses.replace(ending, red_after_green=verdict.words))
    named = _named(project, outcome)
    cut_off = outcome.status == "paused" or outcome.reason in ("interrupted", "api_error")
    half_done = run.driver == "session" and cut_off
    work = keep(project, repository, task, config, seen, named, now, half_done=half_done)
    task = _recorded(project, task, outcome, ending, work, now)
    first = _skipped(task, work, now)
    if outcome.status == "paused" and _pause(project, task, outcome, first, now):
        return Finished(task.id, outcome, None)
    result = _result(project, task, outcome, work, checks, now)
    entry = handoff(task, result, outcome.report)
    if _goes_on(project, task, _Judged(ending, outcome, parts, work), entry, config, now):
        return Finished(task.id, outcome, None)
    if parts and outcome.status == "success":
        # Its cancel came while it was judged, and most of its work is still to be done.
        outcome = classify(dataclasses.replace(ending, ended_by="cancelled"))
    result = _result(project, task, outcome, work, checks, now)  # its cancel may just have come
    entry = handoff(task, result, outcome.report)
    lines = config.progress.max_lines
    result = queue.settle(project, task, result, now, told, first, entry, lines)
    cap_log(project.log(task.id))
    if repository is not None:
        from loop.actions.pruning import prune

        with suppress(GitError):
            prune(project, repository, config.checkpoint.keep_days, now, but=task.id)
    return Finished(task.id, outcome, result)


@dataclass(frozen=True, slots=True)
class _Judged:
    """A run that was judged, and what it left."""

    ending: Ending
    outcome: Outcome
    #: the subtasks into which its report splits the task
    parts: list[Task]
    work: Work


def _goes_on(
    project: Project, task: Task, run: _Judged, entry: Handoff, config: Config, now: datetime
) -> bool:
    """Puts the task back for another attempt, or as the parent of its parts, where that follows.

    False where nothing follows, or its cancel was asked meanwhile.
    """
    outcome, parts, commit = run.outcome, run.parts, run.work.commit
    first, max_lines = _skipped(task, run.work, now), config.progress.max_lines
    if _retries(task, outcome, config):
        return queue.give_back(
            project,
            task,
            rules.retried(task, outcome.reason, commit, now),
            retry=True,
            note=how_it_ended(run.ending, outcome),
            first=first,
            handoff=dataclasses.replace(entry, status=f"{entry.status}, tried again"),
            max_lines=max_lines,
        )
    if not parts or outcome.status != "success":
        return False
    notes = outcome.report.notes if outcome.report else None
    into = dataclasses.replace(entry, status=f"split into {', '.join(part.id for part in parts)}")
    events = [*first, rules.split(task, commit, now)]
    return split(project, split_task(task, parts, notes), parts, events, into, max_lines, now)


def _make_exit_known(project: Project, task: Task) -> None:
    if task.runs[-1].driver == "session" and says_its_end(project, task):
        return
    from loop.actions.recover import stand_in_for_shim  # all that a hook has no use for

    stand_in_for_shim(project, task)


def _parts(task: Task, outcome: Outcome, now: datetime) -> tuple[Outcome, list[Task]]:
    """The subtasks into which the Builder's report splits its task, and what that makes of it."""
    if outcome.status != "success" or outcome.report is None:
        return outcome, []
    try:
        return outcome, parts_of(task, outcome.report.subtasks, now)
    except BadInput as error:
        summary = f"The report splits the task, which can't be done: {error}"
        failed = dataclasses.replace(outcome, status="failure", reason="bad_split", summary=summary)
        return failed, []


def _verified(
    project: Project, repository: Repository | None, task: Task, config: Config
) -> Verification:
    after = task.runs[-1].after
    if task.runs[-1].driver == "session":
        return checked_in_session(project, repository, task, after)
    from loop.builder.command import verification_environment

    env = verification_environment(os.environ, project, task)

    def unwanted() -> bool:
        return cancel_reason(project, task.id) == "cancelled"

    return verify(project, repository, task, after, config, env, unwanted)


def _named(project: Project, outcome: Outcome) -> tuple[str, ...]:
    """The files that the Builder says are its work, relative to the project."""
    claimed = outcome.report.files_changed if outcome.report else []
    return tuple(name.removeprefix(f"{project.root}/").removeprefix("./") for name in claimed)


def _recorded(
    project: Project, task: Task, outcome: Outcome, ending: Ending, work: Work, now: datetime
) -> Task:
    run = task.runs[-1]
    transcript = ending.transcript
    session = transcript.session_id or run.session
    task = rules.end_run(task, session=session)
    cost = transcript.ended.session_cost_usd if transcript.ended else None
    if cost is not None and session is not None:
        cost = max(0.0, round(cost - cost_before(task.runs, session), 6))
    elif not transcript.lines and offset_of(project.log(task.id), run.uuid) is not None:
        cost = 0.0  # its first line comes before it asks the API for anything
    turns = transcript.ended.turns if transcript.ended else None
    return rules.end_run(
        task,
        ended=exit_time(project, task, run) or now,
        status=outcome.status,
        reason=outcome.reason,
        said=(outcome.remarks or outcome.summary)[:_SAID_CHARACTERS],
        cost=cost,
        turns=turns if turns is not None else transcript.replies or None,
        commits=work.commits,
        warnings=work.warnings(),
    )


def _skipped(task: Task, work: Work, now: datetime) -> list[Event]:
    reason = work.checkpoint.skipped if work.checkpoint else None
    if reason is None:
        return []
    event = CheckpointSkipped(ts=now, actor="builder", task_id=task.id, run=task.run, reason=reason)
    return [event]


def _retries(task: Task, outcome: Outcome, config: Config) -> bool:
    run = task.runs[-1]
    earlier = [r for r in task.runs[:-1] if r.attempt == run.attempt - 1 and r.status != "paused"]
    last_reason = earlier[-1].reason if earlier and run.attempt > 1 else None
    most = task.max_attempts or config.limits.max_attempts
    return not outcome.permanent and retry_follows(outcome.reason, run.attempt, most, last_reason)


def _pause(
    project: Project, task: Task, outcome: Outcome, first: list[Event], now: datetime
) -> bool:
    kind = outcome.reason
    why = f"{kind.replace('_', ' ')}: {outcome.summary}{_MENDS.get(kind, '')}"
    pause = next_probe(project, kind, why, outcome.until, now)
    event = rules.paused(task, kind, why, pause.until, now, tries=pause.tries)
    cut_off = "Your last run was cut off by a limit of the account; go on where it stopped."
    note = cut_off if task.runs[-1].turns else None
    if task.runs[-1].driver == "session":
        note = broken_off(f"{kind.replace('_', ' ')} ({outcome.summary})")
    return queue.give_back(project, task, event, retry=False, note=note, pause=pause, first=first)


def _result(
    project: Project,
    task: Task,
    outcome: Outcome,
    work: Work,
    checks: Verification,
    now: datetime,
) -> Result:
    verdict = checks.verdict
    run = task.runs[-1]
    costs = [r.cost for r in task.runs]
    report = outcome.report
    status = outcome.status if outcome.status != "paused" else "failure"
    asked = cancel_reason(project, task.id) == "cancelled"
    cut_off = outcome.status == "paused" or (outcome.reason == "interrupted" and asked)
    return Result(
        task_id=task.id,
        status=status,
        reason="cancelled" if cut_off else outcome.reason,
        summary=outcome.summary,
        remarks=outcome.remarks,
        completed_at=now,
        commit_hash=work.commit,
        log_path=_log_path(project, task),
        warnings=[
            *outcome.warnings,
            *checks.warnings,
            *_untold(task.runs),
            *_role_warning(project, task),
            *_split_warning(outcome),
        ],
        runs=len(task.runs),
        duration_s=_duration_s(task.runs),
        cost_usd=None if None in costs else round(sum(c or 0 for c in costs), 6),
        turns=sum(r.turns or 0 for r in task.runs),
        session_id=run.session,
        files_changed=[FileChange(line.path, line.added, line.removed) for line in work.lines],
        commits=list(dict.fromkeys(commit for r in task.runs for commit in r.commits)),
        snapshot=Snapshot(run.before, work.taken.commit if work.taken else None),
        permission_denials=list(outcome.denials),
        notes=report.notes if report else None,
        verification=verdict.data() if verdict else None,
        task={},
    )


def _log_path(project: Project, task: Task) -> str | None:
    """Where the stream of the task's runs is; None when all of them were an interactive session's.

    Claude Code keeps the transcript of those itself.
    """
    if all(run.driver == "session" for run in task.runs):
        return None
    return project.log(task.id).relative_to(project.root).as_posix()


def _duration_s(runs: list[Run]) -> float:
    spans = [r.ended - r.started for r in runs if r.ended is not None]
    return max(0.0, round(sum(spans, timedelta()).total_seconds(), 1))


def _untold(runs: list[Run]) -> list[str]:
    """The warnings of the last run, and of those before it that ended without a result."""
    found: list[str] = []
    for run, earlier in zip(runs, [None, *runs], strict=False):
        if earlier is not None and run.attempt == 1 and earlier.status != "paused":
            found = []
        found += run.warnings
    return list(dict.fromkeys(found))


def _role_warning(project: Project, task: Task) -> list[str]:
    warning = role_text(project, task.role)[1] if task.role else None
    return [warning] if warning else []


def _split_warning(outcome: Outcome) -> list[str]:
    """A split ends in no result; where there is one, none of the subtasks was one."""
    if outcome.status != "success" or outcome.report is None or not outcome.report.subtasks:
        return []
    return ["the Builder wanted to split this task, but its subtasks say nothing that can be done"]
