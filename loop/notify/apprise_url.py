"""Any service that apprise knows (`notify.urls`); the package is the extra `notify`.

apprise is judged by its result. What it logs is kept from everybody's eyes, but for the words of a
failure, since it says there what the service said.
"""

from __future__ import annotations

import logging
import re
from contextvars import ContextVar
from dataclasses import dataclass, field
from importlib.util import find_spec
from urllib.parse import urlsplit

from loop.core.address import hide
from loop.core.notification import Message
from loop.errors import NotSent
from loop.notify.post import SOON_S, short, within

MISSING = "apprise is missing"
#: Alone, the name of our extra would be looked for in the package index.
HOW_TO_INSTALL = "install it beside loop, as by `pipx inject claude-automation-loop apprise`"
_LIMIT_S = 10.0
#: What would call people in some service by the words of a model: `@all`, `<@U1>`, `<!channel>`.
#: An address of mail has more before it.
_CALLS = re.compile(r"(?<![\w.+-])@(?=[\w&!])|<(?=[@!])")


def is_installed() -> bool:
    """Whether apprise can be imported."""
    return find_spec("apprise") is not None


@dataclass(frozen=True)
class AppriseUrl:
    """One of `notify.urls`."""

    url: str = field(repr=False)
    name: str

    @property
    def where(self) -> str:
        """The kind of service; all else in such an address may be secret."""
        return f"{urlsplit(self.url).scheme}://•••"

    def send(self, message: Message) -> str:
        """Sends a message; see `Sender`."""
        if not is_installed():
            raise NotSent(f"{MISSING}: {HOW_TO_INSTALL}")
        try:
            return within(_LIMIT_S, lambda: _send(self.url, message))
        except NotSent as error:
            # What stands in the host's place is the secret of many.
            host = urlsplit(self.url).netloc.rpartition("@")[2]
            words = short(hide(str(error), self.url, host))
            raise NotSent(words, error.again_s) from None


#: What apprise logs for the send that goes on, in whichever of its threads.
_said: ContextVar[list[str]] = ContextVar("said")


class _Keeper(logging.Handler):
    """Keeps for each send what is logged of it."""

    def emit(self, record: logging.LogRecord) -> None:
        """Keeps the words."""
        _said.get([]).append(record.getMessage())


_keeper = _Keeper(logging.WARNING)


def _send(url: str, message: Message) -> str:
    import apprise

    log = logging.getLogger("apprise")
    log.propagate = False
    log.addHandler(_keeper)
    said: list[str] = []
    _said.set(said)
    service = apprise.Apprise()
    if not service.add(url):
        raise NotSent(said[-1] if said else "apprise knows no service of such an address")
    title = _CALLS.sub("\\g<0>\u200b", message.title)
    body = _CALLS.sub("\\g<0>\u200b", message.body or message.title)
    if service.notify(title=title, body=body, body_format="text"):
        return "apprise says that it was sent"
    raise NotSent(said[-1] if said else "apprise says that it failed, and no more", SOON_S)
