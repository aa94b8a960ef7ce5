"""A shift, step by step: what a stop of the bound session comes to."""

from __future__ import annotations

import json
import subprocess
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from loop.actions.before import with_snapshot
from loop.actions.change import cancel
from loop.actions.reset import reset
from loop.actions.shift.begin import Begun, begin
from loop.actions.shift.over import end_shift, settle_left_behind, stop
from loop.actions.shift.report import ask, fail, note, split
from loop.actions.shift.settle import Answer
from loop.actions.undo import undo
from loop.builder.session import is_alive
from loop.builder.sessions import session_to_resume
from loop.core.transition import new_run
from loop.errors import BadInput, LoopError, NotReady, WrongState
from loop.store import queue
from loop.store.locks import FileLock
from loop.store.pauses import pause
from loop.store.shift import Limits, read_shift
from tests.crashing import killed_before_change
from tests.shifting import OTHER, Bound, bound_at, sleeper


@pytest.fixture
def bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bound]:
    """A session at a project without a repository."""
    with bound_at(tmp_path, git=False) as made:
        monkeypatch.setenv("XDG_STATE_HOME", str(made.home / "state"))
        yield made


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bound]:
    """A session at a project with a repository."""
    with bound_at(tmp_path) as made:
        monkeypatch.setenv("XDG_STATE_HOME", str(made.home / "state"))
        monkeypatch.setenv("HOME", str(made.home))
        yield made


def now() -> datetime:
    return datetime.now(UTC)


def test_a_shift_that_is_begun_again_has_the_same_task_at_hand(bound: Bound) -> None:
    bound.add("Do it")
    first, second = bound.begins(), bound.begins()
    assert isinstance(first, Begun) and isinstance(second, Begun)
    assert first.text == second.text
    assert len(bound.at("1").task.runs) == 1


def test_no_other_session_begins_while_the_bound_one_lives(bound: Bound) -> None:
    bound.add("Do it")
    bound.begins()
    with sleeper() as process, pytest.raises(WrongState, match="another session works the queue"):
        other = Bound(bound.project, bound.home, process, OTHER)
        other.begins()


def test_once_the_bound_one_is_dead_another_takes_its_task_up_and_is_told_so(repo: Bound) -> None:
    repo.add("Do it")
    repo.begins()
    (repo.root / "half.txt").write_text("half\n")
    repo.dies()
    with sleeper() as process:
        other = Bound(repo.project, repo.home, process, OTHER)
        begun = other.begins()
        assert isinstance(begun, Begun)
        assert "the session that was bound has ended" in (begun.note or "")
        assert "interrupted" in begun.text and "Not committed of that: half.txt" in begun.text
    runs = repo.at("1").task.runs
    assert [(run.reason, run.session) for run in runs] == [("interrupted", repo.session),
                                                           (None, OTHER)]  # fmt: skip
    assert repo.git("log", "--format=%s").split() == ["first"]  # nothing was committed for it


def test_a_task_that_was_interrupted_twice_has_failed(bound: Bound) -> None:
    bound.add("Do it")
    for _ in range(2):
        bound.begins()
        shift = read_shift(bound.project)
        assert shift is not None
        end_shift(bound.project, shift, now())
    result = bound.at("1").result
    assert result is not None
    assert (result.reason, result.log_path, result.cost_usd) == ("interrupted", None, None)


def test_an_empty_queue_binds_nobody(bound: Bound) -> None:
    assert "no task is waiting" in str(bound.begins())
    assert read_shift(bound.project) is None


def test_a_queue_in_which_nothing_can_run_binds_nobody_and_no_shift_is_said_to_be_over(
    bound: Bound,
) -> None:
    bound.add("a")
    bound.add("b", depends_on=["1"])
    bound.begins()
    fail(bound.project, bound.at_hand, "No.")
    bound.stops()
    assert bound.begins() == "nothing that is left can run: 2 is blocked by 1 (failed)"
    assert read_shift(bound.project) is None


def test_a_person_who_paused_the_queue_is_heeded(bound: Bound) -> None:
    bound.add("One")
    bound.add("Two")
    bound.begins()
    pause(bound.project, "user", "lunch", now())
    bound.reports()
    assert "paused (lunch)" in (bound.stops().over or "")
    assert bound.state("2") == "queued"
    with pytest.raises(WrongState, match="lunch"):
        bound.begins()


