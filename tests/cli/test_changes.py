"""add, edit, requeue, cancel."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from loop.core.task import Task
from loop.store import timeline
from loop.store.locks import FileLock
from loop.store.paths import Project
from loop.store.scan import ids_in, locate
from tests.cli.conftest import Called, running, settled

Loop = Callable[..., Called]


def _task(project: Project, task_id: str) -> Task:
    return locate(project, task_id, datetime.now(UTC)).task


def test_a_title_alone_is_the_instruction_too(loop: Loop, project: Project) -> None:
    called = loop("add", "Fix the login page")
    assert called.code == 0
    assert called.out.splitlines() == [
        "· 1 queued, number 1 in the queue: Fix the login page",
        "  no worker is open; `loop work` runs it",
    ]
    task = _task(project, "1")
    assert (task.title, task.instructions) == ("Fix the login page", ["Fix the login page"])
    assert task.author == "user"
    assert timeline.last(project.timeline, 1)[0]["actor"] == "user"


def test_a_title_too_long_for_one_is_only_the_instruction(loop: Loop, project: Project) -> None:
    assert loop("add", "word " * 100).code == 0
    assert _task(project, "1").title is None


def test_all_fields_of_a_task_can_be_given(loop: Loop, project: Project) -> None:
    words = [
        "--priority", "high", "--type", "bugfix", "--target", "src/a b.py", "--criteria", "x", "y",
        "--timeout-minutes", "7.5", "--max-turns", "9", "--max-budget-usd", "1.25",
        "--model", "opus", "--max-attempts", "2", "--key", "k1", "--instruction", "more", "also",
    ]  # fmt: skip
    called = loop("add", "T", "the description", *words, "--json")
    assert called.json == {"id": "1", "state": "queued", "position": 1, "note": None}
    task = _task(project, "1")
    assert task.instructions == ["the description", "more", "also"]
    assert (task.priority, task.type, task.target) == ("high", "bugfix", "src/a b.py")
    assert task.acceptance_criteria == ["x", "y"]
    assert (task.timeout_minutes, task.max_turns, task.max_budget_usd) == (7.5, 9, 1.25)
    assert (task.model, task.max_attempts, task.key) == ("opus", 2, "k1")


def test_an_edit_takes_its_texts_from_a_file_so_that_no_shell_reads_them(
    loop: Loop, project: Project, tmp_path: Path
) -> None:
    loop("add", "T", "old")
    words = tmp_path / "words.json"
    text = 'it\'s "$(x)" `y`\n- z'
    words.write_text(json.dumps({"title": "New", "instructions": [text]}))
    called = loop("edit", "1", "--fields", str(words), "--priority", "high")
    assert called.out == "✓ 1 changed (instructions, priority, title): New\n"
    task = _task(project, "1")
    assert (task.title, task.instructions, task.priority) == ("New", [text], "high")


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ('{"acceptance": ["touch x"]}', "can't change 'acceptance'; it takes title, "),
        ('{"priority": "low"}', "priority is also given by its own option"),
        ("[1]", "must be a JSON object"),
        ('{"title": 3}', "--title: give a text, not a whole number"),
    ],
)
def test_a_wrong_file_of_fields_changes_nothing(
    loop: Loop, project: Project, tmp_path: Path, content: str, problem: str
) -> None:
    loop("add", "T")
    before = _task(project, "1")
    (tmp_path / "words.json").write_text(content)
    called = loop("edit", "1", "--fields", str(tmp_path / "words.json"), "--priority", "high")
    assert called.code == 1
    assert problem in called.err
    assert called.err.count("\n") == 1
    assert _task(project, "1") == before


def test_options_may_stand_between_the_words(loop: Loop, project: Project) -> None:
    assert loop("add", "T", "--priority", "-5", "the description", "--json").code == 0
    old = settled(project, "Old", "failure", "reported")
    assert loop("requeue", old.id, "--fresh", "do", "it").code == 0
    assert _task(project, "1").instructions == ["the description"]
    assert _task(project, "1").priority == -5
    assert _task(project, "2").guidance == ["do it"]


def test_words_behind_two_dashes_are_no_options(loop: Loop, project: Project) -> None:
    assert loop("add", "--json", "--", "--help", "-x").json["id"] == "1"
    assert (_task(project, "1").title, _task(project, "1").instructions) == ("--help", ["-x"])


def test_instructions_come_from_a_file_and_from_stdin(
    loop: Loop, loop_process: Loop, project: Project
) -> None:
    file = project.root / "spec.md"
    file.write_bytes(b"\xef\xbb\xbf# Sp\xc3\xa9c\nline\n")
    assert loop("add", "T", "--file", "spec.md").code == 0
    assert _task(project, "1").instructions == ["# Spéc\nline\n"]
    assert loop_process("add", "U", "--file", "-", stdin="from stdin\n").code == 0
    assert _task(project, "2").instructions == ["from stdin\n"]


@pytest.mark.parametrize(
    ("content", "said"),
    [(None, "can't be read"), (b"\xff\xfe", "no text in UTF-8"), (b" \n", "is empty"),
     (b"x" * (4 * 1024 * 1024 + 1), "larger than 4 MB"), (b"a\0b", "NUL")],
)  # fmt: skip
def test_a_file_that_is_no_text_is_refused(
    content: bytes | None, said: str, loop: Loop, project: Project
) -> None:
    if content is not None:
        (project.root / "spec.md").write_bytes(content)
    called = loop("add", "T", "--file", "spec.md")
    assert (called.code, called.out) == (1, "")
    assert said in called.err and called.err.count("\n") == 1
    assert not ids_in(project.queue)


@pytest.mark.parametrize("option", ["--instruction", "--criteria"])
def test_a_title_that_an_option_took_is_asked_for_in_its_place(loop: Loop, option: str) -> None:
    called = loop("add", option, "x", "Title")
    assert (called.code, called.out) == (2, "")
    assert "add: give the title first, as in `loop add TITLE --instruction TEXT`" in called.err


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("add", ""), "loop: title: "),
        (("add", "   "), "loop: --instruction: is required"),
        (("add", "T" * 301, "x"), "loop: title: "),
        (("add", "T", "--max-turns", "99999"), "loop: --max-turns: "),
        (("add", "T", "--max-attempts", "21"), "loop: --max-attempts: "),
        (("add", "T", "--priority", "9999999"), "loop: --priority: "),
        (("add", "T", "--type", ""), "loop: --type: "),
        (("add", "T", "--criteria", "x", "y" * 100_001), "loop: --criteria[1]"),
    ],
)
def test_a_wrong_value_is_named_as_the_person_gave_it(
    words: tuple[str, ...], named: str, loop: Loop, project: Project
) -> None:
    called = loop(*words)
    assert (called.code, called.out) == (1, "")
    assert called.err.startswith(named) and called.err.count("\n") == 1
    assert not ids_in(project.queue)


def test_the_same_task_is_not_queued_twice(loop: Loop) -> None:
    loop("add", "T")
    called = loop("add", "T")
    assert "not queued again: the same task is queued already" in called.out
    assert loop("add", "T", "--json").json["id"] == "1"


def test_a_key_means_one_submission(loop: Loop) -> None:
    assert loop("add", "T", "--key", "k", "--json").json["id"] == "1"
    assert loop("add", "T", "--key", "k", "--json").json["note"] == "this key was sent before"
    called = loop("add", "Other", "--key", "k")
    assert called.code == 1 and "'k' was used for task 1" in called.err


def test_a_queued_task_is_edited(loop: Loop, project: Project) -> None:
    loop("add", "T", "old")
    called = loop("edit", "0001", "--title", "New", "--instruction", "a", "b", "--priority", "low")
    assert called.out == "✓ 1 changed (instructions, priority, title): New\n"
    task = _task(project, "1")
    assert (task.title, task.instructions, task.priority) == ("New", ["a", "b"], "low")
    data = loop("edit", "1", "--max-turns", "3", "--json").json
    assert data["changed"] == ["max_turns"] and data["task"]["max_turns"] == 3


def test_an_edit_needs_a_field_and_a_queued_task(loop: Loop, project: Project) -> None:
    loop("add", "T")
    assert "give at least one field" in loop("edit", "1").err
    task = settled(project, "Done", "success", "success")
    called = loop("edit", task.id, "--title", "x")
    assert called.code == 1
    assert "only a queued task can be edited; `loop requeue` changes" in called.err


def test_a_requeue_carries_the_words_and_is_on_the_persons_word(
    loop: Loop, project: Project
) -> None:
    task = settled(project, "T", "needs_input", "asked")
    called = loop("requeue", task.id, "use", "the blue one", "--fresh")
    assert called.out == "· 1 queued for run 2: T\n"
    again = _task(project, "1")
    assert (again.guidance, again.fresh, again.run) == (["use the blue one"], True, 2)
    assert timeline.last(project.timeline, 1)[0]["from_user"] is True


def test_a_person_may_requeue_as_often_as_they_like(loop: Loop, project: Project) -> None:
    task = settled(project, "T", "failure", "reported")
    for _ in range(6):
        assert loop("requeue", task.id, "--json").json["state"] == "queued"
        assert loop("cancel", task.id).code == 0


def test_a_queued_task_can_not_be_requeued(loop: Loop) -> None:
    loop("add", "T")
    called = loop("requeue", "1")
    assert called.code == 1
    assert "only a settled task can be requeued; `loop edit` changes a queued one" in called.err


def test_a_queued_task_is_cancelled_once(loop: Loop, project: Project) -> None:
    loop("add", "T")
    assert loop("cancel", "1").out == "✗ 1 cancelled\n"
    assert loop("cancel", "1", "--json").json == {"id": "1", "state": "failure", "changed": False}
    assert (
        "1 has ended already (failure, cancelled); nothing was changed" in loop("cancel", "1").out
    )


def test_a_running_task_is_asked_to_end_by_its_worker(loop: Loop, project: Project) -> None:
    task = running(project, "T")
    lock = FileLock(project.worker_lock)
    assert lock.try_acquire()
    try:
        called = loop("cancel", task.id)
    finally:
        lock.release()
    assert called.out == "▶ 1 is asked to end; its worker ends the run\n"
    assert project.run_file(task.id, "cancel").exists()


@pytest.mark.parametrize("command", ["edit", "requeue", "cancel", "log", "status", "timeline"])
def test_what_is_no_id_is_told(command: str, loop: Loop) -> None:
    more = ("--title", "x") if command == "edit" else ()
    for bad in ("abc", "../1", "0", "1.", "١"):
        called = loop(command, bad, *more)
        assert (called.code, called.out) == (1, "")
        assert "is not a task id" in called.err


@pytest.mark.parametrize("command", ["edit", "requeue", "cancel", "log", "status"])
def test_a_task_that_is_not_there_is_told(command: str, loop: Loop) -> None:
    called = loop(command, "99", *(("--title", "x") if command == "edit" else ()))
    assert (called.code, called.out) == (1, "")
    assert "no task 99" in called.err and "`loop status` shows those" in called.err


def test_a_full_disk_or_a_missing_folder_is_one_line(loop: Loop, project: Project) -> None:
    project.queue.rmdir()
    called = loop("add", "T")
    assert called.code == 1
    assert called.err.startswith("loop: can't write ") and called.err.count("\n") == 1
    assert Path(project.ai).is_dir()
