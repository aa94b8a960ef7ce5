"""`loop uninstall`: exactly our parts go, and nothing else."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from loop.builder.permissions import approved_file
from loop.errors import LoopError, WrongState
from loop.git.snapshot import project_refs
from loop.setup.step import Step
from loop.setup.uninstall import uninstall
from loop.store.locks import FileLock
from tests.setup.person import Person, step, tree
from tests.shifting import Bound, sleeper

DESKTOP = """{
    "zoom": 1.50,
    "mcpServers": {
        "other": {"command": "x"}, "architect_watcher_other": {"args": ["--project", "/p/other"]}
    }
}
"""


def take_out(person: Person, *, purge: bool = False) -> list[Step]:
    return uninstall(person.project, env=person.env, purge=purge, platform="linux")


def outside_of_ai(person: Person) -> dict[str, bytes]:
    return {name: data for name, data in tree(person.root).items() if not name.startswith(".ai/")}


@pytest.mark.parametrize(
    ("claude_md", "ignore"),
    [
        (b"# Mine\n", b"node_modules/\n"),
        (b"\xef\xbb\xbf# Mine\r\n\r\nText", b"a\r\nb\r\n"),
        (b"\n\n", b""),
        (b"", b"\xe9\n\n\n"),
        (b"no newline", b"# comment"),
    ],
)
def test_every_file_is_again_what_it_was_byte_for_byte(
    person: Person, claude_md: bytes, ignore: bytes
) -> None:
    person.has_desktop(DESKTOP)
    (person.root / "CLAUDE.md").write_bytes(claude_md)
    (person.root / ".gitignore").write_bytes(ignore)
    (person.root / "README.md").write_bytes(b"mine\r\n")
    before = tree(person.root)
    person.init()
    person.init()
    assert outside_of_ai(person) != before

    take_out(person)
    assert outside_of_ai(person) == before
    assert person.desktop.read_text() == DESKTOP


def test_files_that_we_made_go_and_the_readme_and_the_record_stay(person: Person) -> None:
    report = person.init()
    readme = (person.root / "README.md").read_bytes()
    (report.project.completed / "0001.json").write_text("{}")
    steps = take_out(person)
    assert outside_of_ai(person) == {"README.md": readme}
    assert (report.project.completed / "0001.json").exists()
    assert step(steps, "folders").outcome == "kept"


def test_what_was_written_around_our_block_since_stays(person: Person) -> None:
    person.init()
    path = person.root / "CLAUDE.md"
    path.write_text("# Before\n\n" + path.read_text() + "\n# After\n")
    take_out(person)
    assert path.read_text() == "# Before\n\n# After\n"


def test_only_the_entries_of_this_project_go(person: Person, tmp_path: Path) -> None:
    person.has_desktop()
    other = tmp_path / "elsewhere" / "app"
    other.mkdir(parents=True)
    kept = person.init(other).server
    person.init()
    config = json.loads(person.desktop.read_text())
    config["mcpServers"]["architect_watcher_twice"] = {"args": ["--project", str(person.root)]}
    person.desktop.write_text(json.dumps(config))
    take_out(person)
    assert list(json.loads(person.desktop.read_text())["mcpServers"]) == [kept]


def test_the_approved_copy_goes_so_that_no_run_can_start(person: Person) -> None:
    project = person.init().project
    copy = approved_file(project)
    assert copy.exists()
    take_out(person)
    assert not copy.exists()
    assert not copy.parent.exists()


def test_twice_is_once(person: Person) -> None:
    person.has_desktop(DESKTOP)
    person.init()
    take_out(person)
    before = tree(person.root), tree(person.home)
    again = take_out(person)
    assert {step.outcome for step in again} == {"unchanged", "kept"}
    assert (tree(person.root), tree(person.home)) == before


def test_purge_takes_the_folder_and_the_snapshots_of_this_project_only(person: Person) -> None:
    person.git("init", "--quiet")
    person.git("-c", "user.name=T", "-c", "user.email=t@example.invalid", "commit", "--quiet",
               "--allow-empty", "--message=first")  # fmt: skip
    person.init()
    ours, other = f"{project_refs(person.root)}/1/1/before", "refs/loop/0123456789ab/1/1/before"
    for ref in (ours, other):
        person.git("update-ref", ref, "HEAD")
    take_out(person, purge=True)
    assert not (person.root / ".ai").exists()
    assert person.git("for-each-ref", "--format=%(refname)", "refs/loop").split() == [other]


@contextmanager
def process_that_locks(path: Path) -> Iterator[None]:
    """Another process that holds the lock on a file, as a run does on its log."""
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "from loop.store.locks import FileLock\n"
        "lock = FileLock(Path(sys.argv[1]))\n"
        "print('ready' if lock.try_acquire() else 'taken', flush=True)\n"
        "sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(path)],
        cwd=Path(__file__).parents[2],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            yield
        finally:
            process.kill()


@pytest.mark.parametrize("purge", [False, True])
def test_while_a_run_is_alive_nothing_is_touched(person: Person, purge: bool) -> None:
    person.has_desktop(DESKTOP)
    project = person.init().project
    project.task_file(project.running, "7").write_text("{}")
    before = tree(person.root), tree(person.home)
    with process_that_locks(project.log("7")):
        with pytest.raises(WrongState, match="task 7 is running") as problem:
            take_out(person, purge=purge)
        assert "\n" not in str(problem.value)
        after = tree(person.root), tree(person.home)
    for files in (*before, *after):
        files.pop(".ai/logs/0007.log", None)
        files.pop(".ai/state/state.lock", None)
    assert after == before
    # The same task without a live process is no reason to refuse.
    take_out(person, purge=purge)
    assert not (person.root / "CLAUDE.md").exists()


@pytest.mark.parametrize("purge", [False, True])
def test_while_a_session_works_the_queue_nothing_is_touched(person: Person, purge: bool) -> None:
    person.init()
    with sleeper() as process:
        session = Bound(person.project, person.home, process)
        session.add("Do it")
        session.begins()
        before = tree(person.root)
        with pytest.raises(WrongState, match=r"process \d+\): run `loop stop`"):
            take_out(person, purge=purge)
        assert tree(person.root) == before
    assert step(take_out(person, purge=purge), "approved rules").note == "removed"


def test_a_desktop_file_that_cant_be_read_leaves_all_in_place(person: Person) -> None:
    person.has_desktop()
    person.init()
    person.desktop.write_text("{,}")
    before = outside_of_ai(person)
    with pytest.raises(LoopError, match="nothing was changed"):
        take_out(person)
    assert outside_of_ai(person) == before
    assert approved_file(person.project).exists()


def test_a_folder_that_was_damaged_can_still_be_taken_out(person: Person) -> None:
    project = person.init().project
    shutil.rmtree(project.state)
    take_out(person, purge=True)
    assert list(tree(person.root)) == ["README.md"]


def test_a_linked_folder_is_not_followed(person: Person, tmp_path: Path) -> None:
    other = tmp_path / "other"
    (other / ".ai").mkdir(parents=True)
    (person.root / ".ai").symlink_to(other / ".ai")
    with pytest.raises(LoopError, match="is a link"):
        take_out(person, purge=True)
    assert (other / ".ai").is_dir()


def test_a_server_that_still_runs_is_told(person: Person) -> None:
    project = person.init().project
    lock = FileLock(project.worker_lock)
    assert lock.try_acquire()
    lock.write(b'{"pid": 4711, "host": "h", "since": "2026-07-23T10:00:00Z"}')
    told = step(take_out(person), "worker")
    lock.release()
    assert "4711" in (told.note or "")
