"""Whether the interpreter that gets written down will still be there next month."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

_LOCAL_NAMES = frozenset({".venv", "venv", "env", ".env"})
_CACHES = frozenset({".cache", "cache", "caches"})


def why_short_lived(python: Path, root: Path, env: Mapping[str, str]) -> str | None:
    """Why the interpreter may vanish; None for one that is installed to stay (pipx, uv tool)."""
    python = python.absolute()
    environment = python.parent.parent
    temporary = [Path(tempfile.gettempdir()), Path("/tmp"), Path("/var/tmp")]
    temporary += [Path(env[name]) for name in ("TMPDIR", "TEMP", "TMP") if env.get(name)]
    if python.is_relative_to(root) and (environment / "pyvenv.cfg").is_file():
        return "is in a virtual environment of this project"
    if any(python.is_relative_to(folder) for folder in temporary):
        return "is in a temporary folder"
    if _CACHES & {part.lower() for part in python.parts}:
        return "is in a cache, which is emptied now and then"
    if environment.name in _LOCAL_NAMES and (environment / "pyvenv.cfg").is_file():
        return "is in a virtual environment of one folder"
    return None


def warning_about(python: Path, root: Path, env: Mapping[str, str]) -> str | None:
    """What to tell the person about a short-lived interpreter; None when it will stay."""
    why = why_short_lived(python, root, env)
    if why is None:
        return None
    return (
        f"{python} {why}: the hooks and the server die with it; install to stay, with `pipx "
        "install` or `uv tool install` and the checkout's folder, and run `loop init` again"
    )
