"""Identities, relations and signals of processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator

import pytest

from loop.builder import processes, processes_mac
from tests.builder.launching import PATIENCE_S, wait_until

FAMILY = str(uuid.uuid4())
PARENT = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(20)", "a  b\\nc"])
print(child.pid, flush=True)
child.wait()
"""


@pytest.fixture
def family() -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """A child of the test, and the pid of its child."""
    environment = {"LOOP_RUN": FAMILY}
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT], env=environment, stdout=subprocess.PIPE
    )
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    yield parent, child
    for pid in processes.bearers(FAMILY):
        os.kill(pid, signal.SIGKILL)
    parent.communicate()


def test_an_identity_holds_for_its_own_process_only() -> None:
    own = processes.start_ticks(os.getpid())
    boot = processes.boot_id()
    assert processes.identity(os.getpid()) == {"pid": os.getpid(), "start": own, "boot": boot}
    assert own is not None
    assert processes.is_same(os.getpid(), own, boot)
    assert not processes.is_same(os.getpid(), own + 1, boot)
    assert not processes.is_same(os.getpid(), own, "another boot")
    assert not processes.is_same(os.getpid(), None, boot)


def test_a_zombie_and_a_reaped_process_are_gone() -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert processes.start_ticks(process.pid) is None
    assert process.pid not in processes.descendants(os.getpid())
    process.wait(PATIENCE_S)
    assert processes.start_ticks(process.pid) is None
    assert processes.identity(process.pid)["start"] is None
    assert processes.command_of(process.pid) == ""


def test_a_name_with_parentheses_and_spaces_does_not_mislead() -> None:
    program = "open('/proc/self/comm', 'w').write('a) R 1 (b'); print(flush=True); input()"
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    process.stdout.readline()
    assert process.pid in processes.descendants(os.getpid())
    assert (processes.start_ticks(process.pid) or 0) >= (processes.start_ticks(os.getpid()) or 0)
    process.communicate(b"\n")


def test_descendants_are_found_over_generations_and_bearers_by_their_environment(
    family: tuple[subprocess.Popen[bytes], int],
) -> None:
    parent, child = family
    found = processes.descendants(os.getpid())
    assert found.index(parent.pid) < found.index(child)
    assert processes.descendants(child) == []
    wait_until(lambda: {*processes.bearers(FAMILY)} == {parent.pid, child})
    assert processes.bearers(FAMILY[:-1]) == []


def test_a_command_is_one_line_of_text(family: tuple[subprocess.Popen[bytes], int]) -> None:
    expected = "-c import time; time.sleep(20) a b c"
    wait_until(lambda: processes.command_of(family[1]).endswith(expected))


def test_a_signal_reaches_the_same_process_only(
    family: tuple[subprocess.Popen[bytes], int],
) -> None:
    _, child = family
    boot = processes.boot_id()
    start = processes.start_ticks(child)
    assert start is not None
    assert not processes.signal_if_same(child, start - 1, boot, signal.SIGKILL)
    assert not processes.signal_if_same(child, start, "another boot", signal.SIGKILL)
    assert processes.start_ticks(child) == start
    assert processes.signal_if_same(child, start, boot, signal.SIGKILL)
    wait_until(lambda: processes.start_ticks(child) is None)
    assert not processes.signal_if_same(child, start, boot, signal.SIGKILL)


@pytest.mark.parametrize("pid", [1, 0, -1])
def test_the_first_process_and_groups_are_never_signalled(pid: int) -> None:
    start = processes.start_ticks(pid)
    assert not processes.signal_if_same(pid, start, processes.boot_id(), 0)


def test_bearers_are_read_from_what_ps_prints_on_macos() -> None:
    table = (
        "  501  501 /usr/bin/python3 -m x PATH=/bin LOOP_RUN=aaaa-1 HOME=/Users/a b\n"
        "  502  501 /bin/zsh LOOP_RUN=aaaa-12\n"
        "  503    0 /sbin/launchd LOOP_RUN=aaaa-1\n"
        "    1    0 /sbin/launchd\n"
        "\n"
        "  504  501 (gone)\n"
        "65535  501 node XLOOP_RUN=aaaa-1\n"
        "  505  501 node LOOP_RUN=aaaa-1\n"
    )
    assert processes_mac.bearers_in(table, "aaaa-1", 501) == [501, 505]


def test_a_start_is_read_from_what_ps_prints_on_macos() -> None:
    assert processes_mac.start_of("Ss   Tue Sep  2 10:11:12 2025\n") == 1756807872
    assert processes_mac.start_of("Z    Tue Sep  2 10:11:12 2025\n") is None
    assert processes_mac.start_of("") is None
