"""What is written for a run before anything is started: its prompt and its launch file."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import msgspec

from loop.core.checks import convert
from loop.core.config import Config
from loop.core.task import Run, Task, decode_object, encode
from loop.errors import BadInput
from loop.store.files import read, replace
from loop.store.paths import Project


def write_run_files(
    project: Project, task: Task, run: Run, config: Config, *, argv: list[str], prompt: str
) -> Path:
    """Writes prompt and launch file of a claimed task; the path of the latter."""
    prompt_file = project.run_file(task.id, "prompt")
    launch_file = project.run_file(task.id, "launch")
    limits = config.limits
    total_s = (task.timeout_minutes or limits.task_timeout_minutes) * 60
    launch: dict[str, Any] = {
        "run": run.uuid,
        "task_id": task.id,
        "number": run.number,
        "argv": argv,
        "prompt": os.fspath(prompt_file),
        "record": os.fspath(project.task_file(project.running, task.id)),
        "log": os.fspath(project.log(task.id)),
        "err": os.fspath(project.err(task.id)),
        "exit": os.fspath(project.run_file(task.id, "exit")),
        "cancel": os.fspath(project.run_file(task.id, "cancel")),
        "limits": {
            "total_s": total_s,
            "first_reply_s": limits.first_reply_s,
            "silent_s": limits.silent_s,
            "grace_s": limits.grace_s,
        },
        "config": msgspec.to_builtins(config),
    }
    # Not synced: a run that a power cut kept from its launch is prepared anew.
    replace(prompt_file, prompt.encode(), durable=False)
    replace(launch_file, encode(launch), durable=False)
    return launch_file


def config_of_run(project: Project, task: Task) -> Config | None:
    """The settings under which a task's last run was started; None when it was not."""
    data = read(project.run_file(task.id, "launch"))
    try:
        launch = decode_object(data or b"{}")
        if launch.get("run") != task.runs[-1].uuid:
            return None
        return convert(launch.get("config"), Config)
    except BadInput:
        return None


def launcher_command(launch_file: Path) -> list[str]:
    """The command that starts a prepared run and returns at once."""
    from loop.builder import launcher

    return [sys.executable, "-I", "-S", os.fspath(launcher.__file__), os.fspath(launch_file)]
