"""A project in a real repository, with tasks whose work is done by the test instead of a Builder.

What a task did is told to the program as always: by snapshots, a checkpoint and a result.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import pytest

from loop.core.result import FileChange, Result, Snapshot
from loop.core.task import Run, Task
from loop.core.transition import end_run, new_run
from loop.git.checkpoint import checkpoint
from loop.git.command import Repository, repository_of
from loop.git.diff import line_counts
from loop.git.snapshot import left_out_of, ref_of, take
from loop.store import queue
from loop.store.paths import Project
from loop.store.project_files import load_config
from loop.store.scan import locate

NOW = datetime(2026, 7, 23, 10, 0, tzinfo=UTC)


@dataclass(frozen=True)
class Bench:
    """The project with its repository."""

    project: Project

    @property
    def root(self) -> Path:
        return self.project.root

    @property
    def repository(self) -> Repository:
        found = repository_of(self.root)
        assert found is not None
        return found

    def git(self, *arguments: str) -> str:
        done = subprocess.run(
            ["git", *arguments],
            cwd=self.root,
            check=True,
            capture_output=True,
            text=True,
            timeout=30,
        )
        return done.stdout

    def write(self, name: str, content: str | bytes) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def read(self, name: str) -> str | None:
        path = self.root / name
        return path.read_bytes().decode() if path.is_file() else None

    def files(self) -> dict[str, tuple[int, bytes]]:
        """Mode and content of every file of the person's."""
        paths = [p for p in self.root.rglob("*") if not {".git", ".ai"} & set(p.parts)]
        return {
            p.relative_to(self.root).as_posix(): (
                p.lstat().st_mode,
                str(p.readlink()).encode() if p.is_symlink() else p.read_bytes(),
            )
            for p in paths
            if p.is_symlink() or p.is_file()
        }

    def configure(self, text: str) -> None:
        self.project.config.write_text(text)

    def claimed(self, title: str = "Do it") -> Task:
        """A task whose run has begun."""
        sent = queue.submit(self.project, {"title": title, "instructions": [title]}, "user", NOW)
        return self._begin(sent.task)

    def _begin(self, task: Task) -> Task:
        run = new_run(task, f"run-{task.id}-{task.run}", NOW)
        claimed = queue.claim(self.project, task.id, run, NOW)
        assert claimed is not None
        return claimed

    def did(self, work: Callable[[], object], title: str = "Do it", **known: Any) -> str:
        """A task that did some work; its id."""
        task = self.claimed(title)
        self._carry_out(task, work, **known)
        return task.id

    def did_again(self, task_id: str, work: Callable[[], object]) -> None:
        """Another run of a settled task."""
        from loop.actions.requeue import requeue
        from loop.core.task import TaskFields

        requeue(
            self.project, task_id, TaskFields(), "Again", "user", NOW, fresh=True, from_user=True
        )
        self._carry_out(self._begin(locate(self.project, task_id, NOW).task), work)

    def _carry_out(
        self,
        task: Task,
        work: Callable[[], object],
        status: Literal["success", "failure"] = "success",
        **known: Any,
    ) -> None:
        settings = load_config(self.project).checkpoint
        number = task.runs[-1].number

        def ref(when: str) -> str:
            return ref_of(self.root, task.id, number, when)

        before = take(self.repository, ref("before"), max_file_mb=settings.max_file_mb)
        work()
        after = take(
            self.repository, ref("after"), max_file_mb=settings.max_file_mb, since=before.commit
        )
        left_out = left_out_of(self.repository, before.commit, after.commit)
        made = checkpoint(
            self.repository, before=before.commit, head_before=before.head, after=after.commit,
            left_out=left_out, mode=settings.mode, ref=ref("checkpoint"), named=(),
            title=f"Task {task.id}", now=NOW,
        )  # fmt: skip
        lines = line_counts(self.repository, before.commit, after.commit, left_out)
        task = end_run(task, before=before.commit, after=after.commit, status=status, ended=NOW)
        facts: dict[str, Any] = {
            "task_id": task.id,
            "status": status,
            "summary": "Did it.",
            "completed_at": NOW,
            "task": {},
            "commit_hash": made.commit,
            "commits": [made.commit] if made.commit else [],
            "files_changed": [FileChange(f.path, f.added, f.removed) for f in lines],
            "snapshot": Snapshot(before.commit, after.commit),
        }
        queue.settle(self.project, task, Result(**facts | known), NOW)

    def run_of(self, task_id: str) -> Run:
        return locate(self.project, task_id, NOW).task.runs[-1]


@pytest.fixture
def bench(project: Project, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Bench:
    """A repository with a.txt, dir/b.txt and old.txt, committed."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    (home / ".gitconfig").write_text("[user]\n name = P. Erson\n email = p@example.com\n")
    made = Bench(project)
    made.git("init", "-q", "--initial-branch=main")
    made.write(".gitignore", ".ai/\nignored\n")
    for name in ("a.txt", "dir/b.txt", "old.txt"):
        made.write(name, f"one\ntwo\nthree\n{name}\n")
    made.git("add", "-A")
    made.git("commit", "-qm", "first")
    return made
