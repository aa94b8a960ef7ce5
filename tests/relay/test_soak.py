"""A small soak; `make soak` runs the long one."""

from __future__ import annotations

from benchmarks.soak import soak


def test_tasks_through_servers_that_are_killed_all_the_time_run_once_each() -> None:
    found = soak(12, every_s=1.0, seed=5)
    assert found.faults == [], found
    assert found.kills >= 1
