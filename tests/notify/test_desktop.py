"""Native notifications: each platform's command, run with a stand-in for its program."""

from __future__ import annotations

import base64
import errno
import os
import subprocess
from pathlib import Path

import pytest

from loop.core.notification import Message
from loop.errors import NotSent
from loop.notify import desktop
from loop.notify.desktop import Desktop, desktop_of
from tests.relay.shop import until

_EVIL = Message('-h "$(touch x)" `id`', "a <b> & 'c'\n$HOME; rm", "claude://claude.ai/chat/0-f")


def program(folder: Path, name: str, script: str) -> Path:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def _refuses(*_: object, **__: object) -> None:
    raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    """A desktop session whose programs write down what they are called with."""
    (tmp_path / "bin").mkdir()
    told = f'printf "%s|" "$@" >> {tmp_path}/called; echo >> {tmp_path}/called'
    program(tmp_path / "bin", "notify-send", told)
    program(tmp_path / "bin", "xdg-open", f'printf "%s" "$1" > {tmp_path}/opened')
    return {
        "PATH": f"{tmp_path / 'bin'}{os.pathsep}{os.defpath}",
        "DISPLAY": ":0",
        "DBUS_SESSION_BUS_ADDRESS": "unix:path=/nowhere",
    }


def of(env: dict[str, str]) -> Desktop:
    found = desktop_of(env, "linux")
    assert found is not None
    return found


def test_on_linux_the_texts_are_arguments_and_markup_is_escaped(
    env: dict[str, str], tmp_path: Path
) -> None:
    assert of(env).send(Message(_EVIL.title, _EVIL.body)) == "shown"
    assert (tmp_path / "called").read_text() == (
        "--app-name=loop|--|-h \"$(touch x)\" `id`|a &lt;b&gt; &amp; 'c'\n$HOME; rm|\n"
    )


def test_on_linux_a_click_opens_the_chat(env: dict[str, str], tmp_path: Path) -> None:
    hold = tmp_path / "hold"
    hold.touch()
    program(
        tmp_path / "bin", "notify-send",
        f'echo "$1" > {tmp_path}/called; while [ -e {hold} ]; do sleep 0.05; done; echo default',
    )  # fmt: skip
    assert of(env).send(_EVIL) == "shown; a click opens the chat"
    assert (tmp_path / "called").read_text().startswith("--action=default=")
    assert not (tmp_path / "opened").exists()
    hold.unlink()
    until((tmp_path / "opened").exists, "the click has opened the link")
    until(lambda: (tmp_path / "opened").read_text() == _EVIL.link, "it is the chat's")


def test_a_notify_send_that_knows_no_actions_shows_the_link(
    env: dict[str, str], tmp_path: Path
) -> None:
    program(
        tmp_path / "bin", "notify-send",
        f'case "$1" in --action*) exit 1;; esac; printf "%s|" "$@" > {tmp_path}/called',
    )  # fmt: skip
    assert of(env).send(_EVIL) == "shown"
    assert "claude://claude.ai/chat/0-f|" in (tmp_path / "called").read_text()


def test_a_desktop_that_knows_no_actions_shows_one_notification_with_the_link(
    env: dict[str, str], tmp_path: Path
) -> None:
    program(
        tmp_path / "bin", "notify-send",
        f'echo shown "$@" >> {tmp_path}/called; case "$1" in --action*) echo 7; exit 1;; esac',
    )  # fmt: skip
    assert of(env).send(Message("t", "b", "claude://claude.ai/chat/0-f")) == "shown"
    assert (tmp_path / "called").read_text().splitlines()[1:] == [
        "shown --app-name=loop --replace-id=7 -- t b",
        "claude://claude.ai/chat/0-f",
    ]


def test_a_notification_that_is_closed_at_once_is_not_shown_again(
    env: dict[str, str], tmp_path: Path
) -> None:
    program(tmp_path / "bin", "notify-send", f"echo shown >> {tmp_path}/called; echo 7")
    of(env).send(_EVIL)
    assert (tmp_path / "called").read_text() == "shown\n"
    assert not (tmp_path / "opened").exists()


def test_what_the_desktop_complains_of_is_told(env: dict[str, str], tmp_path: Path) -> None:
    program(tmp_path / "bin", "notify-send", "echo 'no daemon' >&2; exit 1")
    with pytest.raises(NotSent, match="notify-send: no daemon"):
        of(env).send(Message("t", "b"))


def test_without_a_desktop_session_there_is_no_sender(env: dict[str, str], tmp_path: Path) -> None:
    runtime = tmp_path / "runtime"
    runtime.mkdir()
    bare = {"PATH": env["PATH"], "XDG_RUNTIME_DIR": str(runtime)}
    assert desktop_of(env | {"PATH": os.defpath + "/nowhere"}, "linux") is None
    assert desktop_of(bare, "linux") is None
    (runtime / "bus").touch()
    assert desktop_of(bare, "linux") is None
    (runtime / "wayland-0").touch()
    assert dict(of(bare).env)["DBUS_SESSION_BUS_ADDRESS"] == f"unix:path={runtime}/bus"
    assert desktop_of({"PATH": os.defpath, "SSH_CONNECTION": "1"}, "darwin") is None


def test_a_runtime_folder_that_can_not_be_looked_into_is_no_desktop(env: dict[str, str]) -> None:
    del env["DBUS_SESSION_BUS_ADDRESS"]
    assert desktop_of(env | {"XDG_RUNTIME_DIR": "/" + "x" * 300}, "linux") is None


def test_a_system_that_starts_no_process_is_a_failure_of_the_desktop(
    env: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = of(env)
    monkeypatch.setattr(subprocess, "Popen", _refuses)
    for message in (_EVIL, Message("t", "b")):
        with pytest.raises(NotSent, match="notify-send: Resource temporarily unavailable"):
            found.send(message)


def test_on_macos_the_texts_are_arguments_of_the_script(tmp_path: Path) -> None:
    command = desktop.osascript("osascript", _EVIL)
    assert command[-2] == _EVIL.title
    assert command[-1] == f"{_EVIL.body}\nclaude://claude.ai/chat/0-f"
    assert not any("touch" in part for part in command[1:-2])
    by_click = desktop.terminal_notifier("terminal-notifier", _EVIL)
    assert by_click[-2:] == ["-open", "claude://claude.ai/chat/0-f"]
    program(tmp_path, "terminal-notifier", f'printf "%s" "$6" > {tmp_path}/opened')
    found = desktop_of({"PATH": f"{tmp_path}{os.pathsep}{os.defpath}"}, "darwin")
    assert found is not None
    assert found.send(_EVIL) == "shown"
    assert (tmp_path / "opened").read_text() == _EVIL.link


def test_on_windows_the_script_is_always_the_same_and_reads_the_environment(
    tmp_path: Path,
) -> None:
    command = desktop.powershell("powershell.exe")
    script = base64.b64decode(command[-1]).decode("utf-16-le")
    for name in ("LOOP_TITLE", "LOOP_BODY", "LOOP_LINK"):
        assert f"$env:{name}" in script
    assert "'activationType', 'protocol'" in script
    program(tmp_path, "powershell.exe", f'printf "%s" "$LOOP_LINK|$LOOP_TITLE" > {tmp_path}/read')
    found = desktop_of({"PATH": f"{tmp_path}{os.pathsep}{os.defpath}"}, "win32")
    assert found is not None
    found.send(_EVIL)
    assert (tmp_path / "read").read_text() == f"{_EVIL.link}|{_EVIL.title}"
