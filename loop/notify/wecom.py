"""WeCom: the robot of a group.

By its guide of group robots: a text holds 2,048 bytes of UTF-8 at most; 20 messages a minute, 45009
above that. It answers `errcode`, and signs nothing: the key in its address is all.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from loop.core.address import hide, shown
from loop.core.notification import Message, cut_bytes
from loop.errors import NotSent
from loop.notify.post import SOON_S, Answer, post_json, refused

_MOST_BYTES = 2048
#: Codes of "busy" and "too many", and the seconds after which it takes messages again.
_PASSING = {-1: SOON_S, 45009: 60.0, 45033: 60.0}


@dataclass(frozen=True)
class WeCom:
    """A robot of WeCom."""

    address: str = field(repr=False)
    name: str = "wecom"

    @property
    def where(self) -> str:
        """The robot's host."""
        return shown(self.address)

    def send(self, message: Message) -> str:
        """Sends a message; see `Sender`."""
        try:
            return _judged(post_json(self.address, body(message.text)))
        except NotSent as error:
            raise NotSent(hide(str(error), self.address), error.again_s) from None


def body(text: str) -> dict[str, object]:
    """What is posted."""
    text = text.replace("<@", "<\u200b@")  # which would call people by the words of a model
    return {"msgtype": "text", "text": {"content": cut_bytes(text, _MOST_BYTES)}}


def _judged(answer: Answer) -> str:
    code = answer.whole("errcode")
    if answer.status == 200 and code == 0:
        return answer.said("errmsg")
    code = code or None
    said = answer.said("errmsg")
    raise refused(answer, code, said, None if code is None else _PASSING.get(code))
