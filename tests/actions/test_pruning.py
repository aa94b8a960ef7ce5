"""Snapshots are kept as long as was asked, and as long as their task may still run."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from loop.actions.pruning import prune
from loop.actions.requeue import requeue
from loop.actions.review import review
from loop.actions.undo import undo
from loop.core.task import TaskFields
from loop.git.command import GitError
from tests.actions.conftest import NOW, Bench


def refs(bench: Bench) -> set[str]:
    """Ids of the tasks that have snapshots."""
    return {name.split("/")[3] for name in bench.git("for-each-ref", "--format=%(refname)",
                                                     "refs/loop").split()}  # fmt: skip


def test_snapshots_go_when_they_are_old_and_their_task_is_settled(bench: Bench) -> None:
    old = bench.did(lambda: bench.write("a.txt", "x\n"))
    queued = bench.did(lambda: bench.write("dir/b.txt", "x\n"))
    requeue(bench.project, queued, TaskFields(), "Again", "user", NOW, fresh=True, from_user=True)
    head = bench.git("rev-parse", "HEAD")
    in_time = datetime.now(UTC) + timedelta(days=29)
    assert prune(bench.project, bench.repository, 30, in_time) == []
    assert refs(bench) == {old, queued}
    late = datetime.now(UTC) + timedelta(days=31)
    assert prune(bench.project, bench.repository, 30, late) == [old]
    assert refs(bench) == {queued}
    assert bench.git("rev-parse", "HEAD") == head


def test_what_can_no_longer_be_shown_or_undone_says_why(bench: Bench) -> None:
    task_id = bench.did(lambda: bench.write("a.txt", "x\n"))
    prune(bench.project, bench.repository, 1, datetime.now(UTC) + timedelta(days=2))
    bench.git("gc", "-q", "--prune=now")
    seen = review(bench.project, task_id, None, 0, NOW)
    assert "are kept for checkpoint.keep_days" in seen["note"]
    with pytest.raises(GitError, match="are kept for checkpoint"):
        undo(bench.project, task_id, "user", NOW, force=False)
