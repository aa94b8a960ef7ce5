"""What nobody expected, written down for a report: traceback and versions."""

from __future__ import annotations

import os
import platform
import sys
import traceback
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

import platformdirs

from loop import __version__

_PACKAGES = ("mcp", "watchfiles", "msgspec", "psutil", "rich", "platformdirs")
#: Older records go when a new one is written, so that a defect that comes again fills no disk.
_KEPT = 20


def write_crash(error: BaseException) -> Path:
    """Writes a defect into a file of the user's state folder; its path.

    Where that can't be written, nothing is: what the person is told names the error itself.
    """
    folder = platformdirs.user_state_path("loop", appauthor=False) / "crashes"
    now = datetime.now(UTC)
    path = folder / f"{now:%Y%m%dT%H%M%S.%fZ}-{os.getpid()}.txt"
    versions = [f"loop {__version__}, Python {sys.version.split()[0]}, {platform.platform()}"]
    versions += [f"{name} {_version(name)}" for name in _PACKAGES]
    text = "".join(traceback.format_exception(error))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write("\n".join([*versions, " ".join(sys.argv[:2]), "", text]))
        for old in sorted(folder.glob("*.txt"))[:-_KEPT]:
            old.unlink(missing_ok=True)
    except OSError:
        pass
    return path


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"
