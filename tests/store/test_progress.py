"""The handoff log: entries stay whole, none is lost, the log stays short."""

from __future__ import annotations

import multiprocessing
import os
import signal
from contextlib import suppress
from datetime import datetime
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

from loop.core import transition as rules
from loop.core.result import FileChange, Report, Result
from loop.core.task import Task
from loop.store import progress
from loop.store.journal import transition
from loop.store.paths import Project
from loop.store.progress import HEADER, Handoff, append, archive_of, entries_in, handoff
from tests.crashing import killed_before_change
from tests.tasks import claim, submit


def write(project: Project, task_id: str, max_lines: int = 100, **fields: Any) -> None:
    time = datetime(2026, 7, 23, 10)
    known: dict[str, Any] = {
        "session": "s",
        "run": 1,
        "time": time,
        "title": "T",
        "status": "success",
    }
    with transition(project) as t:
        append(t, Handoff(task_id=task_id, **(known | fields)), max_lines)


def ids_in(path: Path) -> list[str]:
    """The tasks of a log's entries; each must be whole."""
    entries = entries_in(path.read_bytes().decode("utf-8", "strict")) if path.exists() else []
    assert all(len(entry) == 8 for entry in entries), entries
    return [entry[2].split()[1] for entry in entries]


def ids_everywhere(project: Project) -> list[str]:
    return ids_in(archive_of(project)) + ids_in(project.progress)


def test_an_entry_stands_between_separators_below_the_header(project: Project) -> None:
    write(project, "42", next="Look at the cache", changes="[a.py] Added\nthe section")
    assert project.progress.read_text() == (
        f"{HEADER}\n===\nsession: s run 1\ntime: 2026-07-23T10:00:00Z\ntask: 42 T\n"
        "status: success\nchanges: [a.py] Added the section\nverification: none\n"
        "next: Look at the cache\nblockers: none\n===\n"
    )


def test_no_text_of_a_report_can_end_an_entry_or_steer_a_terminal(project: Project) -> None:
    write(project, "1", next="a\n===\nb\u2028===\x1b[2J", changes="===", title="=== \ud800")
    write(project, "2")
    assert ids_in(project.progress) == ["1", "2"]
    assert "\x1b" not in project.progress.read_text()


def test_a_log_that_grows_too_long_moves_whole_entries_and_keeps_its_header(
    project: Project,
) -> None:
    for n in range(1, 301):
        write(project, str(n), next="😀" * 600)
        lines = project.progress.read_text().splitlines()
        assert len(lines) <= 100
        assert lines[0] == HEADER
    assert ids_everywhere(project) == [str(n) for n in range(1, 301)]
    assert len(ids_in(project.progress)) >= 4


def test_the_newest_entry_stays_whole_even_where_no_entry_fits(project: Project) -> None:
    for n in range(1, 4):
        write(project, str(n), max_lines=1)
    assert (ids_in(archive_of(project)), ids_in(project.progress)) == (["1", "2"], ["3"])


def test_a_header_that_a_person_wrote_is_kept(project: Project) -> None:
    project.progress.write_text("My own words\nin two lines\n===\n")
    for n in range(1, 30):
        write(project, str(n), max_lines=30)
    assert project.progress.read_text().startswith("My own words\nin two lines\n===\n")
    assert ids_everywhere(project) == [str(n) for n in range(1, 30)]


@pytest.mark.parametrize("size", [0, 1, 60, 125])
def test_after_a_cut_entry_the_next_one_is_whole(project: Project, size: int) -> None:
    write(project, "1")
    data = project.progress.read_bytes()
    project.progress.write_bytes(data[: len(data) - size])
    write(project, "2")
    entries = entries_in(project.progress.read_text())
    assert len(entries[-1]) == 8 and entries[-1][2] == "task: 2 T"
    assert len(entries) == 2


@pytest.mark.parametrize(
    "damage",
    [
        b"no separator at all",
        b"\xff\xfe\x00 bytes\n===\n\xf0\x9f",
        b"===\n===\n\n===",
        b"\r\n===\r\nx\r\n",
    ],
)
def test_a_log_that_people_or_a_crash_damaged_takes_entries_as_ever(
    project: Project, damage: bytes
) -> None:
    project.progress.write_bytes(damage)
    for n in range(1, 20):
        write(project, str(n), max_lines=40)
    text = archive_of(project).read_text() + project.progress.read_text()
    whole = [entry[2] for entry in entries_in(text) if len(entry) == 8]
    assert whole == [f"task: {n} T" for n in range(1, 20)]
    words = damage.decode(errors="replace").replace("=", "").split()
    assert all(word in text for word in words)


