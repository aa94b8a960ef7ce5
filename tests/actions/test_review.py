"""What the Architect and the person are shown of a task's work."""

from __future__ import annotations

import json
from typing import Any

import pytest

from loop.actions.review import review
from loop.actions.undo import undo
from loop.core.result import Denial
from loop.errors import NotFound, WrongState
from loop.store.parents import roll_up
from tests.actions.conftest import NOW, Bench
from tests.tasks import claim, settle, submit

CLAIMED = "the report names files that the run did not change: ghost.py"


def look(bench: Bench, task_id: str, path: str | None = None, most: int = 20_000) -> dict[str, Any]:
    return review(bench.project, task_id, path, most, NOW)


def test_a_review_tells_files_lines_diff_commits_denials_and_verification(bench: Bench) -> None:
    def work() -> None:
        bench.write("a.txt", "one\nZWEI\nthree\na.txt\n")
        bench.write("new.bin", b"\0\1\2")
        (bench.root / "old.txt").unlink()

    task_id = bench.did(
        work,
        warnings=["denied: Bash x (allowed by: y)", CLAIMED],
        permission_denials=[Denial("Bash", "npm test", "Bash(npm test)")],
        verification={"command": "make test", "exit": 1, "tail": "x", "baseline": "failed"},
        cost_usd=0.25, turns=7, remarks="A remark.",
    )  # fmt: skip
    seen = look(bench, task_id)
    assert seen["files"] == ["a.txt +1 -1", "new.bin (binary)", "old.txt +0 -4"]
    assert "-two\n+ZWEI" in seen["diff"]
    assert "Binary files" in seen["diff"]
    (commit,) = seen["commits"]
    assert commit.split()[0] in bench.git("log", "-1", "--format=%h")
    assert seen["warnings"] == [CLAIMED]
    assert seen["denials"] == ["Bash npm test (`loop allow 'Bash(npm test)'` allows it)"]
    assert seen["verification"] == "failed (exit 1), failed before: make test"
    assert (seen["cost_usd"], seen["turns"], seen["remarks"]) == (0.25, 7, "A remark.")
    assert "not_shown" not in seen


def test_whole_files_are_shown_the_smallest_first_and_the_rest_is_named(bench: Bench) -> None:
    def work() -> None:
        bench.write("big.txt", "a line\n" * 1000)
        bench.write("small.txt", "a line\n")
        bench.write("middle.txt", "a line\n" * 100)

    task_id = bench.did(work)
    seen = look(bench, task_id, most=2000)
    assert "b/small.txt" in seen["diff"] and "b/middle.txt" in seen["diff"]
    assert "big.txt" not in seen["diff"]
    assert len(seen["diff"].encode()) <= 2000
    assert (seen["not_shown"], seen["more_not_shown"]) == (["big.txt"], 0)
    assert "path" in seen["hint"]
    alone = look(bench, task_id, "big.txt", most=200)
    assert alone["cut"] is True
    assert alone["diff"].startswith("diff --git a/big.txt")
    assert len(alone["diff"].encode()) <= 200
    assert len(look(bench, task_id, "big.txt")["diff"]) > 7000


def test_a_path_shows_a_file_or_a_folder_alone(bench: Bench) -> None:
    def work() -> None:
        bench.write("src/a.py", "x\n")
        bench.write("src-more/b.py", "x\n")
        bench.write("-odd ü.py", "x\n")

    task_id = bench.did(work)
    assert look(bench, task_id, "./src/")["files"] == ["src/a.py +1 -0"]
    assert look(bench, task_id, "-odd ü.py")["files"] == ["-odd ü.py +1 -0"]
    assert look(bench, task_id, str(bench.root / "src"))["files"] == ["src/a.py +1 -0"]
    for whole in ("", ".", "./", str(bench.root)):
        assert len(look(bench, task_id, whole)["files"]) == 3
    with pytest.raises(NotFound, match="did not change nowhere"):
        look(bench, task_id, "nowhere")


