"""Our parts of the project's own texts: CLAUDE.md, README.md, .gitignore.

Owns: when a text is made, when a block goes into one that is there, taking the block out. Does not
own: how a block is found (`blocks`).

Invariant: without our block, a text is what it was, byte for byte.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from loop.errors import LoopError
from loop.git.command import GitError, Repository
from loop.setup import foreign_file
from loop.setup.blocks import HASH, HTML, Markers, put, remove
from loop.setup.step import Step
from loop.store.files import cannot_write
from loop.store.paths import Project
from loop.templates import template

IGNORED = ".ai/*\n!.ai/config.json\n!.ai/roles/"
_IGNORES_ALL = frozenset(
    f"{before}.ai{after}" for before in ("", "/", "**/") for after in ("", "/", "/**")
)


def put_claude_md(project: Project, commit_prefix: str) -> Step:
    """Our block in CLAUDE.md, made or made current.

    Raises: LoopError if the file can't be read, written, or has damaged markers.
    """
    path = project.root / "CLAUDE.md"
    if path.is_symlink() and not path.resolve().is_relative_to(project.root):
        note = (
            f"it is a link to {path.resolve()}, outside the project; the Builder's way of working "
            "is described in the block that `loop init` puts into a CLAUDE.md of the project"
        )
        return Step("CLAUDE.md", str(path), "skipped", note)
    body = template("CLAUDE.md", commit_prefix=commit_prefix)
    return _put(path, body, HTML, "how to work in this project, between two markers")


def put_ignore_lines(project: Project, repository: Repository | None) -> Step:
    """Our lines in .gitignore, unless git ignores all of `.ai/` by other lines already.

    Raises: LoopError, as `put_claude_md`.
    """
    path = project.root / ".gitignore"
    if _all_ignored(path, repository):
        note = (
            "git ignores all of .ai/ here already; to keep .ai/config.json and .ai/roles/ in git, "
            "take that line out and run `loop init` again"
        )
        return Step(".gitignore", str(path), "kept", note)
    return _put(path, IGNORED, HASH, None)


def put_readme(project: Project, now: datetime) -> Step:
    """README.md from the template, if the project has none of any spelling.

    Raises: LoopError if it can't be written.
    """
    found = sorted(p for p in project.root.iterdir() if p.name.lower().split(".")[0] == "readme")
    markdown = [path for path in found if path.name.lower() == "readme.md"]
    if markdown:
        return Step("README.md", str(markdown[0]), "unchanged")
    if found:
        note = "the list of recent changes is kept in a README.md only; this project has another"
        return Step("README.md", str(found[0]), "kept", note)
    path = project.root / "README.md"
    date = f"{now:%Y-%m-%d}"
    content = template("README.template.md", project=project.name, date=date)
    _write(path, content.encode())
    return Step("README.md", str(path), "created", "yours to fill in")


def take_out_block(path: Path, markers: Markers) -> Step:
    """Takes our block out of a text; a text that held nothing else goes.

    Raises: LoopError, as `put_claude_md`.
    """
    content = foreign_file.read(path)
    if content is None:
        return Step(path.name, str(path), "unchanged", "there is none")
    text = _decoded(path, content)
    without = remove(text, markers, path.name)
    if without == text:
        return Step(path.name, str(path), "unchanged", "nothing of ours is in it")
    foreign_file.refuse_read_only(path)
    if without is None:
        try:
            path.unlink()
        except OSError as error:
            raise cannot_write(path, error) from None
        return Step(path.name, str(path), "updated", "removed: nothing else was in it")
    foreign_file.replace(path, _encoded(without))
    return Step(path.name, str(path), "updated", "our block is out")


def is_ignored(path: str, repository: Repository) -> bool:
    """Whether git ignores a path, given from the project's folder."""
    # check-ignore takes plain paths only, and refuses to work under the literal-pathspecs setting.
    env = {"GIT_LITERAL_PATHSPECS": "0"}
    try:
        return bool(repository.git.text("check-ignore", "--no-index", "--", path, env=env))
    except GitError:
        return False  # that is how it says no


def _all_ignored(path: Path, repository: Repository | None) -> bool:
    if repository is not None:
        # Git's own word covers a line of a folder above, and the person's global file.
        return is_ignored(".ai/config.json", repository)
    lines = _decoded(path, foreign_file.read(path) or b"").splitlines()
    return any(line.strip() in _IGNORES_ALL for line in lines)


def _put(path: Path, body: str, markers: Markers, note: str | None) -> Step:
    content = foreign_file.read(path)
    text = None if content is None else _decoded(path, content)
    new = put(text, body, markers, path.name)
    if new == text:
        return Step(path.name, str(path), "unchanged")
    _write(path, _encoded(new))
    return Step(path.name, str(path), "created" if text is None else "updated", note)


def _write(path: Path, content: bytes) -> None:
    foreign_file.refuse_read_only(path)
    made = False
    try:
        if not path.exists():
            # `replace` keeps a file's mode, and a new file here has that of any new file.
            path.touch(exist_ok=False)
            made = True
        foreign_file.replace(path, content)
    except OSError as error:
        raise cannot_write(path, error) from None
    except LoopError:
        if made:
            path.unlink(missing_ok=True)
        raise


def _decoded(path: Path, content: bytes) -> str:
    if b"\0" in content:
        raise LoopError(f"{path}: not UTF-8 text (is it UTF-16?); save it as UTF-8 and try again")
    return content.decode(errors="surrogateescape")


def _encoded(text: str) -> bytes:
    return text.encode(errors="surrogateescape")
