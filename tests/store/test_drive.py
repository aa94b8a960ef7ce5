"""Drives of other machines, as each system tells of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from loop.store.drive import as_linux_mounts, filesystem_of, network_drive, windows_drive

MAC = """/dev/disk3s1s1 on / (apfs, sealed, local, read-only, journaled)
devfs on /dev (devfs, local, nobrowse)
//me@nas._smb._tcp.local/Work (a) on /Volumes/My Work (smbfs, nodev, nosuid, mounted by me)
nas:/export on /Users/me/nfs (nfs)
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/Users/me/project", "apfs"), ("/Volumes/My Work/project", "smbfs"),
        ("/Users/me/nfs/project", "nfs"), ("/Volumes/My", "apfs"),
    ],
)  # fmt: skip
def test_the_mounts_of_a_mac_are_understood(path: str, kind: str) -> None:
    assert filesystem_of(Path(path), as_linux_mounts(MAC)) == kind


def test_windows_tells_shares_and_drives_of_other_machines() -> None:
    kinds = {"C:\\": 3, "Z:\\": 4}
    assert windows_drive("C:\\", kinds.__getitem__) is None
    assert windows_drive("Z:\\", kinds.__getitem__) == "a drive of another machine"
    assert windows_drive("\\\\nas\\work\\", kinds.__getitem__) == "a share"


def test_this_folder_is_on_no_network_drive(tmp_path: Path) -> None:
    assert network_drive(tmp_path) is None
