from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loop.builder.command import (
    API_KEYS,
    SESSION_MARKERS,
    arguments,
    environment,
    stripped_keys,
    verification_environment,
)
from loop.core.config import Builder, Config, decode_config
from loop.core.task import Run, Task, task_from
from loop.errors import BadInput
from loop.store.paths import Project

NOW = datetime(2026, 7, 23, tzinfo=UTC)
CLAUDE = Path("/opt/claude/bin/claude")
RUN = Run(number=1, uuid="5d9246a9-9d6c-44bd-939e-b11e32cda888", started=NOW)


def a_task(**fields: Any) -> Task:
    return task_from({"instructions": ["a\nb"], **fields}, "42", NOW)


def argv(task: Task, config: Config, **more: Any) -> list[str]:
    known: dict[str, Any] = {"settings": Path("/s.json"), "role": "Be\nkind.", "resume": False}
    return arguments(CLAUDE, task, RUN, config, **known | more)


def value(line: list[str], option: str) -> str:
    return line[line.index(option) + 1]


def test_the_command_line_is_the_documented_one() -> None:
    line = argv(a_task(), Config())
    assert line[:2] == ["/opt/claude/bin/claude", "-p"]
    assert value(line, "--permission-mode") == "dontAsk"
    assert "--disallowedTools=AskUserQuestion" in line
    assert value(line, "--tools") == "Agent,Bash,Edit,Glob,Grep,NotebookEdit,Read,Skill,Write"
    assert (value(line, "--max-turns"), value(line, "--max-budget-usd")) == ("20", "2.00")
    assert value(line, "--output-format") == "stream-json"
    assert "--verbose" in line
    assert value(line, "--session-id") == RUN.uuid
    assert value(line, "--settings") == "/s.json"
    assert value(line, "--append-system-prompt") == "Be kind."
    assert json.loads(value(line, "--json-schema"))["required"] == ["outcome", "summary"]
    assert "--model" not in line


def test_the_prompt_is_not_on_the_command_line() -> None:
    assert not any("a\nb" in argument for argument in argv(a_task(), Config()))


def test_the_task_s_own_limits_and_model_win() -> None:
    config = Config(builder=Builder(model="sonnet", extra_args=["--x", "y"]))
    task = a_task(max_turns=3, max_budget_usd=0.5, model="haiku")
    line = argv(task, config)
    assert (value(line, "--max-turns"), value(line, "--max-budget-usd")) == ("3", "0.50")
    assert value(line, "--model") == "haiku"
    assert line[-2:] == ["--x", "y"]
    assert value(argv(a_task(), config), "--model") == "sonnet"


def test_a_tiny_budget_is_not_rounded_to_none() -> None:
    assert value(argv(a_task(max_budget_usd=0.001), Config()), "--max-budget-usd") == "0.01"


def test_a_session_is_resumed_instead_of_begun() -> None:
    run = Run(number=2, uuid="new", started=NOW, session="old")
    line = arguments(
        CLAUDE, a_task(), run, Config(), settings=Path("/s"), role="", resume=True
    )  # fmt: skip
    assert value(line, "--resume") == "old"
    assert "--session-id" not in line


def test_without_reports_no_schema_is_given() -> None:
    assert "--json-schema" not in argv(a_task(), Config(builder=Builder(report="marker")))


@given(
    role=st.text(),
    task=st.dictionaries(st.sampled_from(["model", "title", "role", "type"]), st.text(min_size=1)),
    builder=st.dictionaries(st.sampled_from(["model", "tools"]), st.text(min_size=1)),
    extra=st.lists(st.text()),
)
def test_no_argument_ever_holds_a_newline(
    role: str, task: dict[str, str], builder: dict[str, str], extra: list[str]
) -> None:
    try:
        data = json.dumps({"builder": {**builder, "extra_args": extra}}).encode()
        config, given_task = decode_config(data), a_task(**task)
    except BadInput:
        return
    assert not [a for a in argv(given_task, config, role=role) if "\n" in a or "\r" in a]


@pytest.mark.parametrize("model", ["a\nb", "a\r", "\n"])
def test_a_model_with_a_line_break_is_refused_in_a_task_and_in_the_settings(model: str) -> None:
    with pytest.raises(BadInput, match=r"^model: .*line break"):
        a_task(model=model)
    with pytest.raises(BadInput, match=r"^builder\.model: .*line break"):
        decode_config(json.dumps({"builder": {"model": model}}).encode())


def env(base: dict[str, str], config: Config | None = None) -> dict[str, str]:
    return environment(base, Project(Path("/p")), a_task(), RUN, config or Config(), CLAUDE)


def test_marks_of_another_session_and_api_keys_do_not_reach_the_builder() -> None:
    base = dict.fromkeys([*SESSION_MARKERS, *API_KEYS], "x") | {
        "CLAUDE_CONFIG_DIR": "/c", "CLAUDE_CODE_OAUTH_TOKEN": "t", "LANG": "C", "PATH": "/bin",
    }  # fmt: skip
    got = env(base)
    assert not {*SESSION_MARKERS, *API_KEYS} & set(got)
    assert (got["CLAUDE_CONFIG_DIR"], got["CLAUDE_CODE_OAUTH_TOKEN"]) == ("/c", "t")
    assert got["LANG"] == "C"
    assert "CLAUDECODE" in SESSION_MARKERS
    assert stripped_keys(base, Config()) == list(API_KEYS)
    keep = Config(builder=Builder(inherit_api_key=True))
    assert env(base, keep)["ANTHROPIC_API_KEY"] == "x"
    assert stripped_keys(base, keep) == []
    assert stripped_keys({"ANTHROPIC_API_KEY": ""}, Config()) == []


def test_the_repository_of_a_surrounding_hook_does_not_reach_the_builder_or_the_checks() -> None:
    base = {"GIT_DIR": "/other/.git", "GIT_INDEX_FILE": "/other/index", "GIT_AUTHOR_NAME": "P"}
    checks = verification_environment(base, Project(Path("/p")), a_task())
    for got in (env(base), checks):
        assert [name for name in got if name.startswith("GIT_")] == ["GIT_AUTHOR_NAME"]


def test_a_run_is_marked_in_its_environment() -> None:
    got = env({"LOOP_RUN": "outer"})
    assert (got["LOOP_RUN"], got["LOOP_TASK_ID"], got["LOOP_PROJECT"]) == (RUN.uuid, "42", "/p")
    assert got["CLAUDE_CODE_DISABLE_BACKGROUND_TASKS"] == "1"


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        ("/usr/bin:/bin", "/usr/bin:/bin:/opt/claude/bin"),
        ("/opt/claude/bin:/bin", "/opt/claude/bin:/bin"),
        ("", f"{os.defpath}:/opt/claude/bin"),
        (None, f"{os.defpath}:/opt/claude/bin"),
    ],
)
def test_the_folder_of_claude_is_on_the_path(path: str | None, wanted: str) -> None:
    assert env({} if path is None else {"PATH": path})["PATH"] == wanted
