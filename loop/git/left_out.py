"""Which new files stay out of snapshots and commits: secrets, huge files, whole dumps of files.

What is left out counts as unchanged: it is named in the result, and neither committed nor undone.
"""

from __future__ import annotations

import fnmatch
import re
import stat
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from loop.git.command import shown

_SECRET_NAMES = (
    ".env", ".env.*", "*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "id_rsa*",
    "id_dsa*", "id_ecdsa*", "id_ed25519*", ".netrc", ".npmrc", ".pypirc", "credentials",
    "credentials.json", "service-account*.json", "*.kdbx", ".git-credentials", "*.ppk",
)  # fmt: skip
#: More new files than this are generated ones, such as installed packages.
MOST_NEW_FILES = 1000
#: What keys and tokens look like; only new text files are searched, from their beginning.
_SECRET_CONTENT = re.compile(
    rb"-----BEGIN (?:[A-Z]+ )?PRIVATE KEY(?: BLOCK)?-----|\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"
    rb"|\bgh[pousr]_[A-Za-z0-9]{36}|\bgithub_pat_[A-Za-z0-9_]{22}|\bglpat-[A-Za-z0-9_-]{20}"
    rb"|\bxox[abeprs]-[A-Za-z0-9-]{10}|\bxapp-[A-Za-z0-9-]{20}|\bAIza[0-9A-Za-z_-]{35}"
    rb"|\bsk-(?:ant|proj|svcacct)-[A-Za-z0-9_-]{20}|\b[rs]k_live_[A-Za-z0-9]{16}"
    rb"|\bnpm_[A-Za-z0-9]{36}|\bhf_[A-Za-z0-9]{30}|\bpypi-AgEI[A-Za-z0-9_-]{16}"
    rb"|\b00D[A-Za-z0-9]{12,15}![A-Za-z0-9._]{20}|\bforce://[^\s:@]{1,99}:[^\s@]{16}"
    rb"|https://hooks\.slack\.com/services/T[A-Za-z0-9/]{20}"
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
    harmless = any(fnmatch.fnmatchcase(name, pattern) for pattern in _HARMLESS_NAMES)
    if not harmless and any(fnmatch.fnmatchcase(name, pattern) for pattern in _SECRET_NAMES):
        return "may hold a secret"
    try:
        status = path.lstat()
        if status.st_size > max_file_bytes:
            return f"larger than {max_file_bytes / 1_000_000:g} MB"
        if stat.S_ISREG(status.st_mode) and _holds_secret(path):
            return "holds what looks like a key or token"
    except FileNotFoundError:
        return None
    except OSError as error:
        return f"can't be read: {error.strerror}"
    return None


def _holds_secret(path: Path) -> bool:
    with path.open("rb") as file:
        return _SECRET_CONTENT.search(file.read(_SEARCHED_BYTES)) is not None


def crowded_folders(new_files: Iterable[str], most: int = MOST_NEW_FILES) -> dict[str, int]:
    """Folders to leave out so that at most `most` new files remain, with their counts.

    The deepest ones that do it, so that what lies beside a dump of files is kept. Where most files
    lie in no folder, none is named.
    """
    left = list(new_files)
    crowded: dict[str, int] = {}
    while len(left) > most:
        folder = _crowded(left, len(left) - most)
        if folder is None:
            break
        kept = [path for path in left if not path.startswith(folder)]
        crowded[folder] = len(left) - len(kept)
        left = kept
    return crowded


def _crowded(files: list[str], surplus: int) -> str | None:
    """The deepest folder that holds the surplus, else the fullest; None if most lie in none."""
    folder = ""
    inside = files
    while True:
        depth = len(folder)
        counts = Counter(
            path[: path.index("/", depth) + 1] for path in inside if "/" in path[depth:]
        )
        if not counts:
            return folder or None
        fullest, count = counts.most_common(1)[0]
        if not folder and count < len(inside) - counts.total():
            return None
        if folder and count < surplus:
            return folder
        folder = fullest
        if count < surplus:
            return folder
        inside = [path for path in inside if path.startswith(folder)]


def is_left_out(path: str, left_out: Iterable[LeftOut]) -> bool:
    """Whether a path is one that stays out, or lies in a folder that does."""
    return outside(left_out)(path)


def outside(left_out: Iterable[LeftOut]) -> Callable[[str], bool]:
    """The test whether a path stays out, for many paths."""
    names = {entry.path for entry in left_out}
    folders = tuple(name for name in names if name.endswith("/"))

    def test(path: str) -> bool:
        name = shown(path)
        return name in names or name.startswith(folders)

    return test
