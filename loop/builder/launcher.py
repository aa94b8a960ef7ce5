"""Starts the shim of one run, detached, and says in one line of JSON what came of it.

    PYTHON -I -S /abs/loop/builder/launcher.py /abs/.ai/running/0042.launch

Run as a script, with the Builder's complete environment as its own environment and the project as
its working directory. The launch file is described in `launch`. The answer on stdout:

    {"state":"started","pid":BUILDER,"shim":SHIM}   exit 0
    {"state":"refused","why":"..."}                 exit 3   nothing was started, by this launcher
    {"state":"failed","error":"..."}                exit 4   nothing could be started
                                                    exit 5   the shim died without a word

Owns the detaching only: what is refused and what is started is decided in `shim`.

Invariants: standard library only, and little of it, since a run waits for this start. The two
packages above are stood in for by empty modules when this file is a script, so that their own
imports cost nothing and need nothing installed.
"""
# pathlib alone would add a third to the start-up time:

from __future__ import annotations

import os
import sys

if __name__ == "__main__":
    _builder = os.path.dirname(os.path.abspath(__file__))
    for _name, _folder in (("loop", os.path.dirname(_builder)), ("loop.builder", _builder)):
        _package = type(sys)(_name)
        _package.__path__ = [_folder]
        sys.modules[_name] = _package

import json

from loop.builder import shim
from loop.builder.launch import Launch

LOST = 5
_USAGE = 2


def _spawn_shim(launch: Launch, launch_path: str) -> int:
    """Start the shim in a session of its own; the descriptor on which it will say its line."""
    if sys.platform == "win32":
        import subprocess

        with open(launch.err, "ab") as err:
            process = subprocess.Popen(
                [sys.executable, "-I", "-S", os.path.abspath(__file__), "--shim", launch_path],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=err,
                creationflags=subprocess.DETACHED_PROCESS | subprocess.CREATE_NEW_PROCESS_GROUP,
            )
        assert process.stdout is not None
        return os.dup(process.stdout.fileno())
    answer, tell = os.pipe()
    if os.fork() == 0:
        code = LOST
        try:
            code = shim.detach_and_keep(launch, tell)
        finally:  # whatever happens, a shim never goes on as a second launcher
            if code == LOST:
                sys.excepthook(*sys.exc_info())
            os._exit(code)
    os.close(tell)
    return answer


def _read_line(fd: int) -> bytes:
    """What comes up to the first newline, or all there is when the other side ends before."""
    line = b""
    while not line.endswith(b"\n"):
        more = os.read(fd, 4096)
        if not more:
            break
        line += more
    return line


def _say(answer: dict[str, object]) -> int:
    code = shim.EXIT_CODES[str(answer["state"])]
    try:
        os.write(1, json.dumps(answer).encode() + b"\n")
    except OSError:  # nobody listens any more; the run does not mind
        return code
    return code


def main(arguments: list[str]) -> int:
    """Launch the run that the launch file describes; the exit code of this process."""
    if arguments[:1] == ["--shim"]:  # Windows, which has no fork
        return shim.keep(Launch.read(arguments[1]), 1)
    if len(arguments) != 1:
        os.write(2, b"launcher.py: give the path of one launch file\n")
        return _USAGE
    try:
        launch = Launch.read(arguments[0])
        shim.ignore_the_terminal()
        answer = _read_line(_spawn_shim(launch, arguments[0]))
    except (OSError, ValueError) as error:
        return _say({"state": "failed", "error": f"{arguments[0]}: {error}"})
    if not answer.endswith(b"\n"):
        os.write(2, b"launcher.py: the shim ended without a word; see the run's .err file\n")
        return LOST
    return _say(json.loads(answer))


if __name__ == "__main__":
    os._exit(main(sys.argv[1:]))
