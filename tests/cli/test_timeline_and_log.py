"""timeline and log, read once and followed."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime

from loop.actions.change import pause
from loop.actions.requeue import escalate
from loop.store.paths import Project
from tests.cli.conftest import BOUND_S, Called, running, settle, settled

Loop = Callable[..., Called]
_RUN = "0000-1"


def _message(kind: str, *blocks: dict[str, object], inner: bool = False) -> dict[str, object]:
    event: dict[str, object] = {"type": kind, "message": {"content": list(blocks)}}
    return event | ({"parent_tool_use_id": "t1"} if inner else {})


def _tool(name: str, **given: object) -> dict[str, object]:
    return {"type": "tool_use", "name": name, "input": given}


def _write_log(project: Project, *events: dict[str, object], tail: bytes = b"") -> bytes:
    lines = [json.dumps(event, separators=(",", ":")).encode() + b"\n" for event in events]
    data = b"".join(lines) + tail
    project.log("1").write_bytes(data)
    return data


def _whole_run() -> list[dict[str, object]]:
    result: dict[str, object] = {"type": "tool_result", "content": "one\ntwo\nthree"}
    said = [{"type": "text", "text": "no such file"}]
    wrong: dict[str, object] = {"type": "tool_result", "is_error": True, "content": said}
    return [
        {"type": "loop", "run": _RUN, "event": "started", "number": 2},
        {"type": "system", "subtype": "init", "claude_code_version": "2.1.332", "model": "opus"},
        _message("assistant", {"type": "text", "text": "I'll look.\nThen write."}),
        _message("assistant", _tool("Bash", command="git status\n  --short")),
        _message("user", result),
        _message("assistant", _tool("Read", file_path="a.py"), inner=True),
        _message("user", wrong, inner=True),
        _message("assistant", _tool("StructuredOutput", outcome="done", summary="all of it")),
        {
            "type": "result",
            "subtype": "success",
            "terminal_reason": "completed",
            "num_turns": 3,
            "total_cost_usd": 0.1234,
        },
        {"type": "loop", "run": _RUN, "event": "ended", "exit": 0},
    ]


def test_the_log_says_who_did_what(loop: Loop, project: Project) -> None:
    settled(project, "T", "success", "success")
    _write_log(project, *_whole_run(), tail=b'{"type":"assis')
    assert loop("log", "1").out.splitlines() == [
        "── run 2",
        "Claude Code 2.1.332, model opus",
        "I'll look.",
        "Then write.",
        "  → Bash git status --short",
        "    ✓ one (+ 2 lines)",
        "      → Read a.py",
        "        ✗ no such file",
        "  → report: done, all of it",
        "✓ ended: completed · 3 turns · $0.12",
        "a line that can't be read (14 bytes)",
    ]


def test_the_log_is_data_or_bytes_when_asked_for(
    loop: Loop, project: Project, env: dict[str, str]
) -> None:
    settled(project, "T", "success", "success")
    data = _write_log(project, *_whole_run())
    entries = loop("log", "1", "--json").json
    assert entries[0] == {"kind": "run", "text": "run 2", "ok": None, "inner": False}
    assert [entry["kind"] for entry in entries] == [
        "run", "note", "says", "tool", "result", "tool", "result", "tool", "end",
    ]  # fmt: skip
    raw = subprocess.run(
        [sys.executable, "-m", "loop", "log", "1", "--raw", "--project", str(project.root)],
        env=env, capture_output=True, timeout=BOUND_S, check=True,
    )  # fmt: skip
    assert raw.stdout == data


def test_a_log_with_anything_in_it_is_no_crash_and_harmless(loop: Loop, project: Project) -> None:
    settled(project, "T", "success", "success")
    steering = "\x1b]0;x\x07\x9b2J\u202e"
    odd: list[dict[str, object]] = [
        {"type": "assistant", "message": None},
        {"type": "assistant", "message": {"content": "text " + steering}},
        {"type": "assistant", "message": {"content": [1, {"type": "tool_use", "input": 3}]}},
        _message("assistant", _tool("Bash", command=steering), {"type": "text", "text": 7}),
        _message("user", {"type": "tool_result", "content": None}),
        {"type": "result", "result": steering, "is_error": True, "num_turns": "x"},
        {"type": "loop", "event": "ended", "ended_by": steering},
        {"type": ["x"]},
    ]
    _write_log(project, *odd, tail=b"\xff\xfe\n[]\n\n")
    called = loop("log", "1")
    assert (called.code, called.err) == (0, "")
    assert not set(called.out) & set("\x1b\x07\x9b\u202e")
    assert called.out.count("a line that can't be read") == 2


def test_a_task_that_has_not_run_has_no_log(loop: Loop) -> None:
    loop("add", "T")
    called = loop("log", "1")
    assert called.code == 1
    assert called.err == "loop: task 1 has no log: it is queued and has not run\n"


def _start(project: Project, env: dict[str, str], *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "loop", *words],
        cwd=project.root, env=env, text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def test_a_followed_log_goes_on_until_the_task_has_ended(
    project: Project, env: dict[str, str]
) -> None:
    task = running(project, "T")
    events = _whole_run()
    _write_log(project, *events[:2])
    process = _start(project, env, "log", "1", "-f")
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "── run 2\n"
        with project.log("1").open("ab") as log:
            log.write(json.dumps(events[3]).encode() + b"\n")
        settle(project, task, "success", "success")
        out, err = process.communicate(timeout=BOUND_S)
    finally:
        process.kill()
        process.wait()
    assert (process.returncode, err) == (0, "")
    assert out.splitlines()[-1] == "  → Bash git status --short"


def test_a_followed_timeline_tells_of_what_comes_until_ctrl_c(
    project: Project, env: dict[str, str]
) -> None:
    settled(project, "T", "success", "success")
    process = _start(project, env, "timeline", "-f", "-n", "1", "--json")
    try:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["event"] == "run_completed"
        pause(project, "user", "lunch", datetime.now(UTC))
        assert json.loads(process.stdout.readline())["event"] == "queue_paused"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=BOUND_S)
    finally:
        process.kill()
        process.wait()
    assert (process.returncode, out, err) == (130, "", "")


def test_a_followed_timeline_of_one_task_tells_of_no_other(
    project: Project, env: dict[str, str]
) -> None:
    task = settled(project, "T", "success", "success")
    settled(project, "Other", "failure", "reported")
    process = _start(project, env, "timeline", "1", "-f", "-n", "1", "--json")
    try:
        assert process.stdout is not None
        first = json.loads(process.stdout.readline())
        assert (first["event"], first["task_id"]) == ("run_completed", task.id)
        pause(project, "user", "lunch", datetime.now(UTC))
        escalate(project, task.id, "Blue?", [], datetime.now(UTC))
        assert json.loads(process.stdout.readline())["event"] == "escalated_to_user"
    finally:
        process.kill()
        process.communicate(timeout=BOUND_S)


def test_the_timeline_is_told_in_words(loop: Loop, project: Project) -> None:
    settled(project, "Good", "success", "success", commit_hash="abcdef0123456789")
    settled(project, "Bad", "failure", "turn_limit")
    loop("requeue", "2", "smaller steps")
    loop("edit", "2", "--title", "x")
    loop("pause", "lunch")
    loop("resume")
    lines = [line.partition("  ")[2].strip() for line in loop("timeline").out.splitlines()]
    assert lines == [
        "user       ·  1     queued: Good",
        "builder    ▶  1     run 1 starts",
        "builder    ✓  1     success · $0.12 · abcdef012",
        "user       ·  2     queued: Bad",
        "builder    ▶  2     run 1 starts",
        "builder    ✗  2     failure: turn_limit · $0.12",
        "user       ·  2     requeued: smaller steps",
        "user       ·  2     edited: title",
        "user       ‖        queue paused: lunch",
        "user       ▶        queue resumed",
    ]


def test_the_timeline_can_be_narrowed(loop: Loop, project: Project) -> None:
    settled(project, "A", "success", "success")
    settled(project, "B", "success", "success")
    assert [e["event"] for e in loop("timeline", "-n", "2", "0001", "--json").json] == [
        "run_started",
        "run_completed",
    ]
    assert loop("timeline", "-n", "0", "--json").json == []
    assert loop("timeline", "-n", "0").out == ""


def test_a_timeline_without_events_says_so(loop: Loop) -> None:
    assert loop("timeline").out == "nothing has happened yet\n"
    assert loop("timeline", "--json").json == []


def test_a_run_that_was_taken_over_is_told_in_words(loop: Loop, project: Project) -> None:
    event = {"event": "run_recovered", "ts": "2026-07-23T10:00:00Z", "actor": "builder",
             "task_id": "1", "run": 1, "found": "wait"}  # fmt: skip
    project.timeline.write_text(json.dumps(event) + "\n")
    assert loop("timeline").out.rstrip().endswith("run taken over: it goes on")


def test_events_that_nobody_knows_are_shown_all_the_same(loop: Loop, project: Project) -> None:
    odd = [{"event": "new_thing", "ts": "soon", "actor": 3, "reason": "why"},
           {"event": "task_queued", "instructions": 5}, {"event": "run_completed"},
           {"event": "task_edited", "fields": 1}, {"event": "undone", "paths": None},
           {"event": ["x"]}]  # fmt: skip
    project.timeline.write_text("".join(json.dumps(event) + "\n" for event in odd) + "{half")
    called = loop("timeline")
    assert (called.code, called.err) == (0, "")
    assert "new thing: why" in called.out
    assert len(called.out.splitlines()) == len(odd)


def test_a_split_is_not_told_as_another_attempt(loop: Loop, project: Project) -> None:
    event = {"event": "run_completed", "ts": "2026-07-23T10:00:00Z", "actor": "builder",
             "task_id": "1", "run": 1, "status": "success", "reason": "split", "retry": True,
             "cost_usd": 0.5}  # fmt: skip
    project.timeline.write_text(json.dumps(event) + "\n")
    assert loop("timeline").out.rstrip().endswith("split into subtasks · $0.50")
