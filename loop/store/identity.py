"""Which folder a project's `.ai/` belongs to, so that a copied one is noticed.

`.ai/state/project.json` holds the root that `loop init` was run for, and the folder's device and
inode. A folder that was renamed on its disk keeps these and is still the same project; a copy has
others. `loop init` makes a copy a project of its own.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from loop.store.files import read, replace
from loop.store.paths import Project


def remember_root(project: Project) -> bool:
    """Writes down that `.ai/` belongs to this folder; False when that was written already.

    Raises:
        LoopError: it can't be written.
    """
    # Not msgspec: a path need not be valid UTF-8, and JSON escapes hold the rest.
    data = json.dumps({"root": os.fspath(project.root), **_inode(project.root)}).encode() + b"\n"
    if read(_file(project)) == data:
        return False
    replace(_file(project), data)
    return True


def remembered_root(project: Project) -> Path | None:
    """The folder that was written down; None when there is none."""
    root = _load(project).get("root")
    return Path(root) if isinstance(root, str) and root else None


def root_mismatch(project: Project) -> str | None:
    """The folder that `.ai/` was set up for, when that is another one; None when all is well.

    None also for a folder that was renamed on its disk, and where nothing was written down.
    """
    stored = _load(project)
    root = stored.get("root")
    if not isinstance(root, str) or root == os.fspath(project.root):
        return None
    here = _inode(project.root)
    same = all(stored.get(key) == value for key, value in here.items())
    return None if same else root


def _file(project: Project) -> Path:
    return project.state / "project.json"


def _load(project: Project) -> dict[str, Any]:
    try:
        stored = json.loads(read(_file(project)) or b"{}")
    except ValueError:
        return {}
    return stored if isinstance(stored, dict) else {}


def _inode(root: Path) -> dict[str, int]:
    status = root.stat()
    return {"device": status.st_dev, "inode": status.st_ino}
