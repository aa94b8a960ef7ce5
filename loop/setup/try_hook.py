"""Running a hook of ours once, as Claude Code does in an ordinary session."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

#: Longest that a hook may take here, whatever its own bound is.
_HOOK_S = 20.0
#: The id of no session.
_NOBODY = "00000000-0000-0000-0000-000000000000"


def try_hook(root: Path, event: str, hook: dict[str, Any]) -> str | None:
    """Runs a hook in the folder `root`; what went wrong, or None.

    To the session that it sees no queue is bound, so nothing is to do and nothing may be said.
    """
    limit = hook.get("timeout")
    within_s = min(float(limit), _HOOK_S) if isinstance(limit, int | float) else _HOOK_S
    command = str(hook["command"])
    # Not one of ours: a hook has nothing to do then, and must be silent.
    env = {k: v for k, v in os.environ.items() if not k.startswith("LOOP_")}
    env["CLAUDE_CODE_SESSION_ID"] = _NOBODY
    asked = {"hook_event_name": event, "session_id": _NOBODY, "cwd": str(root)}
    # Files, not pipes: what a hook leaves behind can't hold them open against us.
    with TemporaryFile() as given, TemporaryFile() as said:
        given.write(json.dumps(asked).encode())
        given.seek(0)
        process = subprocess.Popen(
            command,
            shell=True,  # as Claude Code runs it
            cwd=root,
            env=env,
            stdin=given,
            stdout=said,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            code = process.wait(within_s)
        except subprocess.TimeoutExpired:
            _end(process)
            return f"no answer within {within_s:g} s from `{command}`"
        said.seek(0)
        lines = said.read(10_000).decode(errors="replace").strip().splitlines()
    if code:
        return f"exit {code} from `{command}`" + (f" ({lines[-1]})" if lines else "")
    if lines:
        return f"`{command}` interferes with an ordinary session ({lines[-1][:200]})"
    return None


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends a hook, with what it started where the system knows process groups."""
    if os.name == "nt":
        process.kill()
    else:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()
