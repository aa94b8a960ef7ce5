"""A whole shift through the commands and the hook of a session, without Claude Code."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from loop.core.event import EscalatedToUser
from loop.errors import LoopError
from loop.hooks.shift import answer
from loop.store import queue
from loop.store.locks import FileLock
from tests.notify.group import group
from tests.relay.shop import until
from tests.shifting import OTHER, Bound, bound_at, sleeper

README = "# Shop\n\n## Recent Changes\n\n- 2026-01-01: It opened.\n"


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Bound]:
    with bound_at(tmp_path) as made:
        yield made


def test_one_task_after_another_until_all_have_ended(shop: Bound) -> None:
    first, second = shop.add("Build it"), shop.add("Test it", depends_on=["1"], role="tester")
    text = shop.claim().out
    assert "Build it" in text and "loop done 1" in text and "Context first" in text
    (shop.root / "new.txt").write_text("new\n")
    assert shop.loop("done", "--summary", "Built it.", "--notes", "See new.txt").code == 0
    told = shop.hook().block
    assert "Test it" in told and "See new.txt" in told and "role in this task: tester" in told
    assert shop.state(first) == "success"
    result = shop.at(first).result
    assert result is not None and [f.path for f in result.files_changed] == ["new.txt"]
    assert shop.loop("fail", "2", "--reason", "It does not work.").code == 0
    over = shop.hook().over
    assert "all tasks have ended" in over and "1 done (1); 1 failed (2)" in over
    assert shop.state(second) == "failure"
    assert not shop.project.shift.exists()
    assert shop.hook().passed


def test_a_session_that_is_not_bound_is_never_touched(shop: Bound) -> None:
    shop.add("Do it")
    assert shop.hook().passed
    shop.begins()
    with sleeper() as process:
        other = Bound(shop.project, shop.home, process, OTHER)
        assert other.hook().passed
        assert other.hook("SessionEnd", reason="clear").passed
        said = other.loop("done", "1")
        assert (said.code, "another session's" in said.err) == (1, True)
    assert shop.state("1") == "running"


def test_work_in_the_background_lets_a_stop_pass_without_a_word(shop: Bound) -> None:
    shop.add("Do it")
    shop.begins()
    shop.reports()
    assert shop.hook(background_tasks=[{"id": "b1", "status": "running"}]).passed
    assert shop.state("1") == "running"
    assert shop.hook().over


def test_a_command_typed_meanwhile_goes_before_the_next_task(shop: Bound) -> None:
    shop.add("Do it")
    shop.begins()
    shop.reports()
    typed = {"type": "queue-operation", "operation": "enqueue", "content": "/loop:stop",
             "timestamp": datetime.now(UTC).isoformat()}  # fmt: skip
    (shop.home / "transcript.jsonl").write_text(json.dumps(typed))
    assert shop.hook().passed
    assert shop.state("1") == "running"


def test_people_are_told_of_what_has_happened_though_the_rest_of_the_stop_fails(
    shop: Bound, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.add("Do it")
    shop.begins()

    def settles_and_fails(*_: object) -> None:
        question = EscalatedToUser(ts=datetime.now(UTC), actor="architect", question="Which?")
        queue.note_event(shop.project, question)
        raise LoopError("the disk is full")

    told: list[object] = []
    monkeypatch.setattr("loop.hooks.shift._at_event", settles_and_fails)
    monkeypatch.setattr("loop.hooks.shift._notify", told.append)
    with pytest.raises(LoopError, match="the disk is full"):
        answer(str(shop.root), {"session_id": shop.session, "hook_event_name": "Stop"}, 0.0)
    assert told == [shop.project]


@pytest.mark.parametrize("session", ["", None, 7])
def test_a_hook_that_names_no_session_lets_it_pass_with_one_line(
    shop: Bound, session: object
) -> None:
    shop.add("Do it")
    shop.begins()
    said = shop.hook(session_id=session)
    assert (said.code, said.out, len(said.err.splitlines())) == (0, "", 1)
    assert shop.state("1") == "running"


@pytest.mark.parametrize("binding", ["{", '{"session": "x"}', "[]"])
def test_a_damaged_binding_lets_every_stop_pass_and_says_what_removes_it(
    shop: Bound, binding: str
) -> None:
    shop.project.shift.write_text(binding)
    said = shop.hook()
    assert (said.code, said.out) == (0, "")
    assert "`loop stop` removes it" in said.err or binding == '{"session": "x"}'
    assert shop.loop("stop").code == 0
    assert not shop.project.shift.exists()


@pytest.mark.parametrize("given", [b"", b"{", b"[]", b"\xff"])
def test_input_that_is_none_lets_a_stop_pass_with_one_line(shop: Bound, given: bytes) -> None:
    shop.add("Do it")
    shop.begins()
    said = shop._call(["-m", "loop.hooks.entry", "shift"], given, shop.env())
    assert (said.code, said.out, len(said.err.splitlines())) == (0, "", 1)


def test_a_stop_that_comes_to_nothing_tells_the_person_why_and_the_next_makes_it_good(
    shop: Bound,
) -> None:
    shop.add("One")
    shop.claim()
    shop.loop("done")
    shop.project.config.write_text('{"notify": 5}')
    said = shop.hook()
    assert (said.code, said.err) == (0, "")
    assert ".ai/config.json: notify: give an object" in said.over
    assert "/loop:run" in said.over and len(said.over.splitlines()) == 1
    assert shop.state("1") == "running"
    shop.project.config.write_text("{}")
    assert "all tasks have ended" in shop.hook().over


def test_inside_a_builders_run_the_plugins_hooks_are_silent(shop: Bound) -> None:
    shop.add("Do it")
    shop.begins()
    env = shop.env(
        LOOP_RUN=shop.at_hand.runs[-1].uuid, LOOP_TASK_ID="1", LOOP_PROJECT=str(shop.root)
    )
    assert shop._call(["-m", "loop.hooks.entry", "shift"], b"{}", env).passed


def test_a_session_that_goes_on_in_another_process_is_told_once_that_its_shift_is_over(
    shop: Bound,
) -> None:
    shop.add("Do it")
    shop.begins()
    shop.dies()
    with sleeper() as process:
        resumed = Bound(shop.project, shop.home, process)
        assert "/loop:run begins another" in resumed.hook().over
        assert resumed.hook().passed
    assert (shop.state("1"), shop.at("1").task.run) == ("queued", 2)


def test_the_end_of_the_session_frees_the_queue_and_keeps_what_was_reported(shop: Bound) -> None:
    shop.add("One")
    shop.add("Two")
    shop.begins()
    shop.reports()
    assert shop.hook("SessionEnd", reason="prompt_input_exit").passed
    assert not shop.project.shift.exists()
    assert shop.state("1") == "success"
    shop.begins()
    assert shop.hook("SessionEnd", reason="clear").passed
    assert (shop.state("2"), shop.at("2").task.attempt) == ("queued", 2)


def test_a_worker_that_works_settles_what_an_ended_session_left(shop: Bound) -> None:
    shop.add("One")
    shop.begins()
    worker = FileLock(shop.project.worker_lock)
    assert worker.try_acquire()
    assert shop.hook("SessionEnd", reason="clear").passed
    assert not shop.project.shift.exists()
    assert shop.state("1") == "running"  # it is the worker's now
    worker.release()


def test_the_guard_refuses_each_task_twice_and_not_once_a_session(shop: Bound) -> None:
    (shop.root / "README.md").write_text(README)
    shop.git("add", "-A")
    shop.git("commit", "-qm", "readme")
    shop.add("One")
    shop.add("Two")
    shop.begins()
    for number in "12":
        (shop.root / f"new{number}.txt").write_text("new\n")
        shop.reports()
        for _ in range(2):
            assert "Recent Changes" in shop.hook().block
        said = shop.hook()
        result = shop.at(number).result
        assert result is not None
        assert "README.md has no new entry under Recent Changes" in result.warnings
        assert said.data


def test_a_task_with_an_entry_in_the_readme_is_not_refused(shop: Bound) -> None:
    (shop.root / "README.md").write_text(README)
    shop.git("add", "-A")
    shop.git("commit", "-qm", "readme")
    shop.add("One")
    shop.begins()
    (shop.root / "new.txt").write_text("new\n")
    entry = "- 2026-02-03: There is something new.\n- 2026-01-01"
    (shop.root / "README.md").write_text(README.replace("- 2026-01-01", entry))
    shop.reports()
    assert shop.hook().over


def test_while_one_hook_ends_a_task_another_of_the_same_stop_passes(shop: Bound) -> None:
    shop.add("One")
    shop.begins()
    shop.reports()
    first = FileLock(shop.project.shift_lock)
    assert first.try_acquire()
    assert shop.hook().passed
    assert shop.state("1") == "running"
    first.release()
    assert shop.hook().over


def test_people_are_told_what_happens_in_a_shift_and_the_stop_does_not_wait_for_it(
    shop: Bound,
) -> None:
    shop.add("Build it")
    with group() as there:
        there.free.clear()  # no answer comes until the stop is over
        shop.configure(notify={"desktop": False, "wecom": there.address})
        assert shop.claim().code == 0
        assert shop.loop("done", "--summary", "Built it.").code == 0
        assert "all tasks have ended" in shop.hook().over
        assert ["Built it." in text for text in there.has(1)] == [True]
        there.free.set()
        place = shop.project.notified / "wecom.json"
        until(lambda: b"sent" in place.read_bytes(), "the message is noted as sent")


def test_a_session_that_is_open_in_two_processes_works_in_the_bound_one_alone(shop: Bound) -> None:
    shop.add("Do it")
    shop.claim()
    with sleeper(shop.root) as process:
        second = Bound(shop.project, shop.home, process)
        assert second.hook().passed
        assert second.hook("SessionEnd").passed
        assert "another session works the queue" in second.claim().err
        assert "another session's" in second.loop("done", "1").err
    assert shop.state("1") == "running"
    assert "still at hand" in shop.hook().block


def test_a_session_that_left_its_process_to_another_without_a_word_is_over(shop: Bound) -> None:
    shop.add("Do it")
    shop.claim()
    after_clear = Bound(shop.project, shop.home, shop.process, OTHER)
    said = after_clear.claim()
    assert said.code == 0 and "has ended" in said.out
    assert [run.session for run in shop.at("1").task.runs] == [shop.session, OTHER]


def test_a_binding_of_another_session_is_no_wall_before_ones_own(shop: Bound) -> None:
    shop.add("Do it")
    shop.claim()
    inner = shop.root / "inner"
    (inner / ".ai").mkdir(parents=True)
    foreign = shop.project.shift.read_text().replace(shop.session, OTHER)
    (inner / ".ai" / "shift.json").write_text(foreign)
    assert "still at hand" in shop.hook(env={"CLAUDE_PROJECT_DIR": str(inner)}).block
