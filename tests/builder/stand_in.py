"""A stand-in for the Builder that does the steps named on its command line, one after the other.

    stand_in.py init reply tool sleep:0.3 tool-done result exit:0

Lines of a run: `init reply tool tool-done result`, `raw:TEXT` (no newline). Noting what it was
given: `stdin:FILE fds:FILE environment:FILE`. Waiting: `wait:FILE`, `sleep:S`.
Signals: `stubborn` (SIGINT and SIGTERM give a line only), `polite:CODE` (exits so on SIGINT),
`kill:N` (itself).
Left behind, in a session of its own, twice forked: `orphan:FILE` (without LOOP_RUN),
`bearer:FILE` (with it, deaf to SIGTERM); FILE gets the pid. `exit:CODE`.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

PATIENCE_S = 20.0
LINES: dict[str, dict[str, object]] = {
    "init": {"type": "system", "subtype": "init"},
    "reply": {"type": "assistant", "message": {"content": [{"type": "text", "text": "yes"}]}},
    "tool": {"type": "assistant", "message": {"content": [{"type": "tool_use", "id": "t1"}]}},
    "tool-done": {
        "type": "user",
        "message": {"content": [{"type": "tool_result", "tool_use_id": "t1"}]},
    },
    "result": {"type": "result", "subtype": "success"},
}
LONG = "# " + "a long command " * 20 + "\n"
DEAF = "import signal as s; s.signal(s.SIGTERM, s.SIG_IGN); "
STAY = "import os, pathlib, time; pathlib.Path({0!r}).write_text(str(os.getpid())); time.sleep(20)"


def wait_for(path: Path) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not (path.exists() and path.read_text()):
        if time.monotonic() > deadline:
            sys.exit(99)
        time.sleep(0.005)


def leave_behind(path: str, prelude: str, environment: dict[str, str]) -> None:
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            null = os.open(os.devnull, os.O_RDWR)
            for fd in (0, 1, 2):
                os.dup2(null, fd)
            program = prelude + STAY.format(path)
            os.execve(sys.executable, [sys.executable, "-I", "-S", "-c", program], environment)
        os._exit(0)
    os.wait()
    wait_for(Path(path))


def note_fds(path: str) -> None:
    links = [fd for fd in Path("/proc/self/fd").iterdir() if fd.exists()]
    Path(path).write_text(json.dumps({fd.name: str(fd.resolve()) for fd in links}))


def note_signal(signum: int, frame: object) -> None:
    del frame
    say({"type": "signal", "number": signum})


def be_stubborn() -> None:
    signal.signal(signal.SIGINT, note_signal)
    signal.signal(signal.SIGTERM, note_signal)


def say(line: dict[str, object]) -> None:
    os.write(1, json.dumps(line).encode() + b"\n")


STEPS: dict[str, Callable[[str], object]] = {
    "raw": lambda text: os.write(1, text.encode()),
    "stdin": lambda path: Path(path).write_bytes(sys.stdin.buffer.read()),
    "environment": lambda path: Path(path).write_bytes(Path("/proc/self/environ").read_bytes()),
    "fds": note_fds,
    "wait": lambda path: wait_for(Path(path)),
    "sleep": lambda seconds: time.sleep(float(seconds)),
    "stubborn": lambda _: be_stubborn(),
    "polite": lambda code: signal.signal(signal.SIGINT, lambda *_: os._exit(int(code))),
    "kill": lambda signum: os.kill(os.getpid(), int(signum)),
    "orphan": lambda path: leave_behind(path, "", {}),
    "bearer": lambda path: leave_behind(path, DEAF + LONG, dict(os.environ)),
    "exit": lambda code: os._exit(int(code)),
}

for word in sys.argv[1:]:
    name, _, value = word.partition(":")
    if name in LINES:
        say(LINES[name])
    else:
        STEPS[name](value)
