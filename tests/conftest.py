"""Fixtures that most tests share."""

from __future__ import annotations

import signal
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from loop.store.paths import Project

# Shared machines are slow now and then; that is no finding.
settings.register_profile(
    "loop", deadline=None, max_examples=60, suppress_health_check=list(HealthCheck)
)
settings.load_profile("loop")

# A shell starts what runs in the background with SIGINT ignored, which every child would inherit.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def now() -> datetime:
    """A fixed moment."""
    return datetime(2026, 7, 23, 10, 0, tzinfo=UTC)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A project folder with all of its `.ai` folders, and no settings."""
    root = tmp_path / "project"
    project = Project(root.resolve())
    for folder in project.folders():
        folder.mkdir(parents=True)
    return project
