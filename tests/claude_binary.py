"""Where the real `claude` is: named by `LOOP_TEST_CLAUDE`, else in the `claude-agent-sdk` wheel."""

from __future__ import annotations

import functools
import importlib.util
import os
from pathlib import Path


@functools.cache
def find_claude() -> Path:
    """The real Claude Code binary, found without importing the SDK.

    Raises: FileNotFoundError, which says what to install.
    """
    named = os.environ.get("LOOP_TEST_CLAUDE")
    if named:
        return Path(named)
    name = "claude.exe" if os.name == "nt" else "claude"
    spec = importlib.util.find_spec("claude_agent_sdk")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        binary = Path(folder, "_bundled", name)
        if binary.is_file():
            return binary
    raise FileNotFoundError(
        "no claude binary: run `pip install claude-agent-sdk` (its wheel carries one)"
    )
