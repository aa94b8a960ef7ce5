"""The scripted Messages API, with the real Claude Code as its client."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import urllib.request
import uuid
from pathlib import Path
from typing import Any

import pytest

from examples import scripted_api
from examples.scripted_api import ScriptedAPI, error, hang, reply, report, text, tool
from tests.claude_binary import find_claude

SCHEMA = json.dumps(
    {
        "type": "object",
        "properties": {"outcome": {"type": "string"}, "summary": {"type": "string"}},
        "required": ["outcome", "summary"],
    }
)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


def run_claude(
    api: ScriptedAPI, home: Path, project: Path, prompt: str, *options: str
) -> dict[str, Any]:
    """Run the real Claude Code on a prompt; its result line."""
    command = [str(find_claude()), "-p", "--output-format", "json", *options]
    done = subprocess.run(
        command,
        input=prompt,
        env=api.claude_env(home),
        cwd=project,
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    assert done.stdout, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def test_a_text_is_what_the_run_answers_and_its_usage_makes_the_cost(
    home: Path, project: Path
) -> None:
    cheap = [reply(text("Hello, 世界."), usage={"output_tokens": 10})]
    dear = [reply(text("Hello again."), usage={"output_tokens": 1000})]
    with ScriptedAPI({"cheap": cheap, "dear": dear}) as api:
        first = run_claude(api, home, project, "cheap")
        second = run_claude(api, home, project, "dear")
    assert first["result"] == "Hello, 世界."
    assert first["usage"]["output_tokens"] == 10
    assert second["total_cost_usd"] > first["total_cost_usd"] > 0


def test_a_tool_call_is_carried_out_and_its_result_comes_back(home: Path, project: Path) -> None:
    target = project / "a.txt"
    script = [[tool("Write", file_path=str(target), content="written\n")], [text("Wrote it.")]]
    with ScriptedAPI(script) as api:
        result = run_claude(api, home, project, "Write", "--permission-mode", "acceptEdits")
        last = api.requests[-1]["messages"]
    assert target.read_text(encoding="utf-8") == "written\n"
    assert result["result"] == "Wrote it."
    assert "tool_result" in json.dumps(last)


def test_a_report_ends_a_run_that_has_a_schema(home: Path, project: Path) -> None:
    script = [[text("Not yet.")], [report("needs_input", "Asked.", question="A or B?")]]
    with ScriptedAPI(script) as api:
        result = run_claude(api, home, project, "Report", "--json-schema", SCHEMA)
        assert len(api.requests) == len(script)
    assert result["structured_output"]["outcome"] == "needs_input"
    assert result["structured_output"]["question"] == "A or B?"


def test_an_error_step_is_what_the_run_ends_with(home: Path, project: Path) -> None:
    with ScriptedAPI([error(401, "authentication_error", "invalid x-api-key")]) as api:
        result = run_claude(api, home, project, "Go")
    assert result["is_error"] is True
    assert result["api_error_status"] == 401


def test_scripts_that_share_one_api_are_chosen_by_a_word_of_the_prompt(
    home: Path, project: Path
) -> None:
    scripts = {"task 7": [[text("Seven.")]], "task 8": [[text("Eight.")]], "": [[text("Other.")]]}
    with ScriptedAPI(scripts) as api:
        prompts = ("Do task 8\nAround this task:\n- task 7", "Do task 7", "Do something")
        results = [run_claude(api, home, project, prompt)["result"] for prompt in prompts]
    assert results == ["Eight.", "Seven.", "Other."]


def test_a_resumed_session_follows_the_script_of_its_new_prompt(home: Path, project: Path) -> None:
    session = str(uuid.uuid4())
    schema = ("--json-schema", SCHEMA)
    scripts = {
        "task 7": [[tool("Bash", command="echo seven")], [report(summary="Seven.")]],
        "task 8": [[text("Eight?")], [report(summary="Eight.")]],
    }
    with ScriptedAPI(scripts) as api:
        first = run_claude(api, home, project, "Do task 7", "--session-id", session, *schema)
        resumed = run_claude(api, home, project, "Now task 8", "--resume", session, *schema)
        conversation = json.dumps(api.requests[-1]["messages"])
    assert first["structured_output"]["summary"] == "Seven."
    assert resumed["structured_output"]["summary"] == "Eight."
    assert "Do task 7" in conversation


def test_a_hanging_step_answers_when_its_event_is_set(home: Path, project: Path) -> None:
    go = threading.Event()
    results: list[dict[str, Any]] = []
    with ScriptedAPI([hang(until=go, then=reply(text("At last.")))]) as api:
        run = threading.Thread(target=lambda: results.append(run_claude(api, home, project, "Go")))
        run.start()
        api.wait_for_requests(1)
        assert results == []
        go.set()
        run.join(timeout=60)
    assert [result["result"] for result in results] == ["At last."]


def test_a_client_that_is_ended_while_it_waits_leaves_no_noise(
    home: Path, project: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    go = threading.Event()
    with ScriptedAPI([hang(until=go)]) as api:
        command = [str(find_claude()), "-p", "Go"]
        with subprocess.Popen(
            command, env=api.claude_env(home), cwd=project, stdin=subprocess.DEVNULL
        ) as run:
            api.wait_for_requests(1)
            run.kill()
        go.set()
        for worker in threading.enumerate():
            if "process_request_thread" in worker.name:
                worker.join(timeout=10)
    assert capfd.readouterr().err == ""


def test_leaving_the_context_ends_a_hanging_step() -> None:
    answers: list[object] = []
    request = scripted_api.Request({"tools": [{}], "messages": []}, {})
    with ScriptedAPI([hang(limit_s=60)]) as api:
        waiting = threading.Thread(target=lambda: answers.append(api.answer(request)))
        waiting.start()
        api.wait_for_requests(1)
    waiting.join(timeout=10)
    assert not waiting.is_alive()
    assert answers == [reply(text("Late."))]


def test_the_environment_has_nothing_of_the_surrounding_shell(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "a-real-key")
    monkeypatch.setenv("CLAUDECODE", "1")
    with ScriptedAPI([]) as api:
        environment = api.claude_env(home, LOOP_RUN="run-1")
    assert "a-real-key" not in environment.values()
    assert "CLAUDECODE" not in environment
    assert environment["HOME"] == str(home)
    assert environment["LOOP_RUN"] == "run-1"


def test_by_hand_it_prints_its_url_and_serves_a_script_from_a_file(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text(json.dumps([[text("From the file.")]]), encoding="utf-8")
    command = [sys.executable, scripted_api.__file__, str(script)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, encoding="utf-8") as server:
        try:
            assert server.stdout is not None
            url = server.stdout.readline().strip()
            messages = [{"role": "user", "content": "Hi"}]
            body = {"model": "m", "tools": [{}], "messages": messages}
            request = urllib.request.Request(f"{url}/v1/messages", json.dumps(body).encode())
            with urllib.request.urlopen(request, timeout=10) as response:
                answer = json.load(response)
        finally:
            server.kill()
    assert answer["content"] == [text("From the file.")]


def test_a_script_that_is_none_is_named_in_one_line(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text('[{"nothing": 1}]', encoding="utf-8")
    done = subprocess.run(
        [sys.executable, scripted_api.__file__, str(script)],
        capture_output=True,
        encoding="utf-8",
        timeout=30,
        check=False,
    )
    assert done.returncode == 1
    assert str(script) in done.stderr
    assert done.stderr.count("\n") == 1