def test_a_headless_run_is_waited_for_before_the_shift_takes_a_task(bound: Bound) -> None:
    for words in ("Headless", "Mine"):
        bound.add(words)
    task = bound.at("1").task
    headless = queue.claim(bound.project, "1", new_run(task, "run-1", now()), now())
    assert headless is not None
    log = FileLock(bound.project.log("1"))
    assert log.try_acquire()
    worker = FileLock(bound.project.worker_lock)
    assert worker.try_acquire()

    def end_the_run() -> None:
        event = new_run(task, "run-1", now())
        del event
        queue.clear_run(bound.project, "1")
        log.release()

    timer = threading.Timer(0.3, end_the_run)
    timer.start()
    begun = bound.begins()
    timer.join()
    worker.release()
    assert isinstance(begun, Begun) and begun.task.id == "2"


def test_a_headless_run_that_goes_on_and_on_is_named_and_nobody_else_claims(bound: Bound) -> None:
    bound.add("Headless")
    run = new_run(bound.at("1").task, "run-1", now())
    assert queue.claim(bound.project, "1", run, now()) is not None
    worker = FileLock(bound.project.worker_lock)
    assert worker.try_acquire()
    with pytest.raises(WrongState, match="task 1 is still being run headless"):
        begin(bound.project, bound.session, bound.identity, Limits(), now(), wait_s=0.1)
    worker.release()
    assert len(bound.at("1").task.runs) == 1


def test_a_session_that_never_reports_is_told_twice_a_task_and_ends_after_two(
    bound: Bound,
) -> None:
    for words in "abc":
        bound.add(words)
    bound.begins()
    answers = [bound.stops() for _ in range(6)]
    told = ["still at hand" in (answer.block or "") for answer in answers]
    assert told == [True, True, False, True, True, False]
    assert "Carry out task 2" in (answers[2].block or "")
    assert "without a report" in (answers[5].over or "")
    assert [bound.state(i) for i in "123"] == ["failure", "failure", "queued"]


def test_a_report_begins_the_count_anew(bound: Bound) -> None:
    for words in "abcde":
        bound.add(words)
    bound.begins()
    for reports in (False, True, False):
        if reports:
            bound.reports()
        else:
            bound.stops()
            bound.stops()
        assert bound.stops().block is not None
    assert [bound.state(i) for i in "123"] == ["failure", "success", "failure"]


def test_the_limit_of_tasks_ends_the_shift_after_the_last_is_settled(bound: Bound) -> None:
    for words in "abc":
        bound.add(words)
    bound.begins(max_iterations=2)
    bound.reports()
    assert bound.stops().block is not None
    bound.reports()
    assert "limit of 2 tasks" in (bound.stops().over or "")
    assert [bound.state(i) for i in "123"] == ["success", "success", "queued"]


def test_the_limit_of_minutes_gives_a_task_back_that_is_not_done(bound: Bound) -> None:
    bound.add("a")
    bound.begins(max_minutes=5)
    assert "limit of 5 minutes" in (bound.stops(timedelta(minutes=6)).over or "")
    assert (bound.state("1"), bound.at("1").task.attempt) == ("queued", 1)


def test_the_limit_of_cost_counts_the_tokens_of_the_transcript(bound: Bound) -> None:
    bound.add("a")
    bound.add("b")
    bound.begins(max_usd=1)
    reply = {
        "type": "assistant",
        "timestamp": now().isoformat(),
        "message": {"id": "m", "usage": {"input_tokens": 1000, "output_tokens": 20_000}},
    }
    transcript = bound.home / "transcript.jsonl"
    transcript.write_text(f"{json.dumps(reply)}\n" * 3)  # one reply, as three lines
    bound.reports()
    assert "limit of 1 USD is reached (up to 1.5" in (bound.stops().over or "")
    transcript.unlink()
    bound.begins(max_usd=1)
    bound.reports()
    assert "can't be read" in (bound.stops().over or "")


def test_a_task_over_its_time_has_failed_unless_it_is_said_to_be_done(bound: Bound) -> None:
    bound.add("a", timeout_minutes=1)
    bound.add("b", timeout_minutes=1)
    bound.begins()
    late = timedelta(minutes=2)
    assert "Carry out task 2" in (bound.stops(late).block or "")
    result = bound.at("1").result
    assert result is not None and result.reason == "timeout"
    bound.reports()
    bound.stops(late)
    assert bound.state("2") == "success"


