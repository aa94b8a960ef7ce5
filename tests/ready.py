"""What a person does first, `loop init` and the approval, within this process: it starts nothing.

Where the commands themselves count, a test runs them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from unittest.mock import patch

from loop.setup.allow import approve_reviewed, review
from loop.setup.init import initialise
from loop.store.paths import Project


def make_project(root: Path, python: Path, env: Mapping[str, str]) -> None:
    """Makes a folder a project, as `loop init` by that interpreter in that environment does."""
    with patch.dict(os.environ, env, clear=True):
        initialise(root, env=env, python=python, now=datetime.now(UTC))


def approve_all(project: Project, env: Mapping[str, str]) -> None:
    """Approves whatever the project asks for, as `loop allow --review --yes` does."""
    with patch.dict(os.environ, env, clear=True):
        approve_reviewed(project, review(project))
