"""The shift on the real interactive Claude Code: its Stop hook hands out one task after another."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from examples.scripted_api import ScriptedAPI, error, hang, reply, text, tool
from tests.e2e.sitting import Sitting, bash, sitting, terminal
from tests.notify.group import group


@pytest.fixture
def shop(tmp_path: Path, python: Path) -> Iterator[Sitting]:
    with sitting(tmp_path, python) as made:
        yield made


def test_a_session_works_the_queue_to_its_end_and_no_other_session_is_touched(
    shop: Sitting,
) -> None:
    built = shop.add("Build it")
    tested = shop.add("Test it", depends_on=[built])
    broken = shop.add("Break it")
    stuck = shop.add("Stand on it", depends_on=[broken])
    whole = shop.add("A page for each name")
    asking = shop.add("Choose a colour")
    parts = [
        {"title": name, "instructions": [f"The page of {name}"], "acceptance_criteria": []}
        for name in ("Ann", "Bo")
    ]
    (shop.home / "parts.json").write_text(json.dumps(parts))
    new = tool("Write", file_path=str(shop.root / "new.txt"), content="new\n")
    shop.does(built, [new], [bash("loop done --summary Built. --notes 'It is in new.txt.'")])
    shop.does(tested, [bash("loop done --no-change --summary 'It works.'")])
    shop.does(broken, [bash("loop fail --reason 'There is no such thing.'")])
    shop.does(whole, [bash(f"loop split --file {shop.home / 'parts.json'}")])
    shop.does(f"{whole}.1", [bash("loop done --summary 'Page of Ann.'")])
    shop.does(f"{whole}.2", [bash("loop done --summary 'Page of Bo.'")])
    shop.does(asking, [bash("loop ask 'Which colour?' --option Red --option Green")])
    with (
        group() as robots,
        ScriptedAPI(shop.answer) as api,
        terminal(shop, api, "worker") as session,
        terminal(shop, api, "other") as other,
    ):
        shop.project.config.write_text(json.dumps({"notify": {"dingtalk": robots.address}}))
        session.type("/loop:run")
        session.wait(lambda: shop.state(built) == "success", "the first task is done")
        other.type("Just a question")
        other.sees("● Hello.")
        session.sees("the shift is over")
        session.sees("nothing that is left can run: 4 is blocked by 3 (failed)")
        assert "hook" not in other.screen()
        told = json.dumps(api.requests[-1]["messages"])
        session.wait(lambda: "Choose a colour" in "".join(robots.texts), "the last news has come")
    news = "\n".join(robots.texts)  # of one task, or merged
    for line in ("success · 1: Build it", "failure · 3: Break it", "blocked · 4: Stand on it",
                 "needs_input · 6: Choose a colour"):  # fmt: skip
        assert line in news.replace("· shop ·", "·")
    assert "(success) Build it\\nIt is in new.txt." in told
    states = {i: shop.state(i) for i in (built, tested, broken, whole, f"{whole}.1", asking)}
    assert list(states.values()) == ["success", "success", "failure", "success", "success",
                                     "needs_input"]  # fmt: skip
    assert shop.state(stuck) == "queued"
    assert not shop.project.shift.exists()
    result = shop.at(built).result
    assert result is not None and [f.path for f in result.files_changed] == ["new.txt"]
    assert "Claude Code checkpoint" in shop.run("git", "log", "-1", "--format=%B", "--", "new.txt")
    assert len(shop.at(tested).task.runs) == 1


def test_thirty_tasks_are_not_ended_by_the_cap_on_blocks(tmp_path: Path, python: Path) -> None:
    with sitting(tmp_path, python, git=False) as shop:
        for _ in range(30):
            shop.does(shop.add("One more, " + "x" * len(shop.script)), [bash("loop done")])
        with ScriptedAPI(shop.answer) as api, terminal(shop, api, "worker") as session:
            session.type("/loop:run")
            session.wait(lambda: not shop.project.shift.exists() and shop.state("30") == "success",
                         "all have ended", 60)  # fmt: skip
            session.sees("all tasks have ended")
            assert "consecutive times" not in session.screen()


def test_a_session_that_says_nothing_is_told_twice_and_then_its_task_has_failed(
    shop: Sitting,
) -> None:
    silent, mute, spared = (shop.add(f"Task of kind {kind}") for kind in "abc")
    with ScriptedAPI(shop.answer) as api, terminal(shop, api, "worker") as session:
        session.type("/loop:run")
        session.sees("2 tasks in a row ended without a report")
        assert "consecutive times" not in session.screen()
    for task_id in (silent, mute):
        result = shop.at(task_id).result
        assert result is not None and result.reason == "no_report"
    assert shop.state(spared) == "queued"


def test_a_shift_ends_when_it_is_asked_to_and_the_task_goes_back(shop: Sitting) -> None:
    task_id, later = shop.add("A long one"), shop.add("Another")
    half = tool("Write", file_path=str(shop.root / "half.txt"), content="half\n")
    waiting = hang(20, then=reply(text("I stop here.")))
    shop.does(task_id, [half], waiting)
    with ScriptedAPI(shop.answer) as api, terminal(shop, api, "worker") as session:
        session.type("/loop:run")
        session.wait((shop.root / "half.txt").exists, "it has begun")
        assert "ends at its session's next stop" in shop.run("loop", "stop")
        waiting.until.set()
        session.sees("the shift is over: it was asked to stop")
    task = shop.at(task_id).task
    assert (shop.state(task_id), shop.state(later)) == ("queued", "queued")
    assert task.attempt == 1 and "broken off" in (task.note_to_run or "")


def test_commands_typed_while_a_task_is_under_way_go_before_the_next_one(shop: Sitting) -> None:
    task_id, later = shop.add("A long one"), shop.add("Another")
    half = tool("Write", file_path=str(shop.root / "half.txt"), content="half\n")
    waiting = hang(20, then=reply(bash("loop done --summary 'It is done.'")))
    shop.does(task_id, [half], waiting)
    shop.script["Show that as it stands"] = [[text("It stands well.")]]
    shop.script["Begin nothing new"] = [[text("The shift ends.")]]
    with ScriptedAPI(shop.answer) as api, terminal(shop, api, "worker") as session:
        session.type("/loop:run")
        session.wait((shop.root / "half.txt").exists, "it has begun")
        for command in ("/loop:status", "/loop:stop"):
            session.type(command)
            session.wait(lambda: "queued messages" in session.screen(), "it waits")
        waiting.until.set()
        session.sees("the shift is over: it was asked to stop")
    assert (shop.state(task_id), shop.state(later)) == ("success", "queued")


def test_a_session_ends_its_own_shift_by_its_command(shop: Sitting) -> None:
    task_id = shop.add("A long one")
    half = tool("Write", file_path=str(shop.root / "half.txt"), content="half\n")
    shop.does(task_id, [half], hang(30))
    shop.script["Begin nothing new"] = [[text("The shift ends.")]]
    with ScriptedAPI(shop.answer) as api, terminal(shop, api, "worker") as session:
        session.type("/loop:run")
        session.wait((shop.root / "half.txt").exists, "it has begun")
        session.press("Escape")
        session.sees("Interrupted")
        session.type("/loop:stop")
        session.sees("the shift is over: it was asked to stop")
    assert shop.state(task_id) == "queued"
    assert not shop.project.shift.exists()


def test_a_killed_sessions_task_is_taken_up_again_and_warned_of_what_is_there(
    shop: Sitting,
) -> None:
    task_id = shop.add("A long one")
    half = tool("Write", file_path=str(shop.root / "half.txt"), content="half\n")
    shop.does(task_id, [half], hang(30))
    with ScriptedAPI(shop.answer) as api:
        with terminal(shop, api, "first") as session:
            session.type("/loop:run")
            session.wait((shop.root / "half.txt").exists, "it has begun")
            session.kill()
        shop.does(task_id, [bash("loop done --summary 'Went on.'")])
        with terminal(shop, api, "second") as session:
            session.type("/loop:run")
            session.sees("all tasks have ended")
            told = [json.dumps(body["messages"]) for body in api.requests]
    assert any("Not committed of that: half.txt" in words for words in told)
    runs = shop.at(task_id).task.runs
    assert [run.reason for run in runs] == ["interrupted", "success"]


def test_a_limit_that_ends_the_turn_ends_the_shift_pauses_the_queue_and_is_told(
    shop: Sitting,
) -> None:
    task_id = shop.add("A long one")
    half = tool("Write", file_path=str(shop.root / "half.txt"), content="half\n")
    shop.does(task_id, [half], error(429, "rate_limit_error", "You've hit your session limit"))
    with ScriptedAPI(shop.answer) as api, terminal(shop, api, "worker") as session:
        session.type("/loop:run")
        session.wait(lambda: not shop.project.shift.exists() and shop.project.paused.exists(),
                     "the shift is over and the queue paused")  # fmt: skip
        session.wait(lambda: shop.state(task_id) == "queued", "the task is back")
        assert "usage limit: " in shop.run("loop", "status")
        shop.does(task_id, [bash("loop done --summary 'Went on.'")])
        session.type("/loop:run")
        session.sees("all tasks have ended")
        told = json.dumps(api.requests[-2]["messages"])
    assert "Not committed of that: half.txt" in told
    assert [(run.status, run.attempt) for run in shop.at(task_id).task.runs] == [
        ("paused", 1), ("success", 1)]  # fmt: skip
    assert not shop.project.paused.exists()
