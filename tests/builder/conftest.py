from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.builder.launching import Run


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    """A run that is prepared but not launched."""
    run = Run(tmp_path)
    yield run
    run.clean_up()
