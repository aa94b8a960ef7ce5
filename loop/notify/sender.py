"""What all services have in common, and which are configured."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol
from urllib.parse import urlsplit

from loop.core.address import chat_link
from loop.core.config import Config
from loop.core.notification import Message

#: Name of the sender that is not for all processes of a project: some see no desktop.
DESKTOP = "desktop"


class Sender(Protocol):
    """Sends messages by one service."""

    @property
    def name(self) -> str:
        """The service's name, which is a file name, too."""

    @property
    def where(self) -> str:
        """Where messages go, without what is secret in it."""

    def send(self, message: Message) -> str:
        """Sends a message, in about 10 s at most; what the service said to it.

        Raises:
            NotSent: it did not arrive, or nobody knows. No secret is in the error.
        """


def senders_of(config: Config, env: Mapping[str, str], platform: str) -> dict[str, Sender]:
    """The configured services by name; the desktop too, where there is one."""
    notify = config.notify
    found: list[Sender] = []
    # A hook asks, too: it pays for what is configured only.
    if robot := notify.webhook("feishu"):
        from loop.notify.feishu import Feishu

        found.append(Feishu(robot.webhook, robot.secret))
    if robot := notify.webhook("dingtalk"):
        from loop.notify.dingtalk import DingTalk

        found.append(DingTalk(robot.webhook, robot.secret))
    if robot := notify.webhook("wecom"):
        from loop.notify.wecom import WeCom

        found.append(WeCom(robot.webhook))
    if notify.sendkey is not None:
        from loop.notify.serverchan import ServerChan

        found.append(ServerChan(notify.sendkey))
    if notify.urls:
        from loop.notify.apprise_url import AppriseUrl

        found += [AppriseUrl(url, name_of_url(url)) for url in notify.urls]
    if notify.desktop:
        from loop.notify.desktop import desktop_of

        if desktop := desktop_of(env, platform):
            found.append(desktop)
    return {sender.name: sender for sender in found}


def name_of_url(url: str) -> str:
    """A name that stays when others are put before it, and tells nothing secret."""
    import hashlib  # which takes time to load

    scheme = "".join(c if c.isalnum() else "-" for c in urlsplit(url).scheme.lower()) or "url"
    return f"{scheme}-{hashlib.sha256(url.encode()).hexdigest()[:6]}"


def link_of(config: Config) -> str | None:
    """The link to the Architect's chat; None when nobody knows it."""
    url = config.architect.chat_url
    return None if url is None else chat_link(url)