def test_a_shift_that_was_asked_to_stop_settles_what_is_done(bound: Bound) -> None:
    bound.add("a")
    bound.add("b")
    bound.begins()
    assert stop(bound.project, now())[1] is False
    bound.reports()
    assert "asked to stop" in (bound.stops().over or "")
    assert [bound.state(i) for i in "12"] == ["success", "queued"]


def test_a_stop_is_taken_back_by_beginning_again(bound: Bound) -> None:
    bound.add("a")
    bound.begins()
    stop(bound.project, now())
    bound.begins()
    bound.reports()
    assert "all tasks have ended" in (bound.stops().over or "")


def test_a_stop_of_a_dead_session_frees_the_queue(bound: Bound) -> None:
    bound.add("a")
    bound.begins()
    bound.dies()
    assert stop(bound.project, now())[1] is True
    assert (bound.state("1"), read_shift(bound.project)) == ("queued", None)


def test_a_question_parks_its_task_and_the_shift_goes_on(bound: Bound) -> None:
    bound.add("a")
    bound.add("b", depends_on=["1"])
    bound.add("c")
    bound.begins()
    ask(bound.project, bound.at_hand, "Which?", ["This", "That"])
    assert "Carry out task 3" in (bound.stops().block or "")
    result = bound.at("1").result
    assert result is not None
    assert (result.status, result.remarks) == ("needs_input", "Which?\n- This\n- That")
    bound.reports()
    over = bound.stops().over or ""
    assert "2 waits for 1" in over and "1 asks: Which? - This - That\n`loop requeue ID" in over


def test_a_split_task_ends_with_the_last_of_its_parts(bound: Bound) -> None:
    bound.add("a", role="tester")
    bound.begins()
    parts = [{"title": t, "instructions": [t], "acceptance_criteria": [t]} for t in "xy"]
    with pytest.raises(BadInput, match=r"file\[1\]"):
        split(bound.project, bound.at_hand, json.dumps([parts[0], {"title": " "}]).encode(), now())
    split(bound.project, bound.at_hand, json.dumps(parts).encode(), now())
    assert "Carry out task 1.1" in (bound.stops().block or "")
    bound.reports()
    bound.stops()
    fail(bound.project, bound.at_hand, "No.")
    assert "all tasks have ended" in (bound.stops().over or "")
    assert [bound.state(i) for i in ("1", "1.1", "1.2")] == ["failure", "success", "failure"]


def test_a_limit_keeps_no_end_back_that_its_last_task_brings_about(bound: Bound) -> None:
    bound.add("a")
    waits = bound.add("b", depends_on=["1"])
    bound.begins(max_iterations=3)
    parts = [{"title": title} for title in "xy"]
    split(bound.project, bound.at_hand, json.dumps(parts).encode(), now())
    bound.stops()
    bound.reports()
    bound.stops()
    fail(bound.project, bound.at_hand, "No.")
    assert "limit of 3 tasks" in (bound.stops().over or "")
    assert bound.state("1") == "failure"
    told = [json.loads(line) for line in bound.project.timeline.read_text().splitlines() if line]
    assert [event["task_id"] for event in told if event["event"] == "task_blocked"] == [waits]


def test_a_task_that_is_cancelled_from_elsewhere_ends_at_the_next_stop(bound: Bound) -> None:
    bound.add("a")
    bound.begins()
    cancel(bound.project, "1", "user", now())
    bound.stops()
    result = bound.at("1").result
    assert result is not None and result.reason == "cancelled"


def test_a_refused_ending_keeps_the_task_and_its_report(bound: Bound) -> None:
    bound.add("a")
    bound.begins()
    bound.reports()
    assert "No entry. Then end your turn again." in (bound.stops(guard="No entry.").block or "")
    assert bound.stops().over is not None
    assert bound.state("1") == "success"


