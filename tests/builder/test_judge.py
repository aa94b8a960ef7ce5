from __future__ import annotations

import json
import os
from datetime import datetime
from typing import Any

import pytest

from loop.builder.judge import ending_of, exit_time
from loop.builder.stream import run_mark
from loop.core.config import Builder, Config
from loop.core.outcome import Ending, classify
from loop.core.task import Task
from loop.store.paths import Project
from tests.stream_lines import api_error, init, reported, result, says
from tests.tasks import claim, submit

NO_SESSION = "No conversation found with session ID: x"


@pytest.fixture
def task(project: Project, now: datetime) -> Task:
    return claim(project, submit(project, now), now)


def write(
    project: Project,
    task: Task,
    *lines: dict[str, Any],
    exit_file: dict[str, Any] | None = None,
    stderr: str = "",
) -> None:
    uuid = task.runs[-1].uuid
    text = "".join(json.dumps(line) + "\n" for line in lines)
    project.log(task.id).write_bytes(run_mark(uuid) + b',"event":"started"}\n' + text.encode())
    project.err(task.id).write_text(stderr)
    if exit_file is not None:
        whole = {"run": uuid, "exit": 0, "signal": None, "ended_by": None, **exit_file}
        project.run_file(task.id, "exit").write_text(json.dumps(whole))


def ending(project: Project, task: Task) -> Ending:
    return ending_of(project, task, task.runs[-1], Config(), ("a",))


def reason(project: Project, task: Task) -> str:
    return classify(ending(project, task)).reason


def test_all_that_the_files_say_is_known(project: Project, task: Task) -> None:
    swept = [{"pid": 1, "command": "npm run dev"}, "odd"]
    write(project, task, init(), reported(), exit_file={"swept": swept}, stderr="a warning")
    uuid = task.runs[-1].uuid
    project.run_file(task.id, "guard").write_text(
        json.dumps({"run": uuid, "refusals": 2, "gave_up": True})
    )
    found = ending(project, task)
    assert (found.exit, found.ended_by, found.could_not_start) == (0, None, None)
    assert (found.refusals, found.readme_missing, found.swept) == (2, True, ("npm run dev",))
    assert (found.stderr, found.changed) == ("a warning", ("a",))
    assert found.transcript.report is not None
    assert classify(found).status == "success"


def test_the_settings_say_whether_reports_or_markers_count(project: Project, task: Task) -> None:
    write(project, task, init(), result(), exit_file={})
    config = Config(builder=Builder(report="marker"))
    found = ending_of(project, task, task.runs[-1], config, None)
    assert found.mode == "marker"


@pytest.mark.parametrize("data", [None, b"", b"{", b"[]", b'{"run": "another", "exit": 0}'])
def test_without_an_exit_file_of_this_run_it_counts_as_interrupted(
    project: Project, task: Task, data: bytes | None
) -> None:
    write(project, task, init(), says("Hm"))
    for name in ("exit", "guard"):
        if data is not None:
            project.run_file(task.id, name).write_bytes(data)
    assert (ending(project, task).exit, reason(project, task)) == (None, "interrupted")


def test_a_result_line_counts_also_when_nobody_saw_the_exit(project: Project, task: Task) -> None:
    write(project, task, init(), reported())
    assert reason(project, task) == "success"


@pytest.mark.parametrize(
    ("stderr", "words"),
    [
        ("error: unknown option '--json-schema'", "too old .*claude update"),
        ("Error: Session ID x is already in use.", "already in use"),
    ],
)
def test_a_builder_that_refused_its_command_line_could_not_start(
    project: Project, task: Task, stderr: str, words: str
) -> None:
    write(project, task, exit_file={"exit": 1}, stderr=f"{stderr}\n")
    assert reason(project, task) == "could_not_start"
    with pytest.raises(AssertionError, match=words):
        raise AssertionError(classify(ending(project, task)).summary)


def test_a_session_that_is_not_there_could_not_start_though_it_has_a_result_line(
    project: Project, task: Task
) -> None:
    line = result(is_error=True, subtype="error_during_execution", num_turns=0, result=None)
    write(project, task, line, exit_file={"exit": 1}, stderr=NO_SESSION)
    assert reason(project, task) == "could_not_start"


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        (result(is_error=True, terminal_reason="max_turns"), "turn_limit"),
        (api_error(401, "Invalid API key"), "login"),
    ],
)
def test_what_an_earlier_run_left_on_stderr_is_not_taken_for_this_one_s(
    project: Project, task: Task, line: dict[str, Any], wanted: str
) -> None:
    write(project, task, init(), says("Hm"), line, exit_file={"exit": 1}, stderr=NO_SESSION)
    assert reason(project, task) == wanted


def test_the_shim_s_own_error_is_the_cause(project: Project, task: Task) -> None:
    write(project, task, exit_file={"exit": None, "error": "could not start /x: not found"})
    outcome = classify(ending(project, task))
    assert outcome.reason == "could_not_start"
    assert outcome.summary == "Claude Code could not start: could not start /x: not found"


def test_a_run_that_left_no_trace_at_all_is_judged_too(project: Project, task: Task) -> None:
    assert reason(project, task) == "interrupted"


def test_a_run_ended_when_its_exit_file_was_written(
    project: Project, task: Task, now: datetime
) -> None:
    assert exit_time(project, task, task.runs[-1]) is None
    write(project, task, exit_file={})
    path = project.run_file(task.id, "exit")
    os.utime(path, (now.timestamp(), now.timestamp()))
    assert exit_time(project, task, task.runs[-1]) == now
    path.write_text('{"run": "another"}')
    assert exit_time(project, task, task.runs[-1]) is None
