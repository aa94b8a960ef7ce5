"""Limits, requests to end, and the steps of ending."""

from __future__ import annotations

import os
import signal

import pytest

from loop.builder import processes
from tests.builder.launching import Run, wait_until

WAIT = "wait:/nowhere/at/all"


def test_a_run_over_its_time_is_ended(run: Run) -> None:
    end = run.end("init", "reply", WAIT, total_s=0.3)
    assert (end["ended_by"], end["signal"]) == ("timeout", signal.SIGINT)


def test_a_run_without_an_answer_of_the_api_is_ended(run: Run) -> None:
    assert run.end("init", WAIT, first_reply_s=0.3)["ended_by"] == "no_reply"


def test_an_answer_of_the_api_stops_the_clock_of_the_first_reply(run: Run) -> None:
    end = run.end("init", "reply", "sleep:1.2", "exit:0", first_reply_s=1.0)
    assert (end["ended_by"], end["exit"]) == (None, 0)


def test_a_silent_run_is_ended(run: Run) -> None:
    assert run.end("init", "reply", WAIT, silent_s=0.3)["ended_by"] == "silent"


def test_any_output_restarts_the_clock_of_silence(run: Run) -> None:
    steps = ["raw:.", "sleep:0.4"] * 4
    assert run.end(*steps, "exit:0", silent_s=1.2)["ended_by"] is None


def test_a_run_is_not_silent_while_a_tool_is_at_work(run: Run) -> None:
    end = run.end("tool", "sleep:1.2", "tool-done", "exit:0", silent_s=0.6)
    assert (end["ended_by"], end["exit"]) == (None, 0)


def test_silence_after_the_result_of_a_tool_counts_again(run: Run) -> None:
    assert run.end("tool", "tool-done", WAIT, silent_s=0.5)["ended_by"] == "silent"


def test_a_tool_at_work_does_not_stop_the_clock_of_the_whole_run(run: Run) -> None:
    assert run.end("tool", WAIT, silent_s=0.5, total_s=0.8)["ended_by"] == "timeout"


def test_a_builder_that_stays_after_its_result_is_lingering(run: Run) -> None:
    end = run.end("reply", "result", WAIT, grace_s=0.3)
    assert (end["ended_by"], end["signal"]) == ("lingering", signal.SIGINT)


def test_a_result_with_a_message_behind_it_is_not_the_end(run: Run) -> None:
    end = run.end("result", "reply", "sleep:0.8", "result", "exit:0", grace_s=0.5)
    assert (end["ended_by"], end["exit"]) == (None, 0)


def test_a_result_in_time_is_no_timeout_however_long_the_exit_takes(run: Run) -> None:
    end = run.end("reply", "result", "sleep:1.2", "exit:0", total_s=1.0, silent_s=0.8)
    assert (end["ended_by"], end["exit"]) == (None, 0)


def test_a_builder_that_exits_on_sigint_keeps_its_exit_code(run: Run) -> None:
    run.start("polite:7", "reply", WAIT)
    run.wait_for_line("assistant")
    os.kill(run.shim, signal.SIGTERM)
    end = run.wait_for_end()
    assert (end["ended_by"], end["exit"], end["signal"]) == ("interrupted", 7, None)


def test_a_deaf_builder_is_killed_and_the_first_reason_stands(run: Run) -> None:
    run.start("stubborn", "reply", WAIT, grace_s=0.3)
    run.wait_for_line("assistant")
    os.kill(run.shim, signal.SIGTERM)
    run.wait_for_line("signal")
    run.ask_to_end('{"reason":"cancelled"}')
    os.kill(run.shim, signal.SIGUSR1)
    end = run.wait_for_end()
    assert (end["ended_by"], end["signal"]) == ("interrupted", signal.SIGKILL)
    received = [line["number"] for line in run.lines() if line["type"] == "signal"]
    assert received == [signal.SIGINT, signal.SIGTERM]


@pytest.mark.parametrize("signum", [signal.SIGUSR1, signal.SIGTERM])
@pytest.mark.parametrize(
    ("request_text", "reason"),
    [
        ('{"reason":"cancelled","by":"architect"}', "cancelled"),
        ('{"reason":"interrupted"}', "interrupted"),
        ("", "cancelled"),
        ('{"reason":7}', "cancelled"),
    ],
)
def test_a_cancel_file_and_a_signal_end_the_run_at_once(
    run: Run, signum: signal.Signals, request_text: str, reason: str
) -> None:
    run.start("init", WAIT)
    run.ask_to_end(request_text)
    os.kill(run.shim, signum)
    assert run.wait_for_end()["ended_by"] == reason


def test_a_cancel_file_without_a_signal_is_found_as_well(run: Run) -> None:
    run.start("init", WAIT, silent_s=0.5)
    run.ask_to_end('{"reason":"cancelled"}')
    assert run.wait_for_end()["ended_by"] == "cancelled"


def test_sigterm_without_a_cancel_file_ends_the_run_as_interrupted(run: Run) -> None:
    run.start("init", WAIT)
    os.kill(run.shim, signal.SIGTERM)
    assert run.wait_for_end()["ended_by"] == "interrupted"


@pytest.mark.parametrize("signum", [signal.SIGUSR1, signal.SIGINT, signal.SIGHUP])
def test_signals_that_ask_for_nothing_change_nothing(run: Run, signum: signal.Signals) -> None:
    run.start("init", f"wait:{run.go}", "exit:0")
    os.kill(run.shim, signum)
    run.go.write_text("go")
    end = run.wait_for_end()
    assert (end["ended_by"], end["exit"]) == (None, 0)


def test_a_stopped_shim_uses_up_no_limit(run: Run) -> None:
    slept = run.folder / "slept"
    steps = ["reply", "sleep:2", f"environment:{slept}", f"wait:{run.go}", "exit:0"]
    run.start(*steps, total_s=1.5, grace_s=0.05)
    run.wait_for_line("assistant")
    os.kill(run.shim, signal.SIGSTOP)
    wait_until(slept.exists)  # more time went by than the run may take
    run.go.write_text("go")
    builder = run.pid
    wait_until(lambda: processes.start_ticks(builder) is None)
    os.kill(run.shim, signal.SIGCONT)
    end = run.wait_for_end()
    assert (end["ended_by"], end["exit"]) == (None, 0)
    assert end["awake_s"] < 1.5
