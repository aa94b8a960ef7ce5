"""One desk for each test, one installed interpreter for all."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.desk import Desk
from tests.installed_python import installed_python


@pytest.fixture(scope="session")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An interpreter that has `loop` installed."""
    return installed_python(tmp_path_factory.mktemp("installed") / "venv")


@pytest.fixture
def desk(tmp_path: Path, python: Path) -> Iterator[Desk]:
    """A project named `project`, with nothing queued."""
    with Desk.at(tmp_path, python) as made:
        yield made
