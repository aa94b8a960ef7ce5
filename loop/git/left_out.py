"""Which new files stay out of snapshots and commits: secrets, huge files, whole dumps of files.

What is left out counts as unchanged: it is named in the result, and neither committed nor undone.
"""

from __future__ import annotations

import fnmatch
import re
import stat
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

_SECRET_NAMES = (
    ".env", ".env.*", "*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "id_rsa*",
    "id_dsa*", "id_ecdsa*", "id_ed25519*", ".netrc", ".npmrc", ".pypirc", "credentials",
    "credentials.json", "service-account*.json", "*.kdbx",
)  # fmt: skip
#: More new files than this are generated ones, such as installed packages.
MOST_NEW_FILES = 1000
#: What keys and tokens look like; only new text files are searched, from their beginning.
_SECRET_CONTENT = re.compile(
    rb"-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----|\bAKIA[0-9A-Z]{16}\b|\bgh[pousr]_[A-Za-z0-9]{36}"
    rb"|\bgithub_pat_[A-Za-z0-9_]{22}|\bxox[abprs]-[A-Za-z0-9-]{10}|\bsk-ant-[A-Za-z0-9_-]{20}"
    rb"|\bsk_live_[A-Za-z0-9]{16}|\bAIza[0-9A-Za-z_-]{35}|\bglpat-[A-Za-z0-9_-]{20}"
)
_SEARCHED_BYTES = 262_144
_HARMLESS_NAMES = (".env.example", ".env.sample", ".env.template", "*.pub")


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A file that stays out, and why."""

    path: str
    why: str


def reason_to_leave_out(path: Path, max_file_bytes: float) -> str | None:
    """Why a new file stays out; None when it may go in."""
    name = path.name.lower()
    if any(fnmatch.fnmatchcase(name, pattern) for pattern in _HARMLESS_NAMES):
        return None
    if any(fnmatch.fnmatchcase(name, pattern) for pattern in _SECRET_NAMES):
        return "may hold a secret"
    try:
        status = path.lstat()
        if status.st_size > max_file_bytes:
            return f"larger than {max_file_bytes / 1_000_000:g} MB"
        if stat.S_ISREG(status.st_mode) and _holds_secret(path):
            return "holds what looks like a key or token"
    except OSError:
        return None
    return None


def _holds_secret(path: Path) -> bool:
    with path.open("rb") as file:
        return _SECRET_CONTENT.search(file.read(_SEARCHED_BYTES)) is not None


def crowded_folders(new_files: Iterable[str], most: int = MOST_NEW_FILES) -> dict[str, int]:
    """Top folders to leave out so that at most `most` new files remain, with their counts."""
    counts = Counter(path.split("/", 1)[0] + "/" for path in new_files if "/" in path)
    total = sum(1 for _ in new_files)
    crowded: dict[str, int] = {}
    for folder, count in counts.most_common():
        if total <= most:
            break
        crowded[folder] = count
        total -= count
    return crowded


def is_left_out(path: str, left_out: Iterable[LeftOut]) -> bool:
    """Whether a path is one that stays out, or lies in a folder that does."""
    return any(
        path == entry.path or (entry.path.endswith("/") and path.startswith(entry.path))
        for entry in left_out
    )