@pytest.mark.parametrize("character", ["x", "ü", "数"])
def test_without_the_diff_the_largest_result_is_small(bench: Bench, character: str) -> None:
    long = character * 60

    def work() -> None:
        for n in range(60):
            bench.write(f"{long}/{long}/{n:02d}.txt", "x\n")

    task_id = bench.did(
        work, title=character * 200, summary=character * 9000, remarks=character * 9000,
        warnings=[character * 500] * 30,
        permission_denials=[Denial("Bash", character * 200, character * 4000)] * 30,
        verification={"command": character * 5000, "exit": 1, "tail": "", "baseline": "none"},
    )  # fmt: skip
    seen = look(bench, task_id, most=0)
    assert "diff" not in seen
    text = json.dumps(seen | {"project": "x" * 40, "root": "/" + "x" * 100}, ensure_ascii=False)
    assert len(text.encode()) < 2048
    shown = len(seen["files"])
    assert shown + seen["more_files"] == 60
    assert len(seen["warnings"]) + seen["more_warnings"] == 30
    assert len(seen["denials"]) + seen["more_denials"] == 30


def test_a_usual_result_is_not_shortened(bench: Bench) -> None:
    def work() -> None:
        for n in range(20):
            bench.write(f"src/file{n}.py", "x\n")

    seen = look(bench, bench.did(work, summary="Did it. " * 50), most=0)
    assert len(seen["files"]) == 20
    assert seen["summary"] == "Did it. " * 50


def test_the_work_of_others_between_two_runs_is_not_the_task_s(bench: Bench) -> None:
    task_id = bench.did(lambda: bench.write("a.txt", "first run\n"))
    bench.did(lambda: bench.write("other.txt", "another task\n"), title="Another")
    bench.write("a.txt", "first run\nthe person\n")
    bench.git("commit", "-qam", "the person's")
    bench.did_again(task_id, lambda: bench.write("dir/b.txt", "second run\n"))
    seen = look(bench, task_id)
    assert seen["files"] == ["a.txt +1 -4", "dir/b.txt +1 -4"]
    assert "the person" not in seen["diff"]
    assert "another task" not in seen["diff"]
    assert "+first run" in seen["diff"] and "+second run" in seen["diff"]


def test_an_undone_task_says_so(bench: Bench) -> None:
    task_id = bench.did(lambda: bench.write("a.txt", "x\n"))
    assert "undone" not in look(bench, task_id)
    undo(bench.project, task_id, "user", NOW, force=False)
    assert look(bench, task_id)["undone"] is True


def test_a_hundred_files_are_shown_when_there_is_room(bench: Bench) -> None:
    def work() -> None:
        for n in range(100):
            bench.write(f"f{n}", f"{n}\n")

    seen = look(bench, bench.did(work), most=200_000)
    assert seen["diff"].count("diff --git") == 100
    assert "not_shown" not in seen


def test_a_secret_that_a_cut_goes_through_is_hidden_all_the_same(bench: Bench) -> None:
    secret = "ghp_" + "aB3x" * 9
    task_id = bench.did(lambda: None, summary="x" * 585 + " " + secret + " and more " * 30)
    assert "aB3x" not in look(bench, task_id)["summary"]


def test_a_task_that_runs_has_nothing_to_review(bench: Bench) -> None:
    with pytest.raises(WrongState, match="is running"):
        look(bench, bench.claimed().id)


def test_of_a_parent_it_is_said_which_subtasks_to_review_and_undo(bench: Bench) -> None:
    submit(bench.project, NOW, "whole")
    for part in ("a", "b"):
        task = submit(bench.project, NOW, part, parent="1")
        settle(bench.project, claim(bench.project, task, NOW), NOW)
    roll_up(bench.project, ["1"], NOW)
    seen = look(bench, "1")
    assert seen["note"] == "its subtasks did the work, so review them: 1.1, 1.2"
    assert seen["summary"].startswith("2 of 2 subtasks succeeded.")
    with pytest.raises(NotFound, match=r"undo its subtasks, the last first: 1\.2, 1\.1"):
        undo(bench.project, "1", "user", NOW, force=False)
