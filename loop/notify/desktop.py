"""A native notification on the desktop of whoever sits there; a click leads to the chat.

    Linux     notify-send; with a link a click opens it (needs notify-send 0.8, and a desktop that
              offers actions), waited for by a small process of its own, ten minutes at most
    macOS     terminal-notifier if it is installed, whose click opens the link; else osascript,
              whose notifications can open nothing, so the link stands in the text
    Windows   a toast by PowerShell, whose click opens the link

Texts reach the programs as arguments or in the environment, never inside a script. Where there is
no desktop session there is no sender at all. What only sending needs is imported then: a hook asks
whether there is a desktop.
"""

from __future__ import annotations

import base64
import os
import shutil
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from loop.core.notification import Message
from loop.errors import NotSent
from loop.notify.sender import DESKTOP

_LIMIT_S = 10.0
#: Seconds after which a notification that still waits for a click has been shown.
_SHOWN_S = 1.0
_TITLE, _BODY = 120, 400

#: Asks for a click and opens the link; the link is $0, what notify-send is called with follows.
#: Says what notify-send said, which is the notification's number, and ends as that did.
_CLICK = """said=$(timeout 600 "$@"); code=$?
case $said in *default) exec xdg-open "$0";; esac
echo "$said"; exit $code"""
_APPLESCRIPT = (
    "on run argv",
    "display notification (item 2 of argv) with title (item 1 of argv)",
    "end run",
)
_TOAST = "\n".join(
    (
        "$ErrorActionPreference = 'Stop'",
        "[void][Windows.UI.Notifications.ToastNotificationManager, "
        "Windows.UI.Notifications, ContentType = WindowsRuntime]",
        "[void][Windows.Data.Xml.Dom.XmlDocument, "
        "Windows.Data.Xml.Dom.XmlDocument, ContentType = WindowsRuntime]",
        "$xml = New-Object Windows.Data.Xml.Dom.XmlDocument",
        '$xml.LoadXml(\'<toast><visual><binding template="ToastGeneric">'
        "<text/><text/></binding></visual></toast>')",
        "$texts = $xml.GetElementsByTagName('text')",
        "[void]$texts.Item(0).AppendChild($xml.CreateTextNode($env:LOOP_TITLE))",
        "[void]$texts.Item(1).AppendChild($xml.CreateTextNode($env:LOOP_BODY))",
        "if ($env:LOOP_LINK) {",
        "    $xml.DocumentElement.SetAttribute('activationType', 'protocol')",
        "    $xml.DocumentElement.SetAttribute('launch', $env:LOOP_LINK)",
        "}",
        "$app = '{1AC14E77-02E7-4E5D-B744-2EB1AE5198B7}\\WindowsPowerShell\\v1.0\\powershell.exe'",
        "$toast = New-Object Windows.UI.Notifications.ToastNotification $xml",
        "$manager = [Windows.UI.Notifications.ToastNotificationManager]",
        "$manager::CreateToastNotifier($app).Show($toast)",
    )
)


@dataclass(frozen=True)
class Desktop:
    """The desktop of this machine; `program` is what shows notifications there."""

    program: str
    env: tuple[tuple[str, str], ...] = field(repr=False)
    name: str = DESKTOP

    @property
    def where(self) -> str:
        """What shows them."""
        return Path(self.program).name

    def send(self, message: Message) -> str:
        """Shows a message; see `Sender`."""
        kind = self.where.lower()
        if kind.startswith("notify-send"):
            if message.link is None:
                return self._run(notify_send(self.program, message))
            return self._with_click(message, message.link)
        if kind.startswith("powershell"):
            return self._run(powershell(self.program), in_environment(message))
        command = osascript(self.program, message)
        if kind.startswith("terminal-notifier"):
            command = terminal_notifier(self.program, message)
        return self._run(command)

    def _with_click(self, message: Message, link: str) -> str:
        import subprocess
        from tempfile import TemporaryFile

        command = notify_send(self.program, message)
        asking = [command[0], "--action=default=Open the chat", "--print-id", *command[1:]]
        with TemporaryFile() as said:  # a pipe would have to be read for as long as it waits
            try:
                waiting = subprocess.Popen(
                    ["/bin/sh", "-c", _CLICK, link, *asking],
                    env=dict(self.env),
                    stdin=subprocess.DEVNULL,
                    stdout=said,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,
                )
            except OSError as error:
                raise NotSent(f"{self.where}: {error.strerror or error}") from None
            try:
                code = waiting.wait(_SHOWN_S)
            except subprocess.TimeoutExpired:
                threading.Thread(target=waiting.wait, name="click", daemon=True).start()
                return "shown; a click opens the chat"
            said.seek(0)
            number = said.read().decode(errors="replace").strip()
        if code == 0:
            return "shown, and closed or clicked"
        # A desktop without actions has shown it all the same: then it is replaced.
        return self._run(notify_send(self.program, message, with_link=True, instead_of=number))

    def _run(self, command: list[str], extra: Mapping[str, str] | None = None) -> str:
        import subprocess

        try:
            done = subprocess.run(
                command,
                env=dict(self.env) | dict(extra or {}),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_LIMIT_S,
                check=False,
                creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
            )
        except subprocess.TimeoutExpired:
            raise NotSent(f"{self.where} did not end within {_LIMIT_S:g} s") from None
        except OSError as error:
            raise NotSent(f"{self.where}: {error.strerror or error}") from None
        if done.returncode:
            said = " ".join((done.stderr or done.stdout).decode(errors="replace").split())[:200]
            raise NotSent(f"{self.where}: {said or f'exit {done.returncode}'}")
        return "shown"


