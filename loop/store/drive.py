"""Whether a project lies on a network drive, where locks hold for one machine or not at all."""

from __future__ import annotations

import re
from pathlib import Path

_NETWORK = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "fuse.sshfs", "afs", "ceph"})
_MOUNTS = Path("/proc/mounts")


def network_drive(path: Path) -> str | None:
    """The kind of network drive that a path lies on; None on a disk of this machine.

    Known on Linux only; elsewhere None.
    """
    kind = filesystem_of(path, _mounts())
    return kind if kind in _NETWORK else None


def filesystem_of(path: Path, mounts: str) -> str | None:
    """The kind of file system that `path` lies on, from the text of /proc/mounts; None: unknown."""
    best: tuple[int, str] | None = None
    for line in mounts.splitlines():
        fields = line.split()
        if len(fields) < 3:
            continue
        point = re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), fields[1])
        if path.is_relative_to(point) and (best is None or len(point) >= best[0]):
            best = len(point), fields[2]
    return best[1] if best else None


def _mounts() -> str:
    try:
        return _MOUNTS.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return ""
