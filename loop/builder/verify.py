"""Verification: commands that the worker itself runs on what a run left, bounded and swept.

They bear the run in their environment like the Builder, so that whoever takes over after a crash
finds and ends what is left of them.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING

from loop.builder import processes

if TYPE_CHECKING:
    import subprocess

_TAIL_BYTES = 4096
#: What a command printed before its end is dropped when it is more than this.
_MOST_OUTPUT_BYTES = 64_000_000
#: Seconds between two looks whether a command has ended, or is no longer wanted.
_LOOK_S = 0.1
#: Sweeps at most: something that multiplies is not chased for ever.
_MOST_SWEEPS = 20
_KILL = getattr(signal, "SIGKILL", signal.SIGTERM)


@dataclass(frozen=True, slots=True)
class Checked:
    """How one command ended."""

    command: str
    #: exit code; None when it was ended: it took too long, or was no longer wanted
    exit: int | None
    #: the end of what it printed
    tail: str
    #: it was ended because it was no longer wanted
    stopped: bool = False

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
    unwanted: Callable[[], bool] = lambda: False,
) -> list[Checked]:
    """Runs commands of the shell one after another; stops at the first that fails.

    `timeout_s` bounds all of them together; `unwanted` ends them early, and is asked all the time.
    """
    deadline = time.monotonic() + timeout_s
    done: list[Checked] = []
    for command in commands:
        done.append(_check(command, folder, {**env, "LOOP_RUN": run_uuid}, deadline, unwanted))
        end_bearers(run_uuid)
        if not done[-1].passed:
            break
    return done


def _check(
    command: str,
    folder: Path,
    env: Mapping[str, str],
    deadline: float,
    unwanted: Callable[[], bool],
) -> Checked:
    import subprocess  # a hook that only reads verdicts must not pay for it
    import tempfile

    with tempfile.TemporaryFile() as output:
        _only_append(output)
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
        stopped = False
        dropped = b""
        while code is None and not stopped and time.monotonic() < deadline:
            with suppress(subprocess.TimeoutExpired):
                code = process.wait(min(_LOOK_S, max(0.01, deadline - time.monotonic())))
            stopped = code is None and unwanted()
            if os.name != "nt" and os.fstat(output.fileno()).st_size > _MOST_OUTPUT_BYTES:
                dropped = _end_of(output)
                output.truncate(0)
        if code is None:
            _end_group(process)
        return Checked(command, code, _tail_of(dropped + _end_of(output)), stopped)


def _only_append(output: IO[bytes]) -> None:
    """Has the command write at the end of the file wherever that is, so that it can be emptied."""
    if os.name != "nt":
        import fcntl

        fcntl.fcntl(output.fileno(), fcntl.F_SETFL, os.O_APPEND)


def _end_of(output: IO[bytes]) -> bytes:
    """A little more than is kept, so that it can be told whether more was there."""
    output.seek(max(0, output.seek(0, os.SEEK_END) - _TAIL_BYTES - 1))
    return output.read(_TAIL_BYTES + 1)


def _tail_of(output: bytes) -> str:
    """The end of what was printed; it begins with a whole line, if one has room."""
    tail = output[-_TAIL_BYTES:].rstrip()
    if len(output) > _TAIL_BYTES and b"\n" in tail:
        tail = tail[tail.index(b"\n") :]
    return tail.decode(errors="replace").strip()


def _end_group(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError, PermissionError):
        if os.name == "nt":
            process.kill()
        else:
            os.killpg(process.pid, _KILL)
    process.wait()


def end_bearers(run_uuid: str) -> None:
    """Ends every process that bears a run; only when nothing of it should be alive."""
    boot = processes.boot_id()
    for _ in range(_MOST_SWEEPS):
        found = [(pid, processes.start_ticks(pid)) for pid in processes.bearers(run_uuid)]
        alive = [(pid, start) for pid, start in found if start is not None]
        for pid, start in alive:
            processes.signal_if_same(pid, start, boot, _KILL)
        if not alive:
            return
        time.sleep(0.005)  # they may have started others before they died
