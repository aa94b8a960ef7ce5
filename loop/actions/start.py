"""Starting a run: claim, snapshot, prompt. Everything but the spawn itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from loop.actions.before import left_words, with_baseline, with_snapshot
from loop.actions.context import prompt_context
from loop.actions.ready import Ready
from loop.actions.recover import void
from loop.builder.command import arguments, environment
from loop.builder.permissions import settings_for
from loop.builder.prepare import launcher_command, write_run_files
from loop.builder.role import role_text
from loop.builder.session import is_alive
from loop.builder.sessions import session_to_resume
from loop.core.graph import Graph
from loop.core.prompt import compose
from loop.core.rule_set import ROLES
from loop.core.rules import rule_path
from loop.core.task import Task
from loop.core.transition import new_run, paused
from loop.errors import NotReady
from loop.store import queue
from loop.store.paths import Project
from loop.store.project_files import Pause
from loop.store.scan import locate
from loop.templates import template


@dataclass(frozen=True, slots=True)
class Prepared:
    """A run that only needs to be spawned, in the project's folder."""

    task: Task
    command: list[str]
    env: dict[str, str]


def claim(
    project: Project, task_id: str, env: Mapping[str, str], uuid: str, now: datetime
) -> Task | None:
    """Takes a queued task for a run; None when it is no longer queued."""
    located = locate(project, task_id, now)
    if located.state != "queued":
        return None
    session = session_to_resume(located.task, env) or uuid
    run = new_run(located.task, uuid, now, session=session)
    return queue.claim(project, task_id, run, now, alone=True, alive=is_alive)


def unclaim(project: Project, task: Task, problem: NotReady, now: datetime) -> bool:
    """Puts a claimed task back that can't be launched now, and pauses the queue.

    Its run never was: it counts neither as a run nor as an attempt. False when it was launched
    after all, or its cancel was asked.
    """
    if not void(project, task, None, str(problem)):
        return False
    event = paused(task, problem.kind, str(problem), problem.until, now, tries=0)
    pause = Pause(
        by="worker", reason=str(problem), since=now, until=problem.until, kind=problem.kind
    )
    note = task.note_to_run
    return queue.give_back(
        project, task, event, retry=False, note=note, pause=pause, launched=False
    )


def prepare(
    project: Project,
    task: Task,
    ready: Ready,
    env: Mapping[str, str],
    graph: Graph | None = None,
) -> Prepared:
    """Takes the snapshot before the run and writes its files; bears repetition.

    `graph` is that of the queued tasks; None: they are looked at.
    """
    task = with_snapshot(project, task, ready.config.checkpoint.max_file_mb)
    task = with_baseline(project, task, ready.config, env)
    run = task.runs[-1]
    resume = run.session is not None and run.session != run.uuid
    argv = arguments(
        ready.claude,
        task,
        run,
        ready.config,
        settings=_settings(project, task, ready),
        role=_role(project, task),
        resume=resume,
    )
    context = prompt_context(project, task, ready.config, run.started, graph)
    prompt = compose(
        task,
        project=project.name,
        continued=resume,
        context=context,
        left=left_words(project, task),
        prefix=ready.config.commit_prefix,
    )
    launch = write_run_files(project, task, run, ready.config, argv=argv, prompt=prompt)
    builder_env = environment(env, project, task, run, ready.config, ready.claude)
    return Prepared(task, launcher_command(launch), builder_env)


def _role(project: Project, task: Task) -> str:
    """What every Builder is told of its part, and the role that the task gives it."""
    return f"{template('roles/builder.md')} {role_text(project, task.role)[0]}"


def _settings(project: Project, task: Task, ready: Ready) -> Path:
    """The approved rules, or what of them is left for the task's role."""
    role = (task.role or "").strip().lower()
    if role not in ROLES:
        return ready.settings
    return settings_for(ready.settings, rule_path(project.root), role)
