"""Calling git so that it never waits for a person, never locks what others use, and always ends."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from loop.errors import LoopError, NotReady

#: Seconds that one call of git may take.
TIMEOUT_S = 60.0
_QUIET = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_EDITOR": ":",
    "GIT_PAGER": "",
    "GIT_LITERAL_PATHSPECS": "1",
    "LC_ALL": "C",
}
#: What would make git look at another repository or index than the one meant, or read paths anew.
FOREIGN = (
    "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_QUARANTINE_PATH", "GIT_COMMON_DIR", "GIT_NAMESPACE",
    "GIT_CEILING_DIRECTORIES", "GIT_IMPLICIT_WORK_TREE", "GIT_GRAFT_FILE", "GIT_SHALLOW_FILE",
    "GIT_GLOB_PATHSPECS", "GIT_NOGLOB_PATHSPECS", "GIT_ICASE_PATHSPECS", "GIT_EXTERNAL_DIFF",
    "GIT_DIFF_OPTS", "GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE",
)  # fmt: skip
_SAFE = (
    "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "core.quotePath=false",
    "-c", "gc.auto=0", "-c", "core.safecrlf=false", "-c", "advice.addEmbeddedRepo=false",
    "-c", "i18n.commitEncoding=UTF-8", "-c", "i18n.logOutputEncoding=UTF-8",
    "-c", "log.showSignature=false",
)  # fmt: skip


class GitError(LoopError):
    """Raised when git refused; the message is the line in which it said why."""


@dataclass(frozen=True, slots=True)
class Git:
    """Git in one folder. `timeout_s` bounds each call."""

    folder: Path
    executable: str
    timeout_s: float = TIMEOUT_S

    def run(
        self, *arguments: str, data: bytes = b"", env: Mapping[str, str] | None = None
    ) -> bytes:
        """The output of a git command.

        Raises:
            GitError: it failed, or took longer than its bound.
        """
        import subprocess  # not for a hook where there is no repository

        environment = {k: v for k, v in os.environ.items() if k not in FOREIGN}
        environment |= _QUIET | dict(env or {})
        try:
            done = subprocess.run(
                [self.executable, *_SAFE, *arguments],
                cwd=self.folder,
                env=environment,
                input=data,
                capture_output=True,
                timeout=self.timeout_s,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise GitError(f"git {arguments[0]} took longer than {self.timeout_s:g} s") from None
        except OSError as error:
            raise GitError(f"git can't be started: {error.strerror}") from None
        if done.returncode:
            said = done.stderr.decode(errors="replace").strip().splitlines()
            fatal = [line for line in said if line.startswith(("fatal:", "error:"))]
            why = next(iter(fatal or said[-1:]), f"exit {done.returncode}")
            raise GitError(f"git {arguments[0]}: {why}")
        return done.stdout

    def text(self, *arguments: str, env: Mapping[str, str] | None = None) -> str:
        """The output of a git command as one stripped text."""
        return self.run(*arguments, env=env).decode(errors="surrogateescape").strip()

    def maybe(self, *arguments: str) -> str | None:
        """The output of a git command; None when it failed or said nothing."""
        try:
            return self.text(*arguments) or None
        except GitError:
            return None


def shown(path: str) -> str:
    """A path of git as text that can be written down; bytes that are no UTF-8 are replaced."""
    return path.encode(errors="surrogateescape").decode(errors="replace")


def find_git() -> str:
    """The git executable.

    Raises:
        NotReady: there is none on PATH.
    """
    import shutil

    found = shutil.which("git") or shutil.which("git", path="/usr/local/bin:/opt/homebrew/bin")
    if found is None:
        raise NotReady("no_git", "no git found: install git and put it on PATH")
    return found


@dataclass(frozen=True, slots=True)
class Repository:
    """The repository that a project lies in."""

    git: Git
    #: top folder of the work tree
    top: Path
    #: of this work tree
    git_dir: Path
    #: the project's folder below `top`, with a slash at its end; empty when it is the top
    prefix: str

    def head(self) -> str | None:
        """The commit under HEAD; None when there is none yet."""
        return self.git.maybe("rev-parse", "--verify", "--quiet", "HEAD^{commit}")

    def empty_tree(self) -> str:
        """The tree of nothing, to compare with where there is no commit.

        Raises:
            GitError: git refused.
        """
        return self.git.text("hash-object", "-t", "tree", "-w", "--stdin")

    def relative(self, path: str) -> str | None:
        """A path from the top as one from the project; None when it lies outside."""
        return path.removeprefix(self.prefix) if path.startswith(self.prefix) else None


def repository_of(root: Path, *, timeout_s: float = TIMEOUT_S) -> Repository | None:
    """The repository around a project folder; None when it lies in none, or in one that ignores it.

    Raises:
        NotReady: there is no git.
    """
    git = Git(root, find_git(), timeout_s)
    if not any((folder / ".git").exists() for folder in (root, *root.parents)):
        return None  # what git would say, without a process
    answer = git.maybe("rev-parse", "--show-toplevel", "--absolute-git-dir", "--show-prefix")
    if answer is None:
        return None
    top, git_dir, *rest = answer.split("\n")
    found = Repository(git, Path(top), Path(git_dir), rest[0] if rest else "")
    return None if found.prefix and _is_ignored(git) else found


def _is_ignored(git: Git) -> bool:
    """Whether git ignores its folder, as a repository of a whole home folder does."""
    with suppress(GitError):
        # Exit 1, an error, says that it is not. The command does not take literal paths.
        return bool(git.text("check-ignore", ".", env={"GIT_LITERAL_PATHSPECS": "0"}))
    return False
