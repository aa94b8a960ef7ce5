"""From the claim of the log to the exit file: nothing runs twice, and the end is recorded."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from loop.builder import processes, runlog
from tests.builder.launching import LAUNCHER, PATIENCE_S, Run, wait_until


def sleeps_over(pid: int, file: Path) -> bool:
    """Whether the process has the file open and waits for something."""
    is_asleep = ") S " in Path(f"/proc/{pid}/stat").read_text()
    return is_asleep and any(fd.resolve() == file for fd in Path(f"/proc/{pid}/fd").iterdir())


def test_the_exit_file_and_the_last_line_say_how_the_builder_ended(run: Run) -> None:
    end = run.end("init", "reply", "result", "exit:3")
    assert (end["exit"], end["signal"], end["ended_by"], end["error"]) == (3, None, None, None)
    assert end["swept"] == []
    assert end["at"].endswith("Z")
    first, *said, last = run.lines()
    assert list(first) == ["type", "run", "event", "task_id", "number", "at", "shim"]
    assert (first["type"], first["run"], first["event"]) == ("loop", run.uuid, "started")
    assert (first["task_id"], first["number"]) == ("42", 1)
    assert first["shim"]["pid"] == run.shim
    assert first["shim"]["boot"] == processes.boot_id()
    assert [line["type"] for line in said] == ["system", "assistant", "result"]
    assert last == {"type": "loop", "run": run.uuid, "event": "ended"} | end
    assert run.log.read_bytes().count(runlog.prefix(run.uuid)) == 2
    assert run.log.stat().st_mode & 0o777 == 0o600


def test_a_builder_killed_by_a_signal_is_recorded_with_it(run: Run) -> None:
    end = run.end("kill:9")
    assert (end["exit"], end["signal"], end["ended_by"]) == (None, 9, None)


def test_the_launcher_returns_while_the_builder_runs_on(run: Run) -> None:
    run.start(f"wait:{run.go}", "exit:0")
    assert processes.start_ticks(run.pid) is not None
    assert run.own_lines()[0]["shim"]["start"] == processes.start_ticks(run.shim)
    assert os.getsid(run.shim) == run.shim
    assert os.getpgid(run.pid) == run.pid
    run.go.write_text("go")
    end = run.wait_for_end()
    assert end["exit"] == 0
    assert end["awake_s"] < 4  # its end was announced; the next look was 5 s away


def test_the_lock_is_held_while_the_builder_runs_and_free_afterwards(run: Run) -> None:
    run.start(f"wait:{run.go}")
    assert run.is_locked()
    run.go.write_text("go")
    run.wait_for_end()
    assert not run.is_locked()


def test_the_lock_outlives_a_killed_shim_for_as_long_as_the_builder_runs(run: Run) -> None:
    run.start("init", f"wait:{run.go}", "result")
    shim = processes.identity(run.shim)
    os.kill(run.shim, signal.SIGKILL)
    wait_until(lambda: processes.start_ticks(run.shim) != shim["start"])
    assert run.is_locked()
    assert run.again().launch()[0] == 3
    run.go.write_text("go")
    wait_until(lambda: not run.is_locked())
    assert run.lines()[-1]["type"] == "result"
    assert not run.exit.exists()


def test_a_killed_server_does_not_end_the_run(run: Run) -> None:
    command = run.prepare("reply", f"wait:{run.go}", "result", "exit:5")
    program = "import subprocess, sys, time; subprocess.run(sys.argv[1:]); time.sleep(20)"
    server = subprocess.Popen(
        [sys.executable, "-c", program, *command],
        env=run.environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    assert server.stdout is not None
    run.note(json.loads(server.stdout.readline()))
    os.killpg(server.pid, signal.SIGKILL)
    assert server.wait(PATIENCE_S) == -signal.SIGKILL
    server.stdout.close()
    run.go.write_text("go")
    assert run.wait_for_end()["exit"] == 5


def test_a_second_launcher_of_the_same_run_refuses_during_the_run_and_after(run: Run) -> None:
    run.start(f"wait:{run.go}")
    code, answer = run.launch(f"wait:{run.go}")
    assert (code, answer["state"]) == (3, "refused")
    assert "launched or voided" in answer["why"]
    run.go.write_text("go")
    run.wait_for_end()
    assert run.launch("init")[0] == 3
    assert [line["event"] for line in run.own_lines()] == ["started", "ended"]


def test_of_many_launchers_at_once_exactly_one_starts_the_builder(run: Run) -> None:
    command = run.prepare("init", f"wait:{run.go}")
    launchers = [
        subprocess.Popen(command, env=run.environment, stdout=subprocess.PIPE) for _ in range(8)
    ]
    answers = [json.loads(launcher.communicate(timeout=PATIENCE_S)[0]) for launcher in launchers]
    for answer in answers:
        run.note(answer)
    assert sorted(launcher.returncode for launcher in launchers) == [0] + [3] * 7
    run.wait_for_line("system")
    run.go.write_text("go")
    run.wait_for_end()
    assert [line["type"] for line in run.lines()] == ["loop", "system", "loop"]


def test_a_shim_that_dies_without_a_word_is_told_apart(run: Run) -> None:
    run.log.touch()
    with run.log.open("rb") as log:
        fcntl.flock(log, fcntl.LOCK_EX)
        launcher = subprocess.Popen(
            run.prepare("init"),
            env=run.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        wait_until(lambda: len(processes.bearers(run.uuid)) == 2)
        (shim,) = set(processes.bearers(run.uuid)) - {launcher.pid}
        os.kill(shim, signal.SIGKILL)
        said, complaint = launcher.communicate(timeout=PATIENCE_S)
    assert (launcher.returncode, said) == (5, b"")
    assert b".err" in complaint
    assert run.log.read_bytes() == b""


def test_another_run_of_the_task_refuses_while_the_first_one_is_alive(run: Run) -> None:
    run.start(f"wait:{run.go}")
    run.running("json").write_text("{}")
    code, answer = run.again().launch("init")
    assert (code, answer["state"]) == (3, "refused")
    assert "holds" in answer["why"]
    run.go.write_text("go")
    run.wait_for_end()


def test_a_reader_that_holds_the_lock_for_a_moment_delays_the_launch_only(run: Run) -> None:
    run.log.touch()
    with run.log.open("rb") as log, (run.folder / "answer").open("wb") as answer:
        fcntl.flock(log, fcntl.LOCK_EX)
        launcher = subprocess.Popen(run.prepare("exit:0"), env=run.environment, stdout=answer)
        wait_until(lambda: any(sleeps_over(pid, run.log) for pid in processes.bearers(run.uuid)))
    assert launcher.wait(PATIENCE_S) == 0
    assert run.wait_for_end()["exit"] == 0


def test_a_voided_run_is_refused(run: Run) -> None:
    line = {"type": "loop", "run": run.uuid, "event": "void"}
    run.log.write_text("{}\n" + json.dumps(line, separators=(",", ":")) + "\n")
    assert run.launch("init")[1]["state"] == "refused"
    assert len(run.lines()) == 2


def test_a_line_that_only_quotes_ours_voids_nothing(run: Run) -> None:
    run.log.write_text('{"text":' + runlog.prefix(run.uuid).decode() + "}}\n")
    assert run.end("exit:0")["exit"] == 0


@pytest.mark.parametrize("record", [None, "", '{"uuid":"11111111-1111-1111-1111-111111111111"}'])
def test_a_record_that_is_absent_or_of_another_run_is_refused(run: Run, record: str | None) -> None:
    run.running("json").unlink()
    if record is not None:
        run.running("json").write_text(record)
    code, answer = run.launch("init")
    assert (code, answer["state"]) == (3, "refused")
    assert run.log.read_bytes() == b""
    assert not run.exit.exists()


def test_a_builder_that_cannot_be_executed_gives_an_exit_file_with_the_error(run: Run) -> None:
    run.argv_head = ["/nowhere/claude"]
    code, answer = run.launch()
    assert (code, answer["state"]) == (4, "failed")
    end = run.wait_for_end()
    assert end["error"] == answer["error"]
    assert "/nowhere/claude" in end["error"]
    assert "No such file" in end["error"]
    assert (end["exit"], end["signal"], end["ended_by"]) == (None, None, None)
    assert [line["event"] for line in run.own_lines()] == ["started", "ended"]


@pytest.mark.parametrize("argv", [["./claude"], [sys.executable, "a\0b"]])
def test_a_command_that_cannot_be_meant_fails_in_words(run: Run, argv: list[str]) -> None:
    (run.folder / "claude").symlink_to("/bin/true")
    run.argv_head = argv
    assert run.launch()[1]["state"] == "failed"
    assert run.wait_for_end()["error"].startswith("could not start")


def test_a_missing_prompt_fails_in_words(run: Run) -> None:
    run.running("prompt").unlink()
    assert run.launch("init")[0] == 4
    assert "0042.prompt" in run.wait_for_end()["error"]


@pytest.mark.parametrize("content", [None, "{", "[]", '{"run":"../x"}', "{}"])
def test_a_damaged_launch_file_fails_and_touches_nothing(run: Run, content: str | None) -> None:
    command = run.prepare()
    run.running("launch").unlink()
    if content is not None:
        run.running("launch").write_text(content)
    done = subprocess.run(command, capture_output=True, timeout=PATIENCE_S, check=False)
    assert (done.returncode, done.stderr) == (4, b"")
    assert json.loads(done.stdout)["state"] == "failed"
    assert not run.log.exists()


def test_a_launcher_without_a_launch_file_says_so(run: Run) -> None:
    done = subprocess.run([sys.executable, LAUNCHER], capture_output=True, check=False, timeout=5)
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"launch file" in done.stderr


def test_a_log_that_cannot_be_opened_fails(run: Run) -> None:
    run.log.mkdir()
    code, answer = run.launch("init")
    assert (code, answer["state"]) == (4, "failed")


def test_runs_are_appended_to_one_log_each_line_on_a_line_of_its_own(run: Run) -> None:
    run.log.write_text("cut off by a crash")
    for number in range(5):
        after = run if number == 0 else run.again()
        assert after.end("init", "raw:{cut", f"exit:{number}")["exit"] == number
    first, *log = run.log.read_text().splitlines()
    assert first == "cut off by a crash"
    assert [log[n] for n in range(2, len(log), 4)] == ["{cut"] * 5
    events = [json.loads(line).get("event") for line in log if line != "{cut"]
    assert events == ["started", None, "ended"] * 5


def test_a_log_that_was_replaced_while_waiting_for_its_lock_is_opened_anew(run: Run) -> None:
    run.log.touch()
    old = run.log.with_suffix(".old")
    with run.log.open("rb") as log:
        fcntl.flock(log, fcntl.LOCK_EX)
        launcher = subprocess.Popen(
            run.prepare("exit:0"), env=run.environment, stdout=subprocess.DEVNULL
        )
        wait_until(lambda: any(sleeps_over(pid, run.log) for pid in processes.bearers(run.uuid)))
        run.log.rename(old)
        run.log.touch()
    assert launcher.wait(PATIENCE_S) == 0
    run.wait_for_end()
    assert [line["event"] for line in run.own_lines()] == ["started", "ended"]
    assert old.read_bytes() == b""


def test_vanished_folders_stop_neither_the_limits_nor_the_shim(run: Run) -> None:
    run.start("init", f"wait:{run.go}", silent_s=0.5)
    with run.log.open("rb") as log:
        shutil.rmtree(run.exit.parent)
        shutil.rmtree(run.log.parent)
        wait_until(lambda: b'"event":"ended"' in os.pread(log.fileno(), 100_000, 0))
        last = json.loads(log.read().splitlines()[-1])
    assert last["ended_by"] == "silent"
    assert not run.exit.parent.exists()


def test_an_exit_file_that_cannot_be_written_is_said_in_the_err_file_only(run: Run) -> None:
    run.start(f"wait:{run.go}", "exit:0")
    run.exit.mkdir()
    run.go.write_text("go")
    wait_until(lambda: not run.is_locked())
    assert run.own_lines()[-1]["event"] == "ended"
    err = (run.folder / "logs" / "0042.err").read_text().splitlines()
    assert len(err) == 1
    assert "could not write" in err[0]
    assert [path.name for path in run.exit.parent.glob(".*")] == []
