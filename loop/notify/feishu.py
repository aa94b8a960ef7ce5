"""Feishu (Lark): the robot of a group.

By its guide of custom robots: the signature's KEY is time in seconds, newline and secret, and it
signs nothing; both go into the body, which holds 20 KB at most; 100 messages a minute, 11232 above
that. It answers `code`, older ones `StatusCode`.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import time
from dataclasses import dataclass, field

from loop.core.address import hide, shown
from loop.core.notification import Message, cut_bytes
from loop.errors import NotSent
from loop.notify.post import Answer, clock_hint, json_bytes, post_json, refused

_MOST_BYTES = 20_000
_NOT_SIGNED = 19021
#: A tag that would call people by the words of a model.
_CALLS = re.compile(r"<(?=\s*at\b)", re.IGNORECASE)
#: Codes of "too many at once", and the seconds after which it takes messages again.
_TOO_MANY = {11232: 60.0, 99991400: 60.0}


@dataclass(frozen=True)
class Feishu:
    """A robot of Feishu; `secret` is None when it wants no signature."""

    address: str = field(repr=False)
    secret: str | None = field(default=None, repr=False)
    name: str = "feishu"

    @property
    def where(self) -> str:
        """The robot's host."""
        return shown(self.address)

    def send(self, message: Message) -> str:
        """Sends a message; see `Sender`."""
        secret = self.secret or ""
        data = body(message.text, self.secret, time.time())
        try:
            return _judged(post_json(self.address, data, secret))
        except NotSent as error:
            raise NotSent(hide(str(error), self.address, secret), error.again_s) from None


def signature(secret: str, timestamp_s: int) -> str:
    """The signature of a moment."""
    key = f"{timestamp_s}\n{secret}".encode()
    return base64.b64encode(hmac.digest(key, b"", hashlib.sha256)).decode()


def body(text: str, secret: str | None, now_s: float) -> dict[str, object]:
    """What is posted."""
    signed: dict[str, object] = {}
    if secret is not None:
        signed = {"timestamp": str(int(now_s)), "sign": signature(secret, int(now_s))}
    text = _CALLS.sub("<\u200b", text)

    def with_text(words: str) -> dict[str, object]:
        return {**signed, "msg_type": "text", "content": {"text": words}}

    over = len(json_bytes(with_text(text))) - _MOST_BYTES
    return with_text(text if over <= 0 else cut_bytes(text, len(text.encode()) - over))


def _judged(answer: Answer) -> str:
    code, old = answer.whole("code"), answer.whole("StatusCode")
    if answer.status == 200 and (code == 0 or (code is None and old == 0)):
        return answer.said("msg", "StatusMessage")
    code = code or old or None
    said = answer.said("msg", "StatusMessage")
    if code == _NOT_SIGNED:
        said += clock_hint(answer)
    raise refused(answer, code, said, None if code is None else _TOO_MANY.get(code))
