"""Which new files stay out of snapshots and commits: secrets by name, and huge ones."""

from __future__ import annotations

import fnmatch
from dataclasses import dataclass
from pathlib import Path

_SECRET_NAMES = (
    ".env", ".env.*", "*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "id_rsa*",
    "id_dsa*", "id_ecdsa*", "id_ed25519*", ".netrc", ".npmrc", ".pypirc", "credentials",
    "credentials.json", "service-account*.json", "*.kdbx",
)  # fmt: skip
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
        size_bytes = path.lstat().st_size
    except OSError:
        return None
    if size_bytes > max_file_bytes:
        return f"larger than {max_file_bytes / 1_000_000:g} MB"
    return None
