"""Runs `loop` again and again, each time in a fork that can kill itself just before its n-th change
of the disk.

Reads orders as lines of JSON from stdin, `{"step": n, "arguments": [...], "cwd": ..., "env": {}}`,
and answers each with the exit code, `-9` when it was killed. Forking saves the imports.

Every opening for writing, rename, link, removal and start of a process counts, wherever in the code
it happens: an audit hook of the interpreter sees them all. So no step is forgotten, and the code
under test knows nothing of this. With step 0 nothing is killed. `"launcher"` names a script that
takes the launcher's place.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import traceback
from pathlib import Path
from typing import Any

import loop.service.app  # noqa: F401 -- imported before the forks
from loop.__main__ import main as loop_main
from loop.builder import launcher

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_CHANGES = {"os.rename", "os.remove", "os.link", "os.mkdir"}


def _is_change(event: str, arguments: tuple[Any, ...], project: str) -> bool:
    if event == "subprocess.Popen":
        return True
    if event != "open":
        return event in _CHANGES and str(arguments[0]).startswith(project)
    path, _, flags = arguments
    ours = isinstance(path, str) and path.startswith(project) and not path.endswith(".lock")
    return ours and isinstance(flags, int) and bool(flags & _WRITING)


def _watch(deadly: int, project: str) -> None:
    seen = 0

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal seen
        if _is_change(event, arguments, project):
            seen += 1
            if seen == deadly:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)


def _carry_out(order: dict[str, Any]) -> int:
    """In the fork: the exit code of the command."""
    os.chdir(order["cwd"])
    os.environ.clear()
    os.environ.update(order["env"])
    with Path(order["output"]).open("wb") as output:
        os.dup2(output.fileno(), 1)
        os.dup2(output.fileno(), 2)
    _watch(order["step"], order["cwd"])
    if "launcher" in order:
        launcher.__file__ = order["launcher"]
    try:
        return loop_main(order["arguments"])
    except BaseException:
        traceback.print_exc()
        return 99


def main() -> None:
    """Answers orders until stdin ends."""
    for line in sys.stdin:
        order = json.loads(line)
        pid = os.fork()
        if pid == 0:
            code = _carry_out(order)
            sys.stdout.flush()
            os._exit(code)
        _, status = os.waitpid(pid, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


if __name__ == "__main__":
    main()
