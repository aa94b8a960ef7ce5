"""work, serve, and `loop` alone: what each starts, and what is printed before and meanwhile."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from loop.cli.service import news_printer
from loop.store.paths import Project
from tests.cli.conftest import BOUND_S, Called

Loop = Callable[..., Called]

_STARTED = """
import json, sys
from loop.service import app
def serve(project, name):
    print(json.dumps(["serve", str(project.root), name]), file=sys.stderr)
    return 0
def work(project, options, show):
    print(json.dumps(["work", str(project.root), options.driver, options.drain,
        options.max_tasks, options.cooldown_s, options.model]), file=sys.stderr)
    return 0
app.serve, app.work = serve, work
from loop.__main__ import main
sys.exit(main(sys.argv[1:]))
"""


def _start(
    project: Project, env: dict[str, str], *words: str, stdin: int
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", _STARTED, *words],
        cwd=project.root, env=env, stdin=stdin,
        capture_output=True, text=True, timeout=BOUND_S, check=False,
    )  # fmt: skip


def test_serve_hands_over_without_a_byte_on_stdout(project: Project, env: dict[str, str]) -> None:
    done = _start(project, env, "serve", stdin=subprocess.DEVNULL)
    assert (done.returncode, done.stdout) == (0, "")
    assert json.loads(done.stderr) == ["serve", str(project.root), "architect_watcher_shop"]


def test_serve_goes_on_when_the_settings_of_the_desktop_are_damaged(
    project: Project, env: dict[str, str]
) -> None:
    for name in ("config/Claude", "home/Library/Application Support/Claude"):
        place = Path(env["HOME"], name)
        place.mkdir(parents=True)
        (place / "claude_desktop_config.json").write_text("{ damaged")
    done = _start(project, env, "serve", stdin=subprocess.DEVNULL)
    assert json.loads(done.stderr) == ["serve", str(project.root), "architect_watcher_shop"]


def test_serve_ends_with_its_stdin_and_says_nothing_of_its_own(
    loop_process: Loop, project: Project
) -> None:
    called = loop_process("serve", "--project", str(project.root))
    assert (called.code, called.out) == (0, "")


def test_serve_tells_a_wrong_folder_on_stderr(loop_process: Loop) -> None:
    called = loop_process("serve", "--project", "/nowhere")
    assert (called.code, called.out) == (1, "")
    assert called.err == "loop: no folder /nowhere: give the project's folder with --project\n"


def test_work_passes_its_options_on(project: Project, env: dict[str, str]) -> None:
    words = ["--drain", "--max-tasks", "3", "--cooldown", "1.5", "--model", "opus"]
    done = _start(project, env, "work", *words, stdin=subprocess.DEVNULL)
    assert json.loads(done.stderr) == ["work", str(project.root), "work", True, 3, 1.5, "opus"]
    assert done.stdout == f"Working on shop ({project.root})\n"
    done = _start(project, env, "work", stdin=subprocess.DEVNULL)
    assert json.loads(done.stderr)[2:] == ["work", False, None, 0.0, None]


def test_work_on_an_empty_queue_drains_at_once(loop_process: Loop, project: Project) -> None:
    called = loop_process("work", "--drain")
    assert (called.code, called.err) == (0, "")


def test_loop_alone_serves_a_pipe(project: Project, env: dict[str, str]) -> None:
    reading, writing = os.pipe()
    os.close(writing)
    try:
        done = _start(project, env, "--project", str(project.root), stdin=reading)
    finally:
        os.close(reading)
    assert done.stdout == ""
    assert json.loads(done.stderr)[0] == "serve"


def test_loop_alone_works_on_a_terminal(project: Project, env: dict[str, str]) -> None:
    ours, theirs = os.openpty()
    try:
        done = _start(project, env, stdin=theirs)
    finally:
        os.close(ours)
        os.close(theirs)
    assert json.loads(done.stderr)[:4] == ["work", str(project.root), "work", False]
    assert done.stdout.startswith(f"Working on shop ({project.root})\n")


def test_loop_alone_with_nobody_there_does_nothing(project: Project, env: dict[str, str]) -> None:
    done = _start(project, env, stdin=subprocess.DEVNULL)
    assert (done.returncode, done.stdout) == (2, "")
    assert "say `loop work` or `loop serve`" in done.stderr


def test_what_happens_is_printed_and_progress_only_when_it_is_new(
    capsys: pytest.CaptureFixture[str],
) -> None:
    show = news_printer()
    progress: dict[str, object] = {
        "event": "progress", "task_id": "1", "turns": 2, "last_action": "Bash make",
        "elapsed_s": 65, "silent_s": 3, "cost_usd": None,
    }  # fmt: skip
    show({"ts": "2026-07-23T10:00:00Z", "actor": "builder", "event": "run_started", "run": 1,
          "task_id": "1"})  # fmt: skip
    show(progress)
    show(progress | {"elapsed_s": 66})
    show(progress | {"turns": 3, "last_action": "gives its report", "silent_s": 10})
    show({"event": "trouble", "reason": "the disk is full"})
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert lines[0].endswith("▶  1     run 1 starts")
    assert lines[1:] == [
        "2 turns · Bash make · 1 min 5 s",
        "3 turns · gives its report · 1 min 5 s · silent 10 s",
        "✗        the disk is full",
    ]


@pytest.mark.parametrize(
    ("status", "hint"),
    [("needs_input", "→ `loop status 7` shows the question"),
     ("failure", "→ `loop status 7` shows why"), ("success", None)],
)  # fmt: skip
def test_after_an_ending_that_wants_a_look_it_is_said_where(
    status: str, hint: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    ended: dict[str, object] = {
        "ts": "2026-07-23T10:00:00Z", "actor": "builder", "event": "run_completed", "run": 1,
        "task_id": "7", "status": status, "reason": status, "cost_usd": 0.1,
    }  # fmt: skip
    news_printer()(ended)
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert lines[1:] == ([hint] if hint else [])


def test_work_says_what_ctrl_c_leaves(project: Project, env: dict[str, str]) -> None:
    done = _start(project, env, "work", stdin=subprocess.DEVNULL)
    assert "Ctrl-C ends it; a run under way goes on until it has ended\n" in done.stdout
    project.config.write_text('{"on_shutdown": "stop"}')
    done = _start(project, env, "work", stdin=subprocess.DEVNULL)
    assert "Ctrl-C ends it and the run under way\n" in done.stdout
