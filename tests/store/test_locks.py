from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from loop.errors import Busy, NotFound
from loop.store import locks
from loop.store.locks import FileLock, is_locked, locked, wait_unlocked

HOLDER = """
import sys
from pathlib import Path
from loop.store.locks import FileLock
lock = FileLock(Path(sys.argv[1]))
assert lock.try_acquire()
print("ready", flush=True)
sys.stdin.read()
"""


@contextmanager
def held_elsewhere(path: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that holds the lock and has said so; ended at the end."""
    child = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)],
        cwd=Path(__file__).parents[2],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with child:
        try:
            assert child.stdout is not None
            assert child.stdout.readline() == "ready\n"
            yield child
        finally:
            child.kill()


def test_one_process_holds_a_lock_and_the_others_know(tmp_path: Path) -> None:
    path = tmp_path / "worker.lock"
    with held_elsewhere(path):
        assert is_locked(path)
        assert not FileLock(path).try_acquire()
    assert not is_locked(path)


def test_a_lock_dies_with_its_killed_holder(tmp_path: Path) -> None:
    path = tmp_path / "worker.lock"
    with held_elsewhere(path) as child:
        child.send_signal(signal.SIGKILL)
        assert child.wait(5) == -signal.SIGKILL
        lock = FileLock(path)
        assert lock.try_acquire()
        assert path.exists()
        lock.release()


def test_who_waits_for_a_lock_wakes_when_its_holder_dies(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    with held_elsewhere(path) as child:
        descriptor = os.open(path, os.O_RDWR)
        waiter = threading.Thread(target=wait_unlocked, args=(descriptor,), daemon=True)
        waiter.start()
        child.kill()
        waiter.join(5)
        assert not waiter.is_alive()
        os.close(descriptor)


def test_a_held_lock_is_refused_within_the_bound_and_says_where(tmp_path: Path) -> None:
    path = tmp_path / "state.lock"
    with (
        held_elsewhere(path),
        pytest.raises(Busy, match=r"state\.lock has been locked for 0\.05 s"),
        locked(path, within_s=0.05),
    ):
        pytest.fail("the lock was had twice")


def test_a_short_lock_is_free_after_the_block_also_after_an_error(tmp_path: Path) -> None:
    path = tmp_path / "state.lock"
    with pytest.raises(ZeroDivisionError), locked(path):
        assert is_locked(path)
        raise ZeroDivisionError
    assert not is_locked(path)


def test_a_lock_file_that_was_deleted_under_its_holder_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "worker.lock"
    lock = FileLock(path)
    assert lock.try_acquire()
    assert lock.still_there()
    path.unlink()
    assert not lock.still_there()
    other = FileLock(path)
    assert other.try_acquire()
    assert not lock.still_there()
    assert other.still_there()
    other.release()
    lock.release()
    assert not lock.held
    assert not lock.still_there()


def test_a_lock_file_that_is_deleted_while_it_is_taken_is_no_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "worker.lock"
    take = locks._try_lock

    def take_and_lose(descriptor: int) -> bool:
        taken = take(descriptor)
        path.unlink()
        return taken

    with monkeypatch.context() as patch:
        patch.setattr(locks, "_try_lock", take_and_lose)
        assert not FileLock(path).try_acquire()
    lock = FileLock(path)
    assert lock.try_acquire()
    lock.release()


def test_two_who_look_do_not_take_each_other_for_a_holder(tmp_path: Path) -> None:
    path = tmp_path / "worker.lock"
    path.touch()
    wrong: list[int] = []

    def look() -> None:
        wrong.extend(1 for _ in range(3000) if is_locked(path))

    threads = [threading.Thread(target=look) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert not wrong


def test_a_lock_in_a_folder_that_is_gone_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="run `loop init` again"):
        FileLock(tmp_path / "gone" / "a.lock").try_acquire()
    assert not is_locked(tmp_path / "gone" / "a.lock")


def test_who_holds_a_lock_is_written_into_it_for_people(tmp_path: Path) -> None:
    path = tmp_path / "worker.lock"
    lock = FileLock(path)
    lock.write(b"nobody")
    assert not path.exists()
    assert lock.try_acquire()
    lock.write(b"a long text")
    lock.write(b"short")
    assert path.read_bytes() == b"short"
    lock.release()
