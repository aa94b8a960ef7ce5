"""The command line and the environment of a run."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

from loop.builder.executable import path_for
from loop.core.config import Config
from loop.core.result import REPORT_SCHEMA
from loop.core.task import Run, Task
from loop.git.command import FOREIGN
from loop.store.paths import Project

#: Left behind by a session of Claude Code that started us; no Builder may take them for its own.
SESSION_MARKERS = (
    "CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SESSION_ID", "CLAUDE_PROJECT_DIR",
    "CLAUDE_CODE_SSE_PORT", "CLAUDE_CODE_EXECPATH", "CLAUDE_ENV_FILE", "CLAUDE_PLUGIN_ROOT",
    "CLAUDE_CODE_CHILD_SESSION", "CLAUDE_AGENT_SDK_VERSION", "AI_AGENT",
)  # fmt: skip
API_KEYS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")


def arguments(
    claude: Path, task: Task, run: Run, config: Config, *, settings: Path, role: str, resume: bool
) -> list[str]:
    """The command line. The prompt comes by stdin: a variadic option would swallow it.

    `role` is text for the system prompt; its lines are joined, since no argument holds a newline.
    """
    builder = config.builder
    line = [
        os.fspath(claude), "-p",
        "--permission-mode", "dontAsk",
        "--disallowedTools=AskUserQuestion",
        "--tools", builder.tools,
        "--max-turns", str(task.max_turns or builder.max_turns),
        "--max-budget-usd", f"{max(0.01, task.max_budget_usd or builder.max_budget_usd):.2f}",
        "--output-format", "stream-json", "--verbose",
        "--resume" if resume else "--session-id", run.session or run.uuid,
        "--settings", os.fspath(settings),
        "--append-system-prompt", " ".join(role.split()),
    ]  # fmt: skip
    if builder.report == "schema":
        line += ["--json-schema", json.dumps(REPORT_SCHEMA, separators=(",", ":"))]
    model = task.model or builder.model
    if model:
        line += ["--model", model]
    return line + builder.extra_args


def environment(
    base: Mapping[str, str], project: Project, task: Task, run: Run, config: Config, claude: Path
) -> dict[str, str]:
    """The environment of the Builder, from that of this process."""
    drop = {*SESSION_MARKERS, *FOREIGN, *(() if config.builder.inherit_api_key else API_KEYS)}
    env = {k: v for k, v in base.items() if k not in drop}
    return env | {
        "PATH": path_for(claude, env),
        "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",
        "LOOP_RUN": run.uuid,
        "LOOP_TASK_ID": task.id,
        "LOOP_PROJECT": os.fspath(project.root),
    }


def verification_environment(
    base: Mapping[str, str], project: Project, task: Task
) -> dict[str, str]:
    """The environment of the project's own checks, from that of this process."""
    env = {k: v for k, v in base.items() if k not in {*SESSION_MARKERS, *FOREIGN, *API_KEYS}}
    return env | {"LOOP_TASK_ID": task.id, "LOOP_PROJECT": os.fspath(project.root)}


def stripped_keys(base: Mapping[str, str], config: Config) -> list[str]:
    """Names of API keys in the environment that a Builder will not get."""
    return [] if config.builder.inherit_api_key else [key for key in API_KEYS if base.get(key)]
