"""Whether a project lies on a network drive, where locks hold for one machine or not at all.

What differs by platform is here: Linux says it in /proc/mounts, macOS by `mount`, Windows by the
kind of the drive.
"""

from __future__ import annotations

import functools
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

_NETWORK = frozenset(
    {
        "nfs", "nfs4", "cifs", "smb3", "smbfs", "fuse.sshfs", "afs", "ceph", "9p", "afpfs",
        "webdav", "macfuse",
    }
)  # fmt: skip
_MOUNTS = Path("/proc/mounts")
_MAC_LINE = re.compile(r"^(.*) on (.*) \(([\w.]+)[,)]")
#: What Windows calls a drive of another machine.
_DRIVE_REMOTE = 4


def network_drive(path: Path) -> str | None:
    """The kind of network drive that a path lies on; None on a disk of this machine."""
    if sys.platform == "win32":
        return windows_drive(path.anchor, _drive_type)
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


def as_linux_mounts(said: str) -> str:
    """What `mount` says on macOS, in the form of /proc/mounts."""
    found = (_MAC_LINE.match(line) for line in said.splitlines())
    escaped = ((m[1], m[2].replace("\\", r"\134").replace(" ", r"\040"), m[3]) for m in found if m)
    return "\n".join(
        f"{device.replace(' ', '_')} {point} {kind}" for device, point, kind in escaped
    )


def windows_drive(anchor: str, drive_type: Callable[[str], int]) -> str | None:
    """The same for the anchor of a Windows path; `drive_type` asks the system for its kind."""
    if anchor.startswith("\\\\"):
        return "a share"
    return "a drive of another machine" if drive_type(anchor) == _DRIVE_REMOTE else None


def _drive_type(anchor: str) -> int:
    import ctypes

    kernel = getattr(ctypes, "windll").kernel32  # noqa: B009 -- there on Windows alone
    return int(kernel.GetDriveTypeW(anchor))


def _mounts() -> str:
    if sys.platform == "darwin":
        return _mac_mounts()
    try:
        return _MOUNTS.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return ""


@functools.cache
def _mac_mounts() -> str:
    try:
        done = subprocess.run(
            ["/sbin/mount"], stdin=subprocess.DEVNULL, capture_output=True, timeout=5, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return as_linux_mounts(done.stdout.decode(errors="surrogateescape"))