def _write_many(root: Path, first: int, done: Connection | None, most: int) -> None:
    for n in range(first, first + most):
        write(Project(root), str(n), max_lines=40)
        if done is not None:
            done.send(n)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_no_entry_is_lost_or_cut_while_others_append_and_one_is_killed(project: Project) -> None:
    context = multiprocessing.get_context("fork")
    told, done = context.Pipe(duplex=False)
    firsts = (1000, 2000)
    writers = [
        context.Process(target=_write_many, args=(project.root, n, None, 40)) for n in firsts
    ]
    doomed = context.Process(target=_write_many, args=(project.root, 5000, done, 5000))
    for writer in (*writers, doomed):
        writer.start()
    done.close()
    written = []
    for _ in range(20):
        assert told.poll(60)
        written.append(told.recv())
    doomed.kill()
    for writer in (*writers, doomed):
        writer.join(60)
        assert writer.exitcode == (-signal.SIGKILL if writer is doomed else 0)
    with suppress(EOFError):
        while True:
            written.append(told.recv())
    write(project, "9999", max_lines=40)  # finishes what the killed one had begun
    there = ids_everywhere(project)
    wanted = {str(n) for first in firsts for n in range(first, first + 40)}
    wanted |= {str(n) for n in written} | {"9999"}
    assert len(there) == len(set(there))
    # One that was written, but not told of any more.
    assert set(there) - wanted <= {str(written[-1] + 1)} and wanted <= set(there)
    assert project.progress.read_text().startswith(f"{HEADER}\n===\n")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_a_rotation_that_is_killed_anywhere_loses_and_doubles_nothing(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    for step in range(1, 40):
        project = Project(tmp_path_factory.mktemp("p"))
        for folder in project.folders():
            folder.mkdir(parents=True)
        for n in range(1, 5):
            write(project, str(n), max_lines=40)
        killed = killed_before_change(step, project.ai, partial(write, project, "5", max_lines=40))
        seen = set(ids_everywhere(project))
        assert {"1", "2", "3", "4"} <= seen, f"killed before change {step}"
        write(project, "6", max_lines=40)
        assert [i for i in ids_everywhere(project) if i != "5"] == ["1", "2", "3", "4", "6"]
        assert ids_everywhere(project).count("5") <= 1
        if not killed:
            assert "5" in ids_everywhere(project)
            return
    raise AssertionError("the rotation has more steps than were tried")


def test_recent_lines_are_the_last_ones_without_header_and_separators(project: Project) -> None:
    assert progress.recent(project, 5) == []
    write(project, "1")
    write(project, "2")
    lines = progress.recent(project, 10)
    assert len(lines) == 10
    assert lines[2:5] == ["session: s run 1", "time: 2026-07-23T10:00:00Z", "task: 2 T"]
    assert not {HEADER, "==="} & set(progress.recent(project, 1000))


def test_relevant_lines_are_the_entries_of_a_task_and_lines_that_name_it(project: Project) -> None:
    for n in range(1, 41):
        nexts = {7: "task 42 needs the map", 8: "Task 42.1 is no part of it", 9: "see feat(42): x",
                 10: "42 files"}  # fmt: skip
        write(project, str(n), next=nexts.get(n, ""))
    write(project, "42", title="The one")
    lines = progress.relevant(project, "42", 30)
    assert lines[:2] == ["next: task 42 needs the map", "next: see feat(42): x"]
    assert len(lines) == 10 and lines[4] == "task: 42 The one"
    assert progress.relevant(project, "42", 3) == lines[-3:]
    assert progress.relevant(project, "99", 30) == []


def test_a_task_is_found_under_the_name_that_it_had_before(project: Project) -> None:
    write(project, "1", next="F001 comes first, not F001.2")
    write(project, "2", next="F001.2 and F0011")
    assert progress.relevant(project, "7", 30, also=["F001"]) == [
        "next: F001 comes first, not F001.2"
    ]


def _result(task: Task, now: datetime, **fields: Any) -> Result:
    known = {"status": "success", "summary": "Added it."} | fields
    return Result(task_id=task.id, completed_at=now, task={}, **known)


def test_the_entry_of_a_result_says_what_the_next_run_must_know(
    project: Project, now: datetime
) -> None:
    task = claim(project, submit(project, now), now)
    result = _result(
        task, now, session_id="abc",
        files_changed=[FileChange(f"f{n}", 1, 0) for n in range(10)],
        verification={"command": "make test", "exit": 0},
    )  # fmt: skip
    report = Report(outcome="done", verification="by hand too", next="the cache")
    entry = handoff(task, result, report)
    assert entry.lines() == [
        "session: abc run 1",
        "time: 2026-07-23T10:00:00Z",
        "task: 1 Do it",
        "status: success",
        "changes: [f0, f1, f2, f3, f4, f5, f6, f7 and 2 more] Added it.",
        "verification: make test: exit 0; by hand too",
        "next: the cache",
        "blockers: none",
    ]


def test_what_stands_in_the_way_is_told_without_a_report_too(
    project: Project, now: datetime
) -> None:
    task = claim(project, submit(project, now), now)
    failed = handoff(task, _result(task, now, status="failure", reason="timeout"), None)
    assert (failed.status, failed.blockers) == ("failure (timeout)", "Added it.")
    asks = _result(task, now, status="needs_input", reason="needs_input", remarks="A or B?")
    assert handoff(task, asks, None).blockers == "waits for an answer: A or B?"
    cancelled, _ = rules.cancel(submit(project, now, "other"), "user", now)
    assert handoff(submit(project, now, "third"), cancelled, None).session == "none"


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() == 0, reason="root may write all")
def test_a_log_that_is_closed_gets_no_entry_and_an_archive_that_is_keeps_it_whole(
    project: Project,
) -> None:
    write(project, "1", max_lines=12)
    archive_of(project).touch(0o400)
    write(project, "2", max_lines=12)
    assert ids_in(project.progress) == ["1", "2"]
    project.progress.chmod(0o400)
    write(project, "3")
    assert ids_in(project.progress) == ["1", "2"]
