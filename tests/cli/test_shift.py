"""The commands of a shift, as a session calls them and as a person does at a terminal."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from loop.actions.observer import Observer
from loop.actions.one_task import task_in_full
from loop.store.scan import QueueScan
from loop.store.words import words_file
from tests.shifting import OTHER, SESSION, Bound, bound_at, sleeper


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Bound]:
    with bound_at(tmp_path, git=False) as made:
        yield made


def test_a_claim_outside_a_session_is_refused_in_one_line(shop: Bound) -> None:
    shop.add("Do it")
    said = shop.loop("next", "--claim", CLAUDE_CODE_SESSION_ID="", CLAUDE_PID="")
    assert (said.code, said.out) == (1, "")
    assert "use /loop:run" in said.err
    said = shop.loop("next", "--claim", "--session", "${CLAUDE_SESSION_ID}",
                     CLAUDE_CODE_SESSION_ID="", CLAUDE_PID="")  # fmt: skip
    assert (said.code, said.out) == (1, "")
    assert shop.state("1") == "queued"
    assert "can't start a shift" in shop.loop("next", "--claim", LOOP_RUN="r").err


def test_the_way_of_a_task_by_commands_alone(shop: Bound) -> None:
    shop.add("Do it")
    first = shop.loop("next", "--claim", "--max-minutes", "30")
    assert first.code == 0 and first.out.startswith("You work through")
    assert shop.loop("next", "--claim").out == first.out
    shown = shop.loop("status").out
    assert "an interactive session (process" in shown and "1 task taken" in shown
    assert "in an interactive session · " in shown and "turns" not in shown
    assert "✓ a session works the queue" in shop.loop("doctor").out
    assert "no worker" not in shop.loop("add", "Another").out
    assert shop.loop("remove", "2").code == 0
    status = json.loads(shop.loop("status", "--json").out)["shift"]
    assert (status["task"], status["iterations"], status["stopping"]) == ("1", 1, False)
    assert shop.loop("note", "Look at the port.").out == "· noted for 1\n"
    assert shop.loop("ask", "Which port?", "--option", "80").code == 0
    assert "noted as done" in shop.loop("done", "1", "--summary", "It is 80.").out
    assert shop.hook().over
    assert shop.state("1") == "success"
    assert shop.loop("done").code == 1  # nothing is at hand


def test_a_check_that_turned_red_is_shown_and_not_accepted(shop: Bound) -> None:
    shop.add("Do it", acceptance=["echo wrong; exit 3"])
    shop.claim()
    said = shop.loop("done")
    assert said.code == 1
    assert "exit 3" in said.out and "\nwrong\n" in said.out and "not accepted" in said.out
    assert json.loads(shop.loop("done", "--json").out)["accepted"] is False
    assert not shop.project.run_file("1", "report").exists()


def test_a_split_is_read_from_a_file(shop: Bound) -> None:
    shop.add("Do it")
    shop.claim()
    parts = json.dumps([{"title": "x", "instructions": ["x"]}, {"instructions": ["y"]}])
    assert shop.loop("split", "1", "--file", "-", given="{}").code == 1
    assert "2 subtasks" in shop.loop("split", "1", "--file", "-", given=parts).out
    assert "task 1.1" in shop.hook().block


def test_the_file_of_a_sessions_words_goes_with_the_command_that_took_them_in(
    shop: Bound,
) -> None:
    words = shop.root / words_file(SESSION)
    shop.add("Do it")
    shop.claim()
    for command, right in (
        (["add", "--plan"], {"tasks": [{"instructions": "x"}]}),
        (["edit", "2", "--fields"], {"title": "y"}),
        (["split", "1", "--file"], [{"instructions": "x"}] * 2),
    ):
        words.write_text("{}")
        assert shop.loop(*command, str(words)).code != 0
        assert words.exists()
        words.write_text(json.dumps(right))
        assert shop.loop(*command, str(words)).code == 0
        assert not words.exists()
    plan = shop.root / "words-mine.json"
    plan.write_text(json.dumps({"tasks": [{"instructions": "z"}]}))
    assert shop.loop("add", "--plan", str(plan)).code == 0
    assert plan.exists()


def test_a_person_ends_a_waiting_task_by_hand(shop: Bound) -> None:
    shop.add("Done by me")
    shop.add("Can't be done")
    shop.add("Stands on it", depends_on=["1"])
    person = {"CLAUDE_CODE_SESSION_ID": "", "CLAUDE_PID": ""}
    assert shop.loop("done", "1", "--summary", "I did it.", **person).code == 0
    assert shop.loop("fail", "2", "--reason", "No such thing.", **person).code == 0
    results = [shop.at(i).result for i in "12"]
    assert [r and (r.status, r.reason, r.summary) for r in results] == [
        ("success", "by_hand", "I did it."),
        ("failure", "by_hand", "No such thing."),
    ]
    again = shop.loop("done", "01", **person)
    assert (again.code, again.out) == (0, "1 is success already; nothing was changed\n")
    assert [e["actor"] for e in shop.events("run_completed")] == ["user", "user"]
    assert shop.project.progress.read_text().count("changes: I did it.") == 1
    assert shop.loop("done", "9", **person).code == 1
    assert shop.loop("done", **person).code == 1
    assert "3" in shop.loop("next").out


def test_what_is_asked_without_a_shift_is_refused_in_one_line(shop: Bound) -> None:
    shop.add("Do it")
    for words in (["ask", "1", "What?"], ["split", "1", "--file", "/no/such/file"], ["fail", "1"]):
        said = shop.loop(*words)
        assert said.code in (1, 2) and len(said.err.splitlines()) == 1, words
    assert "done, fail and note take an id" in shop.loop("ask", "What?").err
    assert "only that asks or is split" in shop.loop("ask", "1", "What?").err
    assert shop.loop("stop").out == "there is no shift\n"
    blank = shop.loop("fail", "1", "--reason", " ")
    assert (blank.code, blank.err) == (1, "loop: --reason: say why it can't be done\n")
    limit = shop.loop("next", "--max-iterations", "3")
    assert (limit.code, limit.err) == (2, "loop: next: --max-iterations goes with --claim\n")
    assert shop.state("1") == "queued"


def test_status_says_who_works_on_what_and_what_ends_it(shop: Bound) -> None:
    shop.add("Do it")
    shop.claim("--max-iterations", "10", "--max-usd", "5")
    told = shop.loop("status").out
    assert f"an interactive session (process {shop.process.pid}) since " in told
    assert "task 1 at hand, 1 task taken" in told
    assert "when nothing is left that can run, after 10 tasks, at 5 USD or by `loop stop`" in told
    assert "none is needed while the session works" in told
    assert "in an interactive session · " in told
    shop.loop("pause", "Lunch.")
    shop.loop("stop")
    told = shop.loop("status").out
    assert "next stop; task 1 goes back unless it is done" in told
    assert "the shift ends at its next stop" in told


def test_of_a_sessions_run_no_log_and_no_numbers_are_made_up(
    shop: Bound, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(shop.home))
    shop.add("Do it")
    shop.project.log("1").write_text('{"type":"loop","run":"of an earlier, headless one"}\n')
    shop.begins()
    now = datetime.now(UTC)
    data = Observer(shop.project, {}).look_at("1", now).data
    assert (data["progress"].keys(), data["progress"]["driver"]) == (
        {"driver", "elapsed_s"}, "session")  # fmt: skip
    assert "interactive session" in data["note"]
    view = QueueScan(shop.project, lambda: now).look()
    assert "review_changes" in task_in_full(shop.project, view, "1", 100, now)["log_note"]
    shop.project.log("1").unlink()
    for words in (["log", "1"], ["log", "-f", "1"]):
        said = shop.loop(*words)
        assert (said.code, said.out, said.err.count("\n")) == (1, "", 1)
        assert "has no log; `loop review ID` shows" in said.err
    kept = shop.home / ".claude" / "projects" / "shop" / f"{shop.session}.jsonl"
    kept.parent.mkdir(parents=True)
    kept.write_text("")
    assert f"its transcript is {kept}" in shop.loop("log", "1").err


def test_a_cancel_says_that_the_session_ends_the_task_at_its_next_stop(shop: Bound) -> None:
    shop.add("Do it")
    shop.claim()
    assert "ends at that session's next stop" in shop.loop("cancel", "1").out
    assert shop.hook().over
    assert shop.state("1") == "failure"


def test_a_session_ends_no_task_but_the_one_at_hand(shop: Bound) -> None:
    shop.add("Do it")
    shop.add("Not begun")
    shop.claim()
    for words in (["done", "2"], ["fail", "2", "--reason", "No."]):
        said = shop.loop(*words)
        assert (said.code, said.out) == (1, "") and "not the one at hand (1 is)" in said.err
    assert shop.state("2") == "queued"
    shop.loop("stop")
    assert shop.hook().over
    said = shop.loop("done", "1", "--summary", "It was nearly done.")
    assert said.code == 1 and "is over" in said.err, "it is not unchecked by being late"
    assert shop.state("1") == "queued"


def test_no_session_binds_another(shop: Bound) -> None:
    shop.add("Do it")
    said = shop.loop("next", "--claim", "--session", OTHER)
    assert said.code == 1 and "not the session that calls this" in said.err
    assert not shop.project.shift.exists()


def test_a_session_that_was_started_elsewhere_is_not_bound(shop: Bound) -> None:
    """Its hooks would look for the binding there, and the queue would be held for nothing."""
    shop.add("Do it")
    with sleeper(shop.home) as process:
        said = Bound(shop.project, shop.home, process).claim()
    assert said.code == 1 and "started elsewhere" in said.err
    assert shop.state("1") == "queued"
    (shop.root / "below").mkdir()
    with sleeper(shop.root / "below") as process:
        assert Bound(shop.project, shop.home, process).claim().code == 0
