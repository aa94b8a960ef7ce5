"""A person and their project, for the tests of what changes their files."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.installed_python import installed_python
from tests.setup.person import Person, make_person


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Person:
    return make_person(tmp_path, Path(sys.executable), monkeypatch)


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An interpreter that has `loop` installed."""
    return installed_python(tmp_path_factory.mktemp("installed") / "venv")