def test_red_after_green_is_not_accepted(repo: Bound) -> None:
    repo.configure(verify={"test_command": "test ! -e broken"})
    repo.add("a")
    repo.begins()
    (repo.root / "broken").write_text("")
    assert repo.reports() is False
    assert "still at hand" in (repo.stops().block or "")
    (repo.root / "broken").unlink()
    assert repo.reports() is True
    (repo.root / "late.txt").write_text("late\n")
    assert "changed after they had been checked" in (repo.stops().block or "")
    assert repo.reports() is True
    (repo.root / "late.txt").write_text("later, and it was told twice by now\n")
    assert repo.stops().over
    result = repo.at("1").result
    assert result is not None and result.verification is not None
    assert (result.status, result.verification["baseline"]) == ("success", "passed")
    assert "files were changed after they had been checked" in result.warnings


def test_what_a_session_changed_can_be_undone(repo: Bound) -> None:
    repo.add("a")
    repo.begins()
    (repo.root / "a.txt").write_text("two\n")
    repo.reports()
    repo.stops()
    assert repo.git("show", "HEAD:a.txt") == "two\n"
    undo(repo.project, "1", "user", now(), force=False)
    assert (repo.root / "a.txt").read_text() == "one\n"


def test_notes_are_for_the_handoff_log_and_whoever_stands_on_the_task(bound: Bound) -> None:
    bound.add("a")
    bound.add("b", depends_on=["1"])
    bound.begins()
    note(bound.project, "1", "The port is 8080.", now())
    bound.reports()
    assert "The port is 8080." in (bound.stops().block or "")
    assert "changes: The port is 8080." in bound.project.progress.read_text()
    context = json.loads((bound.project.ai / "context.compact.json").read_text())
    assert context["current_task"]["id"] == "2"
    assert context["dependency_tasks"][0]["notes"] == "Did it.\nThe port is 8080."


def test_a_worker_never_resumes_a_persons_session(bound: Bound) -> None:
    bound.add("a")
    bound.begins()
    kept = bound.home / ".claude" / "projects" / "x"
    kept.mkdir(parents=True)
    (kept / f"{bound.session}.jsonl").touch()
    assert session_to_resume(bound.at_hand, {"HOME": str(bound.home)}) is None


def test_a_stop_of_another_session_settles_nothing(bound: Bound) -> None:
    bound.add("a")
    bound.begins()
    bound.reports()
    assert Bound(bound.project, bound.home, bound.process, OTHER).stops() == Answer()
    assert bound.state("1") == "running"


def test_the_run_of_a_living_session_is_left_alone(bound: Bound) -> None:
    bound.add("a")
    bound.begins()
    assert settle_left_behind(bound.project, now()) == []
    assert bound.state("1") == "running"


def test_a_stop_that_is_killed_at_any_moment_is_made_good_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    number, killed = 0, True
    while killed:
        number += 1
        folder = tmp_path / str(number)
        folder.mkdir()
        with bound_at(folder, git=False) as bound:
            monkeypatch.setenv("XDG_STATE_HOME", str(bound.home / "state"))
            for words in "abc":
                bound.add(words)
            bound.begins()
            bound.reports()
            killed = killed_before_change(number, bound.project.ai, bound.stops)
            if killed:
                bound.stops()
                bound.stops()
            ended = [e["task_id"] for e in bound.events("run_completed")]
            began = [e["task_id"] for e in bound.events("run_started")]
            assert (ended, began) == (["1"], ["1", "2"]), number
            assert [bound.state(i) for i in "123"] == ["success", "running", "queued"], number
            assert bound.at_hand.id == "2"
    assert number > 10


def test_a_command_that_outlives_its_session_writes_over_no_later_run(repo: Bound) -> None:
    repo.add("a")
    repo.begins()
    late = repo.at_hand
    repo.dies()
    settle_left_behind(repo.project, now())
    run = new_run(repo.at("1").task, "22222222-2222-4222-8222-222222222222", now())
    assert queue.claim(repo.project, "1", run, now(), alive=is_alive) is not None
    with pytest.raises(WrongState, match="no longer on record"):
        with_snapshot(repo.project, late, 10, anew=True)
    assert [r.uuid for r in repo.at("1").task.runs][1:] == [run.uuid]