def desktop_of(env: Mapping[str, str], platform: str = sys.platform) -> Desktop | None:
    """The desktop that this process can reach; None when there is none."""
    path = env.get("PATH")
    known = tuple(env.items())
    if platform == "win32":
        program = shutil.which("powershell.exe", path=path)
        return Desktop(program, known) if program else None
    if platform == "darwin":
        if "SSH_CONNECTION" in env:
            return None
        places = os.pathsep.join(
            filter(None, [path, "/opt/homebrew/bin", "/usr/local/bin", "/usr/bin"])
        )
        programs = ("terminal-notifier", "osascript")
        program = next(filter(None, (shutil.which(p, path=places) for p in programs)), None)
        return Desktop(program, known) if program else None
    program = shutil.which("notify-send", path=path or os.defpath)
    bus = _bus(env)
    if program is None or bus is None:
        return None
    return Desktop(program, (*known, ("DBUS_SESSION_BUS_ADDRESS", bus)))


def _bus(env: Mapping[str, str]) -> str | None:
    """The bus of a graphical session; Claude Desktop passes nothing about it on."""
    getuid = getattr(os, "getuid", None)
    runtime = Path(env.get("XDG_RUNTIME_DIR") or f"/run/user/{getuid() if getuid else 0}")
    try:
        shown = env.get("DISPLAY") or env.get("WAYLAND_DISPLAY") or any(runtime.glob("wayland-*"))
        if not shown:
            return None
        if given := env.get("DBUS_SESSION_BUS_ADDRESS"):
            return given
        return f"unix:path={runtime / 'bus'}" if (runtime / "bus").exists() else None
    except OSError:  # another person's
        return None


def notify_send(
    program: str, message: Message, *, with_link: bool = False, instead_of: str = ""
) -> list[str]:
    """The command of Linux; the body is markup there.

    `instead_of` is the number of the notification that it replaces, if it is one.
    """
    from html import escape

    title, body = _texts(message, with_link=with_link)
    replace = [f"--replace-id={instead_of}"] if instead_of.isdecimal() else []
    return [program, "--app-name=loop", *replace, "--", title, escape(body, quote=False)]


def terminal_notifier(program: str, message: Message) -> list[str]:
    """The command of macOS where that program is installed."""
    title, body = _texts(message)
    # It takes a value that begins with a bracket or a dash for something else.
    command = [program, "-title", f"\u200b{title}", "-message", f"\u200b{body}"]
    return [*command, "-open", message.link] if message.link else command


def osascript(program: str, message: Message) -> list[str]:
    """The command of macOS; the texts are arguments of the script."""
    script = [part for line in _APPLESCRIPT for part in ("-e", line)]
    return [program, *script, *_texts(message, with_link=True)]


def powershell(program: str) -> list[str]:
    """The command of Windows, always the same: the texts are in its environment."""
    script = base64.b64encode(_TOAST.encode("utf-16-le")).decode()
    return [program, "-NoProfile", "-NonInteractive", "-EncodedCommand", script]


def in_environment(message: Message) -> dict[str, str]:
    """What the script of Windows reads."""
    title, body = _texts(message)
    return {"LOOP_TITLE": title, "LOOP_BODY": body, "LOOP_LINK": message.link or ""}


def _texts(message: Message, *, with_link: bool = False) -> tuple[str, str]:
    title, body = message.title[:_TITLE], message.body[:_BODY]
    if with_link and message.link:
        body = f"{body}\n{message.link}".lstrip()
    return title, body or " "
