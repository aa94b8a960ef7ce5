"""Pausing and resuming the queue: a file that any process may write."""

from __future__ import annotations

from datetime import datetime, timedelta

import msgspec

from loop.core.event import Actor, QueuePaused, QueueResumed
from loop.store.journal import transition
from loop.store.paths import Project
from loop.store.project_files import Pause, read_pause

#: How long the worker waits before it tries again, when nobody said how long a limit lasts.
_WAITS = tuple(timedelta(minutes=m) for m in (1, 2, 5, 10, 20, 30, 60))


def pause(project: Project, by: Actor, reason: str, now: datetime) -> Pause:
    """Pauses the queue for a person; a pause of a person that is in force stays as it is."""
    with transition(project) as t:
        current = read_pause(project)
        if current is not None and current.by != "worker":
            return current
        wanted = Pause(by="user" if by == "user" else "architect", reason=reason, since=now)
        t.put(project.paused, msgspec.to_builtins(wanted))
        t.append(QueuePaused(ts=now, actor=by, reason=reason, kind=wanted.kind))
    return wanted


def pause_for(
    project: Project, kind: str, reason: str, until: datetime | None, now: datetime
) -> Pause | None:
    """Pauses the queue for what is missing on this machine; one event an episode.

    A pause that is in force stays: None then.
    """
    with transition(project) as t:
        current = read_pause(project)
        if current is not None and (current.by != "worker" or current.kind == kind):
            return None
        wanted = Pause(by="worker", reason=reason, since=now, until=until, kind=kind)
        t.put(project.paused, msgspec.to_builtins(wanted))
        t.append(QueuePaused(ts=now, actor="builder", reason=reason, kind=kind, until=until))
    return wanted


def next_probe(
    project: Project, kind: str, reason: str, until: datetime | None, now: datetime
) -> Pause:
    """The pause after a run that met a limit: until its end if that is known, else growing waits.

    A pause of a person that is in force stays.
    """
    current = read_pause(project)
    if current is not None and current.by != "worker":
        return current
    tries = current.tries + 1 if current is not None and current.kind == kind else 0
    wait = _WAITS[min(tries, len(_WAITS) - 1)]
    if until is None or until <= now:
        until = now + wait
    since = current.since if current is not None and tries else now
    return Pause(by="worker", reason=reason, since=since, until=until, kind=kind, tries=tries)


def resume(project: Project, actor: Actor, now: datetime, reason: str | None = None) -> bool:
    """Lifts the pause in force; False when there was none. The worker lifts only its own."""
    with transition(project) as t:
        current = read_pause(project)
        if current is None or (actor == "builder" and current.by != "worker"):
            return False
        t.append(QueueResumed(ts=now, actor=actor, reason=reason))
        t.remove(project.paused)
    return True
