"""ServerChan, which brings messages into WeChat.

A SendKey `SCT...` is of the classic service, `sctp<N>t...` of the host that bears N; the whole
address is taken, too. A title holds 32 characters, the text is Markdown of 32 KB at most. It
answers `code`, and `data.errno` where it passes the message on itself.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from loop.core.address import hide, serverchan_address, shown
from loop.core.notification import Message, cut_bytes
from loop.errors import NotSent
from loop.notify.post import Answer, post_json, refused

_TITLE_CHARACTERS, _MOST_BYTES = 32, 32_000
#: What Markdown would take for its own, images of other hosts among it.
_MARKS = re.compile(r"([\\`*_{}\[\]<>()#!|~])")


@dataclass(frozen=True)
class ServerChan:
    """An account of ServerChan, by its SendKey or by the address that holds it."""

    key: str = field(repr=False)
    name: str = "serverchan"

    @property
    def where(self) -> str:
        """The service's host."""
        return shown(serverchan_address(self.key))

    def send(self, message: Message) -> str:
        """Sends a message; see `Sender`."""
        address = serverchan_address(self.key)
        try:
            return _judged(post_json(address, body(message), self.key))
        except NotSent as error:
            raise NotSent(hide(str(error), self.key, address), error.again_s) from None


def body(message: Message) -> dict[str, object]:
    """What is posted."""
    title = message.title
    if len(title) > _TITLE_CHARACTERS:
        title = f"{title[: _TITLE_CHARACTERS - 1]}…"
    lines = (_MARKS.sub(r"\\\1", line) for line in message.text.splitlines())
    return {"title": title, "desp": cut_bytes("\n\n".join(lines), _MOST_BYTES)}


def _judged(answer: Answer) -> str:
    code, data = answer.whole("code"), answer.data.get("data")
    errno = data.get("errno") if isinstance(data, dict) else None
    said = answer.said("message", "info")
    if answer.status == 200 and code == 0 and errno in (None, 0):
        return answer.shown(str(answer.data.get("message") or "ok"))
    if code == 0 and isinstance(data, dict) and isinstance(errno, int):
        code, said = errno, answer.shown(str(data.get("error") or said))
    raise refused(answer, code or None, said)
