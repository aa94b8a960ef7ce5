from __future__ import annotations

from datetime import datetime, timedelta

import msgspec
import pytest

from loop.core import transition as rules
from loop.core.task import encode
from loop.store import queue, timeline
from loop.store.paths import Project
from loop.store.pauses import next_probe, pause, pause_for, resume
from loop.store.project_files import read_pause
from tests.tasks import claim, submit


def told(project: Project) -> list[str]:
    return [event["event"] for event in timeline.read_from(project.timeline, 0)[0]]


def test_pausing_and_resuming_are_told_once_each(project: Project, now: datetime) -> None:
    first = pause(project, "user", "lunch", now)
    assert pause(project, "architect", "other", now) == first
    assert read_pause(project) == first
    assert resume(project, "user", now)
    assert not resume(project, "user", now)
    assert read_pause(project) is None
    assert told(project) == ["queue_paused", "queue_resumed"]


def test_what_is_missing_pauses_with_one_event_an_episode(project: Project, now: datetime) -> None:
    assert pause_for(project, "no_claude", "not found", None, now) is not None
    assert pause_for(project, "no_claude", "not found", None, now) is None
    assert pause_for(project, "no_git", "not found", None, now) is not None
    assert told(project) == ["queue_paused", "queue_paused"]


def test_the_worker_neither_replaces_nor_lifts_the_pause_of_a_person(
    project: Project, now: datetime
) -> None:
    held = pause(project, "user", "lunch", now)
    assert pause_for(project, "login", "expired", None, now) is None
    assert next_probe(project, "login", "expired", None, now) == held
    assert not resume(project, "builder", now)
    assert read_pause(project) == held


def test_a_person_who_pauses_at_the_moment_a_run_meets_a_limit_keeps_the_pause(
    project: Project, now: datetime
) -> None:
    task = claim(project, submit(project, now), now)
    probe = next_probe(project, "login", "expired", None, now)
    pause(project, "user", "lunch", now)
    event = rules.paused(task, "login", "expired", probe.until, now, tries=0)
    queue.give_back(project, task, event, retry=False, note=None, pause=probe)
    current = read_pause(project)
    assert current is not None
    assert (current.by, current.reason) == ("user", "lunch")


def test_a_person_takes_over_a_pause_of_the_worker(project: Project, now: datetime) -> None:
    pause_for(project, "login", "expired", None, now)
    pause(project, "user", "lunch", now)
    current = read_pause(project)
    assert current is not None
    assert current.by == "user"


def test_waits_grow_until_the_limit_s_own_end_is_known(project: Project, now: datetime) -> None:
    waits = []
    moment = now
    for _ in range(9):
        probe = next_probe(project, "overload", "r", None, moment)
        assert probe.until is not None
        waits.append(probe.until - moment)
        moment = probe.until
        project.paused.write_bytes(encode(msgspec.to_builtins(probe)))
    assert waits == sorted(waits)
    assert waits[0] == timedelta(minutes=1)
    assert waits[-1] == timedelta(hours=1)
    known = next_probe(project, "usage_limit", "r", moment + timedelta(hours=3), moment)
    assert (known.until, known.tries) == (moment + timedelta(hours=3), 0)
    past = next_probe(project, "usage_limit", "r", moment - timedelta(hours=3), moment)
    assert past.until is not None
    assert past.until > moment


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"by": "cat"}', b"\xff"])
def test_a_damaged_file_is_a_pause_that_a_person_can_lift(
    project: Project, now: datetime, data: bytes
) -> None:
    project.paused.write_bytes(data)
    current = read_pause(project)
    assert current is not None
    assert current.by == "user"
    assert not resume(project, "builder", now)
    assert resume(project, "user", now)
    assert read_pause(project) is None


def test_a_file_of_a_windows_editor_is_understood(project: Project) -> None:
    text = b'\xef\xbb\xbf{"by":"user","reason":"lunch","since":"2026-07-23T10:00:00Z"}\r\n'
    project.paused.write_bytes(text)
    current = read_pause(project)
    assert current is not None
    assert current.reason == "lunch"
