"""DingTalk: the robot of a group.

By its guide of custom robots: the secret is the signature's KEY, and it signs time in milliseconds,
newline and secret; both go into the address, the signature encoded once. A message holds 20,000
bytes at most; 20 messages a minute, above that it takes none for ten minutes. It answers `errcode`.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import time
from dataclasses import dataclass, field
from urllib.parse import quote, urlsplit, urlunsplit

from loop.core.address import hide, shown
from loop.core.notification import Message, cut_bytes
from loop.errors import NotSent
from loop.notify.post import SOON_S, Answer, clock_hint, json_bytes, post_json, refused

_MOST_BYTES = 20_000
#: What keywords, signature and allowed addresses refuse.
_REFUSED = 310000
#: Codes of "busy" and "too many", and the seconds after which it takes messages again.
_PASSING = {-1: SOON_S, 130101: 600.0, 410100: 600.0}


@dataclass(frozen=True)
class DingTalk:
    """A robot of DingTalk; `secret` is None when it wants no signature."""

    address: str = field(repr=False)
    secret: str | None = field(default=None, repr=False)
    name: str = "dingtalk"

    @property
    def where(self) -> str:
        """The robot's host."""
        return shown(self.address)

    def send(self, message: Message) -> str:
        """Sends a message; see `Sender`."""
        address, secrets = self.address, (self.address, self.secret or "")
        if self.secret is not None:
            address = signed(address, self.secret, time.time_ns() // 1_000_000)
        try:
            return _judged(post_json(address, body(message.text), *secrets))
        except NotSent as error:
            raise NotSent(hide(str(error), address, *secrets), error.again_s) from None


def signature(secret: str, timestamp_ms: int) -> str:
    """The signature of a moment, not yet encoded for an address."""
    text = f"{timestamp_ms}\n{secret}".encode()
    return base64.b64encode(hmac.digest(secret.encode(), text, hashlib.sha256)).decode()


def signed(address: str, secret: str, timestamp_ms: int) -> str:
    """The address with a signature; parameters that it has stay, but those of an earlier one."""
    parts = urlsplit(address)
    pairs = [
        p for p in parts.query.split("&") if p.partition("=")[0] not in ("", "timestamp", "sign")
    ]
    sign = quote(signature(secret, timestamp_ms), safe="")
    query = "&".join([*pairs, f"timestamp={timestamp_ms}", f"sign={sign}"])
    return urlunsplit((parts.scheme, parts.netloc, parts.path, query, ""))


def body(text: str) -> dict[str, object]:
    """What is posted."""

    def with_text(words: str) -> dict[str, object]:
        return {"msgtype": "text", "text": {"content": words}}

    over = len(json_bytes(with_text(text))) - _MOST_BYTES
    return with_text(text if over <= 0 else cut_bytes(text, len(text.encode()) - over))


def _judged(answer: Answer) -> str:
    code = answer.whole("errcode")
    if answer.status == 200 and code == 0:
        return answer.said("errmsg")
    said = answer.said("errmsg")
    if code == _REFUSED and ("sign" in said or "timestamp" in said):
        said += clock_hint(answer)
    code = code or None
    raise refused(answer, code, said, None if code is None else _PASSING.get(code))
