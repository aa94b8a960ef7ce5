"""After a result: running a task again, or putting a question to the person."""

from __future__ import annotations

from datetime import datetime

from loop.core.checks import clean_text
from loop.core.event import Actor, EscalatedToUser
from loop.core.task import Task, TaskFields
from loop.errors import BadInput, WrongState
from loop.store import queue
from loop.store.dependencies import graph_of, queued_below
from loop.store.paths import Project
from loop.store.project_files import load_config
from loop.store.scan import locate


def requeue(
    project: Project,
    task_id: str,
    changes: TaskFields,
    guidance: str | None,
    actor: Actor,
    now: datetime,
    *,
    fresh: bool,
    from_user: bool,
) -> Task:
    """Lets a settled task run again: `guidance` answers its question or corrects it.

    `from_user`: the person has had a say, so the count of requeues begins anew.

    Raises:
        NotFound: no such task.
        WrongState: it is not settled, or was requeued too often without the person.
        BadInput: a field is wrong.
    """
    clean_text(guidance or "", "guidance")
    # the bound holds for the Architect alone: a person is not kept by a broken config.json
    most = 0 if from_user else load_config(project).escalation.max_requeues
    try:
        return queue.requeue(
            project,
            task_id,
            changes,
            guidance,
            actor,
            now,
            fresh=fresh,
            from_user=from_user,
            max_requeues=most,
        )
    except WrongState:
        task = locate(project, task_id, now).task
        standing = graph_of(project, queued_below(project, task, now), now).standing(task.id)
        if standing.state != "blocked" or standing.cause is None:
            raise
        raise WrongState(
            f"task {task.id} waits, blocked by {standing.cause}: requeue_task {standing.cause} "
            f"instead; its success frees {task.id}"
        ) from None


def escalate(
    project: Project, task_id: str, question: str, options: list[str], now: datetime
) -> str:
    """Records that a question goes to the person; the words to put to them.

    Raises:
        NotFound: no such task.
        BadInput: the question is empty.
    """
    if not question.strip():
        raise BadInput("question", "is required: what must the person decide?")
    clean_text([question, *options], "question")
    task = locate(project, task_id, now).task
    queue.note_event(
        project,
        EscalatedToUser(
            ts=now, actor="architect", task_id=task.id, question=question, options=options
        ),
    )
    lines = [question.strip(), *(f"{n}. {option}" for n, option in enumerate(options, 1))]
    return "\n".join(lines)
