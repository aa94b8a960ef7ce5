"""The Builder as a child process: started, waited for, signalled.

Owns the platform's ways of doing these, and the wakeups of the shim: a signal to the shim and the
end of any child both end a wait at once. Also adopts orphans where the system can (Linux), so that
what the Builder leaves behind comes to the shim. Does not own why anything is ended.

Invariants: the child gets the descriptors 0, 1 and 2 and no others, default signal dispositions
and exactly the environment that the launcher was given. A pid is never signalled after it was
reaped.
"""

from __future__ import annotations

import os
import signal
import sys
import time

_ADOPT_ORPHANS = 36  # PR_SET_CHILD_SUBREAPER


if sys.platform == "win32":
    import subprocess

    from loop.builder import processes_windows

    #: There is no way to be told of a request, so waits are cut to this length.
    LONGEST_WAIT_S = 1.0

    class Child:
        """One process that the shim started. A `.cmd` file must be named by its full path."""

        def __init__(self) -> None:
            self.terminated = False
            self.pid = 0
            self.exit_code: int | None = None
            self.signal: int | None = None
            self._process: subprocess.Popen[bytes] | None = None

        def start(self, argv: list[str], stdin: int, stdout: int, stderr: int) -> None:
            self._process = subprocess.Popen(
                argv,
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                creationflags=subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW,
            )
            self.pid = self._process.pid

        @property
        def is_gone(self) -> bool:
            return self.exit_code is not None

        def wait(self, timeout_s: float) -> None:
            if self._process is None or self.is_gone:
                time.sleep(timeout_s)
                return
            try:
                self.exit_code = self._process.wait(min(timeout_s, LONGEST_WAIT_S))
            except subprocess.TimeoutExpired:
                return

        def reap(self) -> bool:
            return False

        def send(self, signum: int) -> None:
            del signum
            processes_windows.end_tree(self.pid)

else:
    import select

    #: Dispositions that a parent may have changed, the interpreter's own included.
    _DEFAULTS = (
        signal.SIGINT,
        signal.SIGHUP,
        signal.SIGTERM,
        signal.SIGQUIT,
        signal.SIGPIPE,
        signal.SIGXFSZ,
        signal.SIGUSR1,
        signal.SIGUSR2,
        signal.SIGCHLD,
        signal.SIGALRM,
        signal.SIGTSTP,
        signal.SIGTTIN,
        signal.SIGTTOU,
    )

    class Child:
        """One process that the shim started, and the orphans that came to the shim."""

        def __init__(self) -> None:
            """Be ready for signals; to be made once, on the main thread, before the start."""
            #: Whether the shim itself was told to end.
            self.terminated = False
            self.pid = 0
            #: What it exited with; None while it runs, and when a signal ended it.
            self.exit_code: int | None = None
            #: The signal that ended it, or None.
            self.signal: int | None = None
            self._wakeup, wake = os.pipe()
            os.set_blocking(wake, False)
            signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
            for signum in (signal.SIGTERM, signal.SIGUSR1, signal.SIGCHLD):
                signal.signal(signum, self._on_signal)
            signal.pthread_sigmask(signal.SIG_SETMASK, ())
            self._poll = select.poll()
            self._poll.register(self._wakeup, select.POLLIN)

        def start(self, argv: list[str], stdin: int, stdout: int, stderr: int) -> None:
            """Start it in a process group of its own.

            Raises:
                OSError: it could not be started.
            """
            self.pid = os.posix_spawn(
                argv[0],
                argv,
                _environment(),
                file_actions=[
                    (os.POSIX_SPAWN_DUP2, stdin, 0),
                    (os.POSIX_SPAWN_DUP2, stdout, 1),
                    (os.POSIX_SPAWN_DUP2, stderr, 2),
                ],
                setpgroup=0,
                setsigdef=_DEFAULTS,
                setsigmask=(),
            )

        @property
        def is_gone(self) -> bool:
            return self.exit_code is not None or self.signal is not None

        def wait(self, timeout_s: float) -> None:
            """Wait for a signal or the end of a child, `timeout_s` at most, and reap."""
            if self._poll.poll(max(1, round(timeout_s * 1000))):
                os.read(self._wakeup, 65536)
            self.reap()

        def reap(self) -> bool:
            """Take note of the children that ended; whether any child is left."""
            try:
                while True:
                    pid, status = os.waitpid(-1, os.WNOHANG)
                    if pid == 0:
                        return True
                    if pid == self.pid:
                        code = os.waitstatus_to_exitcode(status)
                        self.exit_code, self.signal = (code, None) if code >= 0 else (None, -code)
            except ChildProcessError:
                return False

        def send(self, signum: int) -> None:
            """Signal the Builder itself, unless it is gone or became another user's."""
            try:
                if not self.is_gone:
                    os.kill(self.pid, signum)
            except PermissionError:
                return

        def _on_signal(self, signum: int, frame: object) -> None:
            del frame
            if signum == signal.SIGTERM:
                self.terminated = True

    def _environment() -> dict[bytes, bytes]:
        """The environment that this process was started with: the interpreter adds to its own."""
        if sys.platform == "linux":
            from loop.builder import processes_linux

            return processes_linux.environment_of(os.getpid()) or dict(os.environb)
        return dict(os.environb)


def adopt_orphans() -> None:
    """Become the parent of descendants that lose theirs, where the system can do that."""
    if sys.platform != "linux":
        return
    try:
        import ctypes

        ctypes.CDLL(None).prctl(_ADOPT_ORPHANS, 1, 0, 0, 0)
    except (ImportError, OSError, AttributeError):
        return
