"""status: the queue, and one task in full."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from loop.core.result import Denial, FileChange
from loop.store.locks import FileLock
from loop.store.paths import Project
from tests.cli.conftest import Called, running, settled

Loop = Callable[..., Called]
_HOSTILE = "\x1b[31mred\x1b[0m [bold]x[/bold] :smile: \u202egnol\u2069 \x9b2J"


def _say(project: Project, task_id: str, *events: dict[str, object]) -> None:
    mark = {"type": "loop", "run": f"0000-{task_id}", "event": "started"}
    lines = [json.dumps(event, separators=(",", ":")) for event in (mark, *events)]
    project.log(task_id).write_text("\n".join(lines) + "\n")


def test_an_empty_queue_says_how_to_begin(loop: Loop, project: Project) -> None:
    lines = loop("status").out.splitlines()
    assert lines[0] == f"shop  {project.root}"
    assert lines[1] == "worker   none is open; open Claude Desktop, or run `loop work`"
    assert lines[-1] == 'The queue is empty: loop add "what is to be done"'


def test_everything_is_shown_with_one_glyph_an_outcome(loop: Loop, project: Project) -> None:
    settled(project, "Good", "success", "success")
    settled(project, "Bad", "failure", "turn_limit")
    settled(project, "Asks", "needs_input", "asked")
    task = running(project, "Goes on")
    _say(
        project,
        task.id,
        {
            "type": "assistant",
            "message": {
                "id": "m1",
                "content": [{"type": "tool_use", "name": "Bash", "input": {"command": "make"}}],
            },
        },
    )
    loop("add", "Later", "--priority", "low")
    loop("add", "Sooner", "--priority", "high")
    loop("pause", "lunch")
    (project.queue / "7.json").write_text("{}")
    text = loop("status").out
    for part in (
        "paused   ‖ lunch (by the user); `loop resume` lifts it\n",
        "▶  4  Goes on\n",
        "1 turn · Bash make · ",
        "Waiting (2)\n·  6  Sooner  high, next\n·  5  Later   low\n",
        "✓  1  Good  success, $0.12, 3 min 4 s\n",
        "✗  2  Bad   failure: turn_limit, $0.12, 3 min 4 s\n",
        "?  3  Asks  needs_input: asked, $0.12, 3 min 4 s\n",
        "✗  7.json  wrong name: name it 0007.json\n",
    ):
        assert part in text, text


def test_an_open_worker_is_shown_with_its_process(loop: Loop, project: Project) -> None:
    lock = FileLock(project.worker_lock)
    assert lock.try_acquire()
    try:
        since = datetime.now(UTC)
        project.worker_lock.write_text(
            json.dumps({"pid": 4242, "host": "h", "since": since.isoformat(), "driver": "serve"})
        )
        text = loop("status").out
    finally:
        lock.release()
    assert f"worker   open: serve, process 4242, since {since.astimezone():%H:%M}\n" in text


def test_the_json_is_one_document_with_all_keys(loop: Loop, project: Project) -> None:
    settled(project, "Good", "success", "success")
    called = loop("status", "--json")
    data = called.json
    assert {"project", "root", "worker", "paused", "problem", "counts", "tasks"} <= set(data)
    assert data["counts"] == {"running": 0, "queued": 0, "blocked": 0, "settled": 1}
    assert (data["worker"], data["paused"]) == (None, None)
    assert {"id", "state", "title", "priority", "reason", "cost_usd"} <= set(data["tasks"][0])


def test_times_are_rfc_3339_in_utc_in_the_json(loop: Loop, project: Project) -> None:
    settled(project, "T", "success", "success")
    data = loop("status", "1", "--json").json
    assert data["result"]["completed_at"] == "2026-07-23T10:00:00Z"
    assert data["task"]["runs"][0]["started"] == "2026-07-23T10:00:00Z"
    assert loop("timeline", "--json").json[-1]["ts"].endswith("Z")


def test_a_broken_config_is_a_problem_and_no_crash(loop: Loop, project: Project) -> None:
    project.config.write_text('{"bilder": {}}')
    called = loop("status")
    assert called.code == 0
    assert "problem  ✗ .ai/config.json: bilder: unknown name" in called.out
    assert called.err == ""


def test_damaged_files_of_every_kind_are_no_crash(loop: Loop, project: Project) -> None:
    settled(project, "Good", "success", "success")
    for path in (
        project.completed / "0008.json",
        project.running / "0009.json",
        project.queue / "0010.json",
        project.paused,
        project.timeline,
        project.config,
    ):
        path.write_bytes(b'{"half": "\xff')
    for words in (("status",), ("status", "--json"), ("timeline",), ("status", "1")):
        called = loop(*words)
        assert (called.code, called.err) == (0, "")
    assert "paused.json is there but can't be read" in loop("status").out


def test_hostile_words_neither_steer_the_terminal_nor_are_markup(
    loop: Loop, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    settled(project, _HOSTILE, "needs_input", "asked", remarks=_HOSTILE)
    loop("add", _HOSTILE + " again", _HOSTILE)
    loop("pause", _HOSTILE)
    (project.queue / "a\x1b[2J.json").write_text("{}")
    for words in (("status",), ("status", "1"), ("status", "2"), ("timeline",)):
        text = loop(*words).out
        assert "\\x1b[31mred" in text and "[bold]x[/bold] :smile:" in text
        assert not set(text) & set("\x1b\x9b\u202e\u2069\r\x07")
        assert loop(*words, "--json").out.isascii() and "\x1b" not in loop(*words, "--json").out
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "200")
    drawn = loop("status").out
    assert "\x1b[31mred" not in drawn and "\\x1b[31mred" in drawn
    assert "[bold]x[/bold] :smile:" in drawn and "\x1b[1m" in drawn


def test_colours_are_left_out_when_nobody_wants_them(
    loop: Loop, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop("add", "T")
    assert "\x1b" not in loop("status").out
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[3" not in loop("status").out


def test_long_titles_and_paths_are_whole_in_a_pipe(loop_process: Loop, project: Project) -> None:
    title = "A title of just the seventy-two characters that are shown of it, all-ok"
    target = "/".join(["force-app/main/default"] * 12)
    loop_process("add", title, "--target", target)
    assert f"·  1  {title}  next\n" in loop_process("status").out
    assert f"target    {target}\n" in loop_process("status", "1").out
    assert str(project.root) in loop_process("status").out.splitlines()[0]


def test_a_settled_task_is_shown_in_full(loop: Loop, project: Project) -> None:
    settled(
        project,
        "Asks",
        "needs_input",
        "asked",
        remarks="Blue or red?\n1. blue\n2. red",
        warnings=["README.md was not updated"],
        files_changed=[FileChange("src/a.py", 3, 1), FileChange("logo.png", None, None)],
        permission_denials=[Denial("Bash", "npm test", "Bash(npm test)")],
        commit_hash="a" * 40,
        log_path=".ai/logs/0001.log",
    )
    text = loop("status", "1").out
    for part in (
        "? 1 needs_input  Asks\n",
        "Result: needs_input: asked\n  About Asks\n",
        "Question\n  Blue or red?\n  1. blue\n  2. red\n",
        "  +3 -1   src/a.py\n  binary  logo.png\n",
        "  - README.md was not updated\n",
        "  - Bash npm test (`loop allow 'Bash(npm test)'` allows it)\n",
        "1 run, 3 min 4 s, $0.12\n",
        f"commit {'a' * 40}\n",
        'to answer: loop requeue 1 "your answer"\n',
    ):
        assert part in text, text


def test_a_running_task_shows_how_far_it_is(loop: Loop, project: Project) -> None:
    task = running(project, "Goes on")
    _say(project, task.id)
    assert "0 turns · " in loop("status", "1").out
    assert loop("status", "1", "--json").json["progress"]["turns"] == 0


def test_many_tasks_are_counted_and_not_all_shown(loop: Loop, project: Project) -> None:
    for n in range(23):
        loop("add", f"Task {n}")
    text = loop("status").out
    assert "Waiting (23)" in text and "and 3 more; --all shows them" in text
    assert "Task 22" not in text and "Task 22" in loop("status", "--all").out


def test_watch_needs_a_terminal(loop: Loop) -> None:
    called = loop("watch")
    assert called.code == 1 and "watch needs a terminal" in called.err


def test_a_pause_for_what_is_missing_is_told_once_as_the_problem(
    loop: Loop, project: Project
) -> None:
    project.config.write_text('{"bilder": {}}')
    project.paused.write_text(
        '{"by": "worker", "kind": "config", "reason": "an older one", '
        '"since": "2026-07-23T10:00:00Z"}'
    )
    text = loop("status").out
    assert "problem  ✗ .ai/config.json: bilder" in text
    assert "paused " not in text and "an older one" not in text


def test_a_pause_without_a_reason_is_not_said_twice(loop: Loop) -> None:
    assert loop("pause").out == "‖ paused; what runs goes on, `loop resume` lifts it\n"
    assert "paused   ‖ by the user; `loop resume` lifts it\n" in loop("status").out
    assert loop("timeline").out.endswith("queue paused\n")
    assert loop("resume").out == "▶ resumed; it was paused by the user\n"
