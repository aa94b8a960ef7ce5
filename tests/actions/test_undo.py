"""Undo: what only the task changed goes back, nothing else, and the undo goes back as well."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from loop.actions.review import review
from loop.actions.undo import Undoing, undo
from loop.errors import NotFound, WrongState
from loop.git import checkpoint as checkpoint_module
from loop.git.restore import put_back
from loop.service.tools.arguments import UndoTask
from loop.service.tools.judging import Judging
from loop.service.tools.tool import Wiring
from loop.service.wakeups import Wakeups
from loop.store import queue, timeline
from loop.store.journal import transition
from loop.store.locks import FileLock, is_locked
from loop.store.scan import locate
from tests.actions.conftest import NOW, Bench
from tests.crashing import killed_before_change


def take_back(bench: Bench, task_id: str, *, force: bool = False) -> Undoing:
    return undo(bench.project, task_id, "user", NOW, force=force)


def everything(bench: Bench) -> None:
    bench.write("a.txt", "changed\n")
    bench.write("new ü.txt", "new\n")
    bench.write("deep/er/x", "x\n")
    (bench.root / "old.txt").unlink()
    (bench.root / "dir/b.txt").rename(bench.root / "dir/renamed.txt")
    (bench.root / "run.sh").chmod(0o755)
    (bench.root / "link").unlink()
    (bench.root / "link").symlink_to("elsewhere")
    bench.write("-dash", "x\n")
    bench.write(":(top)x", "x\n")


@pytest.fixture
def rich(bench: Bench) -> Bench:
    """A repository with a script, a link and a file of Windows in it, too."""
    bench.write("run.sh", "#!/bin/sh\n").chmod(0o644)
    bench.write("windows.txt", "a\r\nb\r\n")
    (bench.root / "link").symlink_to("a.txt")
    bench.git("add", "-A")
    bench.git("commit", "-qm", "more")
    return bench


@pytest.mark.parametrize("mode", ["commit", "ref", "off"])
def test_every_kind_of_change_goes_back_and_comes_back(rich: Bench, mode: str) -> None:
    rich.configure(f'{{"checkpoint": {{"mode": "{mode}"}}}}')
    before = rich.files()
    task_id = rich.did(lambda: everything(rich))
    after = rich.files()
    head = rich.git("rev-parse", "HEAD")

    done = take_back(rich, task_id)
    assert rich.files() == before
    assert not (rich.root / "deep").exists()
    assert done.overtaken == []
    assert len(done.taken_back) == 10
    assert (rich.git("rev-parse", "HEAD") == head) == (mode != "commit")
    if mode == "commit":
        assert rich.git("status", "--short") == ""
        assert rich.git("log", "-1", "--format=%b").strip() == f"Undo task {task_id}: Do it"

    again = take_back(rich, task_id)
    assert (again.redone, again.overtaken) == (True, [])
    assert rich.files() == after
    take_back(rich, task_id)
    assert rich.files() == before
    events = [e["event"] for e in timeline.last(rich.project.timeline, 9, task_id)]
    assert events[-3:] == ["undone"] * 3


@pytest.mark.parametrize(
    ("autocrlf", "attributes"),
    [("true", ""), ("false", ""), ("input", ""), ("false", "* text=auto\n")],
)
def test_line_ends_of_windows_come_back_as_they_were(
    bench: Bench, autocrlf: str, attributes: str
) -> None:
    bench.git("config", "core.autocrlf", autocrlf)
    bench.write(".gitattributes", attributes)
    bench.write("windows ü.txt", "a\r\nb\r\n")
    bench.write("unix.txt", "a\n")
    bench.git("add", "-A")
    bench.git("commit", "-qm", "windows")
    before = bench.files()

    def work() -> None:
        bench.write("windows ü.txt", "a\r\nb\r\nc\r\n")
        if autocrlf == "false" and not attributes:  # else git takes both for the same
            bench.write("unix.txt", "a\r\n")

    take_back(bench, bench.did(work))
    assert bench.files() == before
    assert bench.git("status", "--short") == ""


def test_who_may_read_a_file_stays_as_it_is(bench: Bench) -> None:
    for name, mode in (("a.txt", 0o600), ("old.txt", 0o750), ("dir/b.txt", 0o640)):
        (bench.root / name).chmod(mode)
    bench.git("commit", "-qam", "old.txt runs")
    before = bench.files()

    def work() -> None:
        bench.write("a.txt", "x\n")
        (bench.root / "old.txt").chmod(0o640)
        (bench.root / "dir/b.txt").chmod(0o750)

    take_back(bench, bench.did(work))
    assert bench.files() == before


def test_what_later_tasks_and_the_person_changed_elsewhere_stays(bench: Bench) -> None:
    first = bench.did(lambda: bench.write("a.txt", "by the first\n"))
    bench.did(lambda: bench.write("dir/b.txt", "by the second\n"))
    bench.write("old.txt", "staged\n")
    bench.git("add", "old.txt")
    bench.write("old.txt", "staged and more\n")
    bench.write("mine.txt", "untracked\n")
    staged = bench.git("diff", "--cached")
    assert take_back(bench, first).taken_back == ["a.txt"]
    assert bench.read("a.txt") == "one\ntwo\nthree\na.txt\n"
    assert bench.read("dir/b.txt") == "by the second\n"
    assert bench.read("old.txt") == "staged and more\n"
    assert bench.git("diff", "--cached") == staged
    assert bench.git("status", "--short") == "MM old.txt\n?? mine.txt\n"


async def test_an_answer_names_some_paths_and_counts_the_rest(bench: Bench) -> None:
    def work() -> None:
        for n in range(60):
            bench.write(f"new/{n:02d}.txt", "x\n")

    task_id = bench.did(work)
    for n in range(25):
        bench.write(f"new/{n:02d}.txt", "by the person since\n")
    tools = Judging(Wiring(bench.project, Wakeups(), {}, lambda: None))
    told = await tools._undo(UndoTask(task_id=task_id))
    assert (len(told["taken_back"]), told["more_taken_back"]) == (20, 15)
    assert (len(told["overtaken"]), told["more_overtaken"]) == (20, 5)


def test_an_overlap_is_listed_and_taken_only_with_force_and_that_can_be_undone(
    bench: Bench,
) -> None:
    def work() -> None:
        bench.write("a.txt", "by the task\n")
        bench.write("new.txt", "new\n")
        bench.write("dir/b.txt", "by the task\n")

    task_id = bench.did(work)
    bench.write("a.txt", "by the person since\n")
    bench.write("new.txt", "by the person since\n")
    done = take_back(bench, task_id)
    assert (done.taken_back, done.overtaken) == (["dir/b.txt"], ["a.txt", "new.txt"])
    assert bench.read("a.txt") == "by the person since\n"
    assert take_back(bench, task_id).redone

    forced = take_back(bench, task_id, force=True)
    assert forced.taken_back == ["a.txt", "dir/b.txt", "new.txt"]
    assert bench.read("new.txt") is None
    back = take_back(bench, task_id)
    assert back.redone
    assert bench.read("a.txt") == bench.read("new.txt") == "by the person since\n"
    assert bench.read("dir/b.txt") == "by the task\n"


def test_what_a_forced_undo_of_an_undo_overwrote_comes_back(bench: Bench) -> None:
    task_id = bench.did(lambda: everything_half(bench))
    take_back(bench, task_id)
    bench.write("a.txt", "by the person since\n")
    back = take_back(bench, task_id, force=True)
    assert (back.redone, back.taken_back) == (True, ["a.txt", "half.txt"])
    assert bench.read("a.txt") == "half\n"
    assert take_back(bench, task_id).taken_back == ["a.txt", "half.txt"]
    assert bench.read("a.txt") == "by the person since\n"
    assert bench.read("half.txt") is None


def test_a_path_that_others_changed_between_two_runs_is_an_overlap(bench: Bench) -> None:
    task_id = bench.did(lambda: bench.write("a.txt", "by the first run\n"))
    bench.write("a.txt", "by the first run\nand by the person\n")
    bench.git("commit", "-qam", "the person's")
    bench.did_again(task_id, lambda: bench.write("a.txt", "by the second run\n"))
    done = take_back(bench, task_id)
    assert (done.taken_back, done.overtaken) == ([], ["a.txt"])
    assert bench.read("a.txt") == "by the second run\n"
    assert "undone" not in [e["event"] for e in timeline.last(bench.project.timeline, 9, task_id)]


def test_a_task_that_was_undone_and_ran_again_is_taken_back_as_a_whole(bench: Bench) -> None:
    def first() -> None:
        bench.write("a.txt", "by the first run\n")
        bench.write("wrong.txt", "x\n")

    task_id = bench.did(first)
    take_back(bench, task_id)
    bench.did_again(task_id, lambda: bench.write("a.txt", "by the second run\n"))
    done = take_back(bench, task_id)
    assert (done.taken_back, done.overtaken, done.redone) == (["a.txt"], [], False)
    assert bench.read("a.txt") == "one\ntwo\nthree\na.txt\n"
    assert take_back(bench, task_id).redone
    assert bench.read("a.txt") == "by the second run\n"
    assert bench.read("wrong.txt") is None


def test_what_a_failed_task_left_half_done_goes_back(bench: Bench) -> None:
    before = bench.files()
    task_id = bench.did(lambda: everything_half(bench), status="failure", reason="cancelled")
    assert take_back(bench, task_id).taken_back == ["a.txt", "half.txt"]
    assert bench.files() == before


def everything_half(bench: Bench) -> None:
    bench.write("a.txt", "half\n")
    bench.write("half.txt", "half\n")


def test_the_person_s_own_unfinished_work_on_the_same_file_comes_back(bench: Bench) -> None:
    bench.write("a.txt", "the person's, not committed\n")
    bench.write("mine.txt", "untracked\n")

    def work() -> None:
        bench.write("a.txt", "by the task\n")
        (bench.root / "mine.txt").unlink()

    task_id = bench.did(work)
    take_back(bench, task_id)
    assert bench.read("a.txt") == "the person's, not committed\n"
    assert bench.read("mine.txt") == "untracked\n"
    assert bench.git("status", "--short") == " M a.txt\n?? mine.txt\n"


@pytest.mark.parametrize("grows", [True, False])
def test_a_file_that_the_snapshots_can_not_hold_is_never_touched(bench: Bench, grows: bool) -> None:
    bench.configure('{"checkpoint": {"max_file_mb": 0.001}}')
    small, big = "x\n" * 400, "x\n" * 600
    bench.write("data", small if grows else big)

    def work() -> None:
        bench.write("data", big if grows else small)
        bench.write("a.txt", "by the task\n")

    task_id = bench.did(work)
    assert take_back(bench, task_id, force=True).taken_back == ["a.txt"]
    assert bench.read("data") == (big if grows else small)


def test_a_file_that_became_a_secret_since_is_not_overwritten_even_with_force(
    bench: Bench,
) -> None:
    bench.configure('{"checkpoint": {"mode": "off"}}')
    task_id = bench.did(lambda: bench.write("settings", "a = 1\n"))
    secret = f"a = 'ghp_{'a1B2' * 9}'\n"
    bench.write("settings", secret)
    done = take_back(bench, task_id, force=True)
    assert (done.taken_back, done.overtaken) == ([], ["settings"])
    assert bench.read("settings") == secret


def test_an_ignored_file_of_the_person_s_is_not_overwritten_even_with_force(bench: Bench) -> None:
    bench.write("local.cfg", "shared\n")
    bench.git("add", "-A")
    bench.git("commit", "-qm", "shared settings")

    def work() -> None:
        (bench.root / "local.cfg").unlink()
        bench.write("out.log", "x\n")
        bench.write(".gitignore", ".ai/\nlocal.cfg\n")

    task_id = bench.did(work)
    bench.write("local.cfg", "the person's own\n")
    bench.write("out.log", "the person's own\n")
    bench.git("rm", "-q", "--cached", "out.log")
    bench.git("config", "core.excludesFile", str(bench.write(".git/ignored", "out.log\n")))
    done = take_back(bench, task_id, force=True)
    assert (done.taken_back, done.overtaken) == ([".gitignore"], ["local.cfg", "out.log"])
    assert bench.read("local.cfg") == bench.read("out.log") == "the person's own\n"


@pytest.mark.parametrize("how", ["the rule goes", "added by force"])
def test_a_file_that_git_ignored_before_the_task_is_no_work_of_it(bench: Bench, how: str) -> None:
    bench.write("ignored", "the person's own\n")
    bench.write(".ai/queue/x", "")

    def work() -> None:
        bench.write("a.txt", "by the task\n")
        if how == "the rule goes":
            bench.write(".gitignore", ".ai/\n")
        else:
            bench.git("add", "-f", "ignored")
            bench.git("commit", "-qm", "feat(1): all")

    task_id = bench.did(work)
    assert bench.git("log", "--format=%s", "--", "ignored").count("checkpoint") == 0
    assert not [f for f in review(bench.project, task_id, None, 0, NOW)["files"] if "ignored" in f]
    assert "ignored" not in take_back(bench, task_id, force=True).taken_back
    assert bench.read("ignored") == "the person's own\n"
    take_back(bench, task_id)
    assert bench.read("ignored") == "the person's own\n"


def test_a_file_that_git_ignores_since_the_task_was_not_removed_by_it(bench: Bench) -> None:
    bench.write("mine.txt", "the person's own\n")
    task_id = bench.did(lambda: bench.write(".gitignore", ".ai/\nignored\nmine.txt\n"))
    assert review(bench.project, task_id, None, 0, NOW)["files"] == [".gitignore +1 -0"]
    done = take_back(bench, task_id)
    assert (done.taken_back, done.overtaken) == ([".gitignore"], [])
    assert bench.git("status", "--short") == "?? mine.txt\n"


@pytest.mark.parametrize("option", ["--assume-unchanged", "--skip-worktree"])
def test_what_git_was_told_not_to_look_at_is_not_overwritten(bench: Bench, option: str) -> None:
    task_id = bench.did(lambda: bench.write("a.txt", "by the task\n"))
    bench.git("update-index", option, "a.txt")
    bench.write("a.txt", "the person's own\n")
    assert take_back(bench, task_id).overtaken == ["a.txt"]
    assert bench.read("a.txt") == "the person's own\n"


def test_a_folder_with_files_of_others_in_the_place_of_a_file_stays(bench: Bench) -> None:
    task_id = bench.did((bench.root / "a.txt").unlink)
    bench.write("a.txt/ignored", "kept by no snapshot\n")
    done = take_back(bench, task_id, force=True)
    assert (done.taken_back, done.overtaken) == ([], ["a.txt"])
    assert bench.read("a.txt/ignored") == "kept by no snapshot\n"


def test_nothing_is_removed_or_written_through_a_link(bench: Bench, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()

    def work() -> None:
        bench.write("out/new", "x\n")
        (bench.root / "dir/b.txt").unlink()

    task_id = bench.did(work)
    for name in ("out", "dir"):
        shutil.rmtree(bench.root / name, ignore_errors=True)
        (bench.root / name).symlink_to(elsewhere)
    (elsewhere / "new").write_text("not of the project\n")
    done = take_back(bench, task_id, force=True)
    assert (done.taken_back, sorted(done.overtaken)) == ([], ["dir/b.txt", "out/new"])
    assert [p.name for p in elsewhere.iterdir()] == ["new"]
    assert (bench.root / "dir").is_symlink()


def test_a_folder_and_a_file_that_took_each_other_s_place_change_back(bench: Bench) -> None:
    before = bench.files()

    def work() -> None:
        (bench.root / "a.txt").unlink()
        bench.write("a.txt/inside", "x\n")
        shutil.rmtree(bench.root / "dir")
        bench.write("dir", "a file now\n")

    task_id = bench.did(work)
    after = bench.files()
    take_back(bench, task_id)
    assert bench.files() == before
    take_back(bench, task_id)
    assert bench.files() == after


def test_what_was_changed_since_in_the_place_of_a_file_or_folder_goes_by_force_alone(
    bench: Bench,
) -> None:
    before = bench.files()

    def work() -> None:
        (bench.root / "a.txt").unlink()
        bench.write("a.txt/inside", "x\n")
        shutil.rmtree(bench.root / "dir")
        bench.write("dir", "a file now\n")

    task_id = bench.did(work)
    bench.write("a.txt/inside", "by the person since\n")
    bench.write("dir", "by the person since\n")
    since = bench.files()
    done = take_back(bench, task_id)
    assert (done.taken_back, len(done.overtaken)) == ([], 4)
    assert bench.files() == since
    assert len(take_back(bench, task_id, force=True).taken_back) == 4
    assert bench.files() == before
    take_back(bench, task_id)
    assert bench.files() == since


def test_a_sub_folder_of_a_bigger_repository_is_undone_alone(bench: Bench) -> None:
    from loop.store.paths import Project

    sub = Bench(Project(bench.root / "dir"))
    for folder in sub.project.folders():
        folder.mkdir(parents=True)

    def work() -> None:
        sub.write("b.txt", "inside\n")
        bench.write("a.txt", "outside\n")

    task_id = sub.did(work)
    assert take_back(sub, task_id).taken_back == ["b.txt"]
    assert bench.read("a.txt") == "outside\n"
    assert bench.read("dir/b.txt") == "one\ntwo\nthree\ndir/b.txt\n"


def test_while_something_runs_nothing_is_undone(bench: Bench) -> None:
    task_id = bench.did(lambda: bench.write("a.txt", "x\n"))
    bench.claimed("Another")
    with pytest.raises(WrongState, match=r"task 2 is running"):
        take_back(bench, task_id)
    assert bench.read("a.txt") == "x\n"
    assert not is_locked(bench.project.slot_lock)


def test_while_an_undo_works_nothing_is_claimed(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    from loop.actions import undo as module
    from loop.core.transition import new_run

    task_id = bench.did(lambda: bench.write("a.txt", "x\n"))
    waiting = queue.submit(bench.project, {"instructions": ["Next"]}, "user", NOW).task
    real = put_back
    claims: list[object] = []

    def meanwhile(*arguments: object) -> None:
        run = new_run(waiting, "uuid", NOW)
        claims.append(queue.claim(bench.project, waiting.id, run, NOW))
        real(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "put_back", meanwhile)
    take_back(bench, task_id)
    assert claims == [None]
    assert queue.claim(bench.project, waiting.id, new_run(waiting, "uuid", NOW), NOW) is not None


def test_two_undos_at_once_are_told_apart(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("loop.actions.undo._SLOT_S", 0.05)
    task_id = bench.did(lambda: bench.write("a.txt", "x\n"))
    other = FileLock(bench.project.slot_lock)
    assert other.try_acquire()
    with pytest.raises(WrongState, match="another undo is under way"):
        take_back(bench, task_id)
    other.release()
    assert take_back(bench, task_id).taken_back == ["a.txt"]


def test_a_task_that_never_ran_has_nothing_to_undo(bench: Bench) -> None:
    task = queue.submit(bench.project, {"instructions": ["x"]}, "user", NOW).task
    with pytest.raises(WrongState, match="is queued"):
        take_back(bench, task.id)
    queue.cancel_queued(bench.project, task.id, "user", NOW)
    with pytest.raises(NotFound, match="no snapshots"):
        take_back(bench, task.id)


def test_in_the_middle_of_a_merge_files_go_back_and_it_is_said_that_nothing_is_committed(
    bench: Bench,
) -> None:
    task_id = bench.did(lambda: bench.write("a.txt", "x\n"))
    head = bench.git("rev-parse", "HEAD")
    bench.write(".git/MERGE_HEAD", head)
    done = take_back(bench, task_id)
    assert (done.taken_back, done.commit) == (["a.txt"], None)
    assert done.skipped == "a merge is in progress"
    assert bench.git("rev-parse", "HEAD") == head


@pytest.mark.skipif(sys.platform == "win32", reason="needs fork")
def test_an_undo_that_is_killed_at_any_step_can_be_repeated_and_undone(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(checkpoint_module, "_LOCK_WAITS_S", ())
    task_id = bench.did(lambda: everything_half(bench))
    after = bench.files()
    copy = tmp_path / "copy"
    shutil.copytree(bench.root, copy, symlinks=True)
    for step in range(1, 60):
        killed = killed_before_change(step, bench.root, lambda: take_back(bench, task_id))
        with transition(bench.project):
            pass  # what was begun is finished by whoever comes next
        result = locate(bench.project, task_id, NOW).result
        assert result is not None
        if not result.undos:
            assert take_back(bench, task_id).taken_back == ["a.txt", "half.txt"], step
        assert bench.read("a.txt") == "one\ntwo\nthree\na.txt\n", step
        assert bench.read("half.txt") is None
        assert take_back(bench, task_id).redone
        assert bench.files() == after, step
        shutil.rmtree(bench.root)
        shutil.copytree(copy, bench.root, symlinks=True)
        if not killed:
            break
    else:
        raise AssertionError("more steps than expected")


def test_an_undo_that_git_broke_off_in_the_middle_is_repeated(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    task_id = bench.did(lambda: everything_half(bench))
    after = bench.files()
    code = (
        "import os, signal, sys\n"
        "from pathlib import Path\n"
        "from loop.actions import undo as module\n"
        "from loop.store.paths import Project\n"
        "from tests.actions.conftest import NOW\n"
        "real = module.put_back\n"
        "def half(repository, changed):\n"
        "    real(repository, changed[:1])\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "module.put_back = half\n"
        "module.undo(Project(Path(sys.argv[1])), sys.argv[2], 'user', NOW, force=False)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(bench.root), task_id],
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])},
        check=False,
        timeout=60,
    )
    assert done.returncode == -9
    assert bench.read("a.txt") == "one\ntwo\nthree\na.txt\n"
    assert bench.read("half.txt") == "half\n"
    assert take_back(bench, task_id).taken_back == ["a.txt", "half.txt"]
    assert take_back(bench, task_id).redone
    assert bench.files() == after
