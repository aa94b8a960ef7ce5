"""Verification: commands that the worker itself runs on what a run left, bounded and swept.

They bear the run in their environment like the Builder, so that whoever takes over after a crash
finds and ends what is left of them.
"""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from loop.builder import processes

_TAIL_BYTES = 4096
KILL = getattr(signal, "SIGKILL", signal.SIGTERM)


@dataclass(frozen=True, slots=True)
class Checked:
    """How one command ended."""

    command: str
    #: exit code; None when it took too long and was ended
    exit: int | None
    #: the end of what it printed
    tail: str

    @property
    def passed(self) -> bool:
        """Whether it ended well."""
        return self.exit == 0


def run_checks(
    commands: Iterable[str],
    folder: Path,
    env: Mapping[str, str],
    run_uuid: str,
    timeout_s: float,
) -> list[Checked]:
    """Runs commands of the shell one after another; stops at the first that fails.

    `timeout_s` bounds all of them together.
    """
    deadline = time.monotonic() + timeout_s
    done: list[Checked] = []
    for command in commands:
        done.append(_check(command, folder, {**env, "LOOP_RUN": run_uuid}, deadline))
        processes.signal_bearers(run_uuid, KILL)
        if not done[-1].passed:
            break
    return done


def _check(command: str, folder: Path, env: Mapping[str, str], deadline: float) -> Checked:
    with tempfile.TemporaryFile() as output:
        try:
            process = subprocess.Popen(
                command,
                shell=True,
                cwd=folder,
                env=dict(env),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as error:
            return Checked(command, 127, f"could not start: {error.strerror}")
        code: int | None = None
        with suppress(subprocess.TimeoutExpired):
            code = process.wait(max(0.1, deadline - time.monotonic()))
        if code is None:
            _end_group(process)
        output.seek(max(0, output.seek(0, os.SEEK_END) - _TAIL_BYTES))
        return Checked(command, code, output.read().decode(errors="replace").strip())


def _end_group(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError, PermissionError):
        if os.name == "nt":
            process.kill()
        else:
            os.killpg(process.pid, KILL)
    process.wait()