def test_a_task_that_a_commit_brings_is_neither_begun_nor_checked(repo: Bound) -> None:
    repo.add("a", acceptance=["touch ran"])
    repo.add("b")
    repo.git("add", "-f", ".ai/queue/0001.json")
    with pytest.raises(NotReady, match="is in git"):
        repo.begins()
    repo.git("rm", "-q", "--cached", ".ai/queue/0001.json")
    repo.begins()
    repo.git("add", "-f", ".ai/queue/0002.json")
    with pytest.raises(NotReady, match="is in git"):
        repo.reports()
    assert not (repo.root / "ran").exists()
    fail(repo.project, repo.at_hand, "It could not be checked.")
    assert "is in git" in (repo.stops().over or "")
    assert [repo.state(i) for i in "12"] == ["failure", "queued"]


def test_checks_that_nobody_approved_are_not_run(repo: Bound) -> None:
    repo.configure(verify={"test_command": "false"})
    repo.add("a")
    repo.begins()
    repo.project.config.write_text(json.dumps({"verify": {"test_command": "touch ran"}}))
    with pytest.raises(NotReady, match="not what was approved"):
        repo.reports()
    assert not (repo.root / "ran").exists()


def test_under_settings_that_are_wrong_nothing_is_settled_by_others(repo: Bound) -> None:
    repo.configure(checkpoint={"mode": "off"})
    repo.add("a")
    repo.begins()
    (repo.root / "a.txt").write_text("two\n")
    repo.reports()
    repo.project.config.write_text('{"checkpoint": ')
    with pytest.raises(LoopError, match=r"config\.json"):
        repo.stops()
    assert repo.state("1") == "running"
    repo.configure(checkpoint={"mode": "off"})
    assert repo.stops().over
    assert repo.git("log", "--format=%s").split() == ["first"]


def test_what_is_half_done_is_no_state_from_before_the_run(repo: Bound) -> None:
    repo.configure(verify={"test_command": "test ! -e broken"})
    repo.add("a")
    repo.begins()
    (repo.root / "broken").write_text("")
    (repo.project.state / "verified.json").unlink()
    before = repo.at_hand.runs[-1].before
    repo.begins()
    assert repo.at_hand.runs[-1].before == before, "its work is still to be seen and undone"


def test_the_checks_go_before_a_task_of_which_nobody_knows_how_they_go(repo: Bound) -> None:
    repo.configure(verify={"test_command": "test ! -e broken"})
    for words in "abc":
        repo.add(words)
    repo.begins()
    (repo.root / "new.txt").write_text("new\n")
    fail(repo.project, repo.at_hand, "No.")
    for _ in range(2):
        assert "Run `loop next --claim --session" in (repo.stops().block or "")
    begun = repo.begins()
    assert isinstance(begun, Begun) and "Carry out task 2 now" in begun.text
    (repo.root / "broken").write_text("")
    assert repo.reports() is False, "they are known to have been green"
    (repo.root / "broken").unlink()
    assert repo.reports() is True
    assert "Carry out task 3 now" in (repo.stops().block or ""), "now it is known how they go"


