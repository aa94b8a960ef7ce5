"""Reading the small files of a project: settings, pause, owner."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import Literal

import msgspec
from msgspec import Struct

from loop.core.config import Config, decode_config
from loop.errors import BadInput, NotReady
from loop.store.files import read
from loop.store.locks import FileLock, is_locked
from loop.store.paths import Project


def load_config(project: Project) -> Config:
    """The project's settings; defaults when there is no file.

    Raises:
        NotReady: the file is wrong; the message names the key.
    """
    try:
        data = read(project.config)
        return Config() if data is None else decode_config(data)
    except BadInput as error:
        raise NotReady("config", f".ai/config.json: {error}") from None
    except OSError as error:
        raise NotReady("config", f".ai/config.json can't be read: {error.strerror}") from None


def usable_config(project: Project) -> Config:
    """The project's settings; defaults where they are wrong, which is others' to complain about."""
    try:
        return load_config(project)
    except NotReady:
        return Config()


class Pause(Struct, kw_only=True, omit_defaults=True):
    """Why no task is claimed."""

    by: Literal["architect", "user", "worker"]
    reason: str
    since: datetime
    #: when the worker tries again; None waits for a person, or for what is missing
    until: datetime | None = None
    #: `person`, or the kind of limit or missing part
    kind: str = "person"
    #: how often the worker has tried and met the same again
    tries: int = 0


def read_pause(project: Project) -> Pause | None:
    """The pause in force; None when the queue is not paused. A damaged file is a pause."""
    try:
        data = read(project.paused)
        if data is None:
            return None
        return msgspec.json.decode(data.removeprefix(b"\xef\xbb\xbf"), type=Pause)
    except (msgspec.DecodeError, UnicodeDecodeError, OSError):
        since = datetime.fromtimestamp(project.paused.stat().st_mtime).astimezone()
        return Pause(by="user", reason="paused.json is there but can't be read", since=since)


class Owner(Struct, kw_only=True):
    """The process that has runs executed for a project; for people to read."""

    pid: int
    host: str
    since: datetime
    #: what it is: `serve` or `work`
    driver: str = "serve"
    #: why it gets no events of the file system; None while it does
    no_events: str | None = None


def this_process(driver: str, since: datetime, no_events: str | None = None) -> Owner:
    """This process as an owner."""
    import socket  # not for those who only read

    host = socket.gethostname()
    return Owner(pid=os.getpid(), host=host, since=since, driver=driver, no_events=no_events)


#: What the lock's file says while somebody holds it who claims nothing.
_NO_WORKER = b"no worker\n"


@contextmanager
def in_workers_place(project: Project) -> Iterator[bool]:
    """Holds the worker's lock for a moment, to end what was left; False when a worker has it."""
    lock = FileLock(project.worker_lock)
    held = lock.try_acquire()
    try:
        if held:
            with suppress(OSError):  # a full disk: nothing depends on it
                lock.write(_NO_WORKER)
        yield held
    finally:
        lock.release()


def read_owner(project: Project) -> Owner | None:
    """The worker that holds the worker's lock; None when none does."""
    if not is_locked(project.worker_lock):
        return None
    data = read(project.worker_lock) or b""
    if data == _NO_WORKER:
        return None
    try:
        return msgspec.json.decode(data, type=Owner)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return Owner(pid=0, host="", since=datetime.fromtimestamp(0).astimezone())
