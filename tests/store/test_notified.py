"""How far a service was told: over cuts, rotations and a first start."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from loop.core.event import NotificationFailed, QueueResumed
from loop.store import notified, queue, timeline
from loop.store.notified import Place
from loop.store.paths import Project

_T0 = datetime(2026, 7, 23, 10, 0, tzinfo=UTC)


def tell(project: Project, *numbers: int) -> None:
    """Events that bear a number."""
    for number in numbers:
        at = _T0 + timedelta(seconds=number)
        queue.note_event(project, QueueResumed(ts=at, actor="user", reason=str(number)))


def read(project: Project) -> list[str]:
    """What is new, which is then no longer so."""
    place = notified.begin(project, "s")
    events, behind = notified.events_after(project, place)
    notified.put_place(project, "s", behind)
    return [event["reason"] for event in events]


def test_the_first_start_on_an_old_project_has_nothing_of_the_past(project: Project) -> None:
    tell(project, 1, 2)
    assert read(project) == []
    tell(project, 3)
    assert read(project) == ["3"]
    assert read(project) == []


def test_a_service_may_begin_where_the_process_did(project: Project) -> None:
    tell(project, 1)
    at = timeline.size_of(project.timeline)
    tell(project, 2)
    notified.begin(project, "s", at)
    assert read(project) == ["2"]


def test_a_timeline_that_was_rotated_is_read_from_its_beginning(project: Project) -> None:
    tell(project, 1)
    read(project)
    project.timeline.rename(project.logs / "old.jsonl")
    tell(project, *range(2, 9))  # longer than the old one
    assert read(project) == list("2345678")


def test_a_timeline_that_was_cut_tells_nothing_twice_and_forgets_nothing(project: Project) -> None:
    tell(project, 1, 2, 3, 4)
    notified.begin(project, "s", 0)
    assert read(project) == list("1234")
    lines = project.timeline.read_bytes().splitlines(keepends=True)
    project.timeline.write_bytes(b"".join(lines[2:]))  # the oldest are gone
    tell(project, 5)
    assert read(project) == ["5"]
    project.timeline.unlink()
    assert read(project) == []
    tell(project, 6)
    assert read(project) == ["6"]


def test_a_half_line_is_waited_for(project: Project) -> None:
    tell(project, 1)
    read(project)
    whole = project.timeline.read_bytes()
    line = whole.replace(b'"1"', b'"2"').replace(b"10:00:01", b"10:00:02")
    project.timeline.write_bytes(whole + line[:20])
    assert read(project) == []
    project.timeline.write_bytes(whole + line)
    assert read(project) == ["2"]


def test_a_damaged_file_is_a_first_start(project: Project) -> None:
    tell(project, 1)
    read(project)
    (project.notified / "s.json").write_bytes(b'{"off')
    tell(project, 2)
    assert read(project) == []


def test_only_one_holds_a_service_at_a_time(project: Project) -> None:
    with notified.only_sender(project, "s") as mine, notified.only_sender(project, "s") as again:
        assert (mine, again) == (True, False)
        with notified.only_sender(project, "other") as other:
            assert other
    with notified.only_sender(project, "s") as mine:
        assert mine


def test_a_failure_is_told_until_its_service_takes_something(project: Project) -> None:
    def failure() -> dict[str, Any] | None:
        return notified.last_failure(project)

    assert failure() is None
    for service in ("s", "forgotten"):
        notified.put_place(project, service, Place(offset=0))
        event = NotificationFailed(ts=_T0, actor="builder", service=service, reason="no")
        queue.note_event(project, event)
    tell(project, 1)
    notified.forget(project, "forgotten")
    told = failure()
    assert told is not None and (told["service"], told["reason"]) == ("s", "no")
    notified.put_place(project, "s", Place(offset=0, sent=_T0 - timedelta(1)))
    assert failure() is not None
    notified.put_place(project, "s", Place(offset=0, sent=_T0 + timedelta(1)))
    assert failure() is None