def test_a_task_that_a_killed_stop_had_claimed_is_handed_out_by_the_next(
    repo: Bound, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.add("a")
    repo.add("b", instructions=["Read this"])
    repo.begins()
    repo.reports()
    with monkeypatch.context() as killed, pytest.raises(KeyboardInterrupt):
        killed.setattr("loop.actions.shift.take.begun", _kill)
        repo.stops()
    assert repo.at_hand.runs[-1].before is None
    assert "Read this" in (repo.stops().block or "")
    assert repo.at_hand.runs[-1].before is not None
    assert "still at hand" in (repo.stops().block or "")


def _kill(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


def test_a_task_that_is_said_to_be_done_is_not_given_again(bound: Bound) -> None:
    bound.add("a")
    bound.begins()
    bound.reports()
    begun = bound.begins()
    assert isinstance(begun, Begun)
    assert "on record" in begun.text and "Carry out" not in begun.text


def test_what_the_checks_write_is_no_change_after_them(repo: Bound) -> None:
    repo.add("a", acceptance=["date > report.xml"])
    repo.begins()
    assert repo.reports() is True
    repo.stops()
    result = repo.at("1").result
    assert result is not None
    assert (result.status, result.warnings) == ("success", [])


def test_what_a_check_of_an_ended_call_left_running_is_ended(repo: Bound) -> None:
    pid = repo.home / "pid"
    ended = f'case $(ps -o stat= -p "$(cat {pid})") in Z*|"") ;; *) exit 1 ;; esac'
    repo.add("a", acceptance=[ended])
    repo.begins()
    left = {"LOOP_RUN": repo.at_hand.runs[-1].uuid}
    with subprocess.Popen(["sleep", "600"], env=repo.env(**left)) as check:
        pid.write_text(str(check.pid))
        try:
            assert repo.reports() is True, "two of them at once would spoil each other"
        finally:
            check.kill()


def test_a_second_hook_of_one_stop_counts_for_nothing_however_late_it_comes(bound: Bound) -> None:
    bound.add("a")
    bound.begins()
    began_s = time.monotonic()
    for _ in range(2):
        assert "still at hand" in (bound.stops().block or "")
        assert bound.stops(began_s=began_s) == Answer()
        began_s = time.monotonic()
    bound.reports()
    assert "Read it" in (bound.stops(guard="Read it.", began_s=began_s).block or "")


def test_a_record_that_cant_be_read_keeps_no_shift_from_beginning(bound: Bound) -> None:
    bound.add("a")
    (bound.project.running / "0007.json").write_text("{")
    assert isinstance(bound.begins(), Begun)
    assert list(bound.project.invalid.glob("*0007.json"))


def test_a_damaged_binding_that_is_removed_leaves_no_task_running(bound: Bound) -> None:
    bound.add("a")
    bound.begins()
    bound.project.shift.write_text("{")
    assert stop(bound.project, now()) == (None, True)
    assert bound.state("1") == "queued"


def test_a_reset_puts_back_what_a_dead_session_had_begun_and_nothing_of_a_living_one(
    bound: Bound,
) -> None:
    bound.add("a")
    bound.begins()
    with pytest.raises(WrongState, match="running"):
        reset(bound.project, now(), hard=False)
    bound.dies()
    assert reset(bound.project, now(), hard=False).put_back == ["1"]
    assert bound.state("1") == "queued"


def test_a_cancel_at_the_moment_of_a_stop_counts(
    bound: Bound, monkeypatch: pytest.MonkeyPatch
) -> None:
    bound.add("a")
    bound.begins()
    stop(bound.project, now())
    monkeypatch.setattr(
        "loop.actions.shift.over.snapshot_after",
        lambda *_: cancel(bound.project, "1", "user", now()) and None,
    )
    assert bound.stops().over
    result = bound.at("1").result
    assert result is not None and result.reason == "cancelled"


def test_limits_that_a_bound_session_names_anew_count_from_then_on(bound: Bound) -> None:
    for words in "abcd":
        bound.add(words)
    bound.begins(max_minutes=500)
    bound.reports()
    bound.stops()
    bound.begins(max_iterations=2)
    bound.reports()
    assert "task 3" in (bound.stops().block or "")
    bound.begins()
    bound.reports()
    assert "its limit of 2 tasks" in (bound.stops().over or "")


def test_a_task_that_the_session_was_never_given_has_not_failed(repo: Bound) -> None:
    repo.configure(verify={"test_command": "test ! -e broken"})
    repo.add("a")
    repo.add("b")
    repo.begins()
    (repo.root / "new.txt").write_text("new\n")
    fail(repo.project, repo.at_hand, "No.")
    blocks = 0
    while repo.stops().block:
        blocks += 1
    assert blocks == 6, "below the cap on blocks in a row"
    assert (repo.state("2"), repo.at("2").task.attempt) == ("queued", 1)
    repo.begins()
    fail(repo.project, repo.at_hand, "No.")
    repo.add("c")
    repo.project.config.write_text(json.dumps({"verify": {"test_command": "touch ran"}}))
    assert "not what was approved" in (repo.stops().over or "")
    assert repo.state("3") == "queued"


def test_a_full_disk_keeps_no_answer_back(bound: Bound, monkeypatch: pytest.MonkeyPatch) -> None:
    bound.add("a")
    bound.begins()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(FileLock, "write", full)
    assert "still at hand" in (bound.stops().block or "")


def test_a_limit_may_be_longer_than_a_day_and_one_that_is_none_binds_nobody(bound: Bound) -> None:
    bound.add("a")
    for limits in ({"max_iterations": 10**30}, {"max_minutes": 1e30}):
        with pytest.raises(BadInput, match="max_"):
            bound.begins(**limits)
    assert read_shift(bound.project) is None
    assert isinstance(bound.begins(max_minutes=3000), Begun)
    assert read_shift(bound.project) is not None
