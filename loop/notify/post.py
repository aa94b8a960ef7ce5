"""One POST with an end, and the answer's body as a service's own words.

Owns: the time that a send may take, redirects (not followed: the text would go elsewhere), proxies
(HTTPS_PROXY, HTTP_PROXY and NO_PROXY of the environment, never for this machine, and named when one
is in the way), and what can be told of a failure. Whether a body means success is its service's.

A failure says whether another try is worth it: not when the request was out already, since a
message that arrived without an answer would arrive twice.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urljoin, urlsplit

from loop.core.address import hide, is_here, shown
from loop.core.mask import masked
from loop.errors import NotSent

#: Seconds that a whole send may take, looking the host up included; and each wait of its own.
_LIMIT_S, _STEP_S = 10.0, 8.0
#: Bytes of an answer that are read.
_MOST_BYTES = 64 * 1024
#: Seconds after which a trouble of the network or the service may be over.
SOON_S = 5.0
_SAID = 200
_CLOCK_OFF = timedelta(minutes=5)

if TYPE_CHECKING:  # 20 ms, which a process that sends nothing should not pay
    from urllib.request import OpenerDirector, Request

T = TypeVar("T")


@dataclass(frozen=True)
class Answer:
    """What a service answered."""

    status: int
    text: str
    #: the body, when it is a JSON object
    data: dict[str, Any] = field(default_factory=dict)
    #: how far this machine's clock is ahead of the service's; None when it doesn't say
    ahead: timedelta | None = None
    #: seconds after which the service takes another try; None when it doesn't say
    again_s: float | None = None
    #: what is never shown of it: the address, and what signs
    secrets: tuple[str, ...] = field(default=(), repr=False)

    @property
    def words(self) -> str:
        """The body as a few words for people."""
        return self.shown(self.text) or "nothing"

    def shown(self, text: str) -> str:
        """Words of the service for people: short, in one line, without secrets."""
        return short(hide(text, *self.secrets))

    def whole(self, key: str) -> int | None:
        """A whole number of the body; None when there is none under that key."""
        value = self.data.get(key)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def said(self, *keys: str) -> str:
        """The first text of the body under one of the keys, else the body."""
        texts = (self.data.get(key) for key in keys)
        return next((self.shown(t) for t in texts if isinstance(t, str) and t), self.words)


def refused(answer: Answer, code: int | None, said: str, again_s: float | None = None) -> NotSent:
    """The failure that a service's answer means; `code` is None when it gave none."""
    if again_s is None and (answer.status == 429 or answer.status >= 500):
        again_s = answer.again_s or SOON_S
    if code is not None:
        return NotSent(f"{said} ({code})", again_s)
    if answer.status != 200:
        return NotSent(f"HTTP {answer.status}: {said}", again_s)
    return NotSent(f"the answer doesn't say that it arrived: {answer.words}")


def clock_hint(answer: Answer) -> str:
    """What may be wrong with a signature."""
    if answer.ahead is not None and abs(answer.ahead) > _CLOCK_OFF:
        minutes = round(abs(answer.ahead).total_seconds() / 60)
        way = "fast" if answer.ahead > timedelta() else "slow"
        return f"; this machine's clock is {minutes} min {way}: set it right"
    return "; check the secret, and this machine's clock: it may be off by an hour at most"


def short(text: str) -> str:
    """A text in a few words and one line; what looks like a secret is hidden before it is cut."""
    words = " ".join(masked(text).split())
    return words if len(words) <= _SAID else f"{words[: _SAID - 1]}…"


def post_json(url: str, data: Mapping[str, Any], *secrets: str) -> Answer:
    """Sends JSON; the answer, whatever its status, which shows neither address nor `secrets`.

    Raises:
        NotSent: there was none.
    """
    from urllib.request import Request

    headers = {"Content-Type": "application/json; charset=utf-8", "User-Agent": "loop"}
    request = Request(url, json_bytes(data), headers, method="POST")
    answer = within(_LIMIT_S, lambda: _answer(request))
    return replace(answer, secrets=(url, *secrets))


def json_bytes(data: Mapping[str, Any]) -> bytes:
    """The body that `post_json` sends."""
    return json.dumps(data, ensure_ascii=False).encode()


def within(limit_s: float, call: Callable[[], T]) -> T:
    """What `call` returns, in a time that holds whatever hangs in it.

    Raises:
        NotSent: by `call`; or the time is over, and what hangs is left to itself; or `call` raised
            something else, since a library's defect must not end whoever sends.
    """
    done: list[T] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            done.append(call())
        except BaseException as error:  # a thread has nobody to raise it to
            failed.append(error)

    thread = threading.Thread(target=run, name="send", daemon=True)
    thread.start()
    thread.join(limit_s)
    if done:
        return done[0]
    if failed:
        error = failed[0]
        raise error if isinstance(error, NotSent) else NotSent(_why(error))
    raise NotSent(f"no answer within {limit_s:g} s; it may have arrived")


def _opener(proxies: dict[str, str]) -> OpenerDirector:
    from urllib.request import HTTPRedirectHandler, ProxyHandler, build_opener

    class NoRedirects(HTTPRedirectHandler):
        def redirect_request(self, *args: object, **known: object) -> None:
            """Has the redirect itself be the answer."""

    return build_opener(NoRedirects, ProxyHandler(proxies))


def _answer(request: Request) -> Answer:
    from http.client import HTTPException, InvalidURL
    from urllib.error import HTTPError, URLError

    proxies = _proxies(request)
    opener = _opener(proxies)
    proxy = proxies.get(request.type)
    way = f" through the proxy {shown(proxy)}" if proxy else ""
    try:
        with opener.open(request, timeout=_STEP_S) as response:
            return _read(response.status, response.headers, response)
    except HTTPError as error:
        with error:
            place = error.headers.get("Location")
            if place:
                where = shown(urljoin(request.full_url, place))
                raise NotSent(f"HTTP {error.code}: it sends us on to {where}") from None
            return _read(error.code, error.headers, error)
    except URLError as error:  # nothing was sent yet
        raise NotSent(f"can't be reached{way}: {_why(error.reason)}", SOON_S) from None
    except TimeoutError:
        raise NotSent(f"no answer within {_STEP_S:g} s{way}; it may have arrived") from None
    except InvalidURL:  # whose words repeat what may be a password
        raise NotSent(f"can't be reached{way}: that is no address") from None
    except (OSError, HTTPException, ValueError) as error:
        raise NotSent(f"no whole answer came{way} ({_why(error)}); it may have arrived") from None


def _proxies(request: Request) -> dict[str, str]:
    from urllib.request import getproxies_environment, proxy_bypass

    parts = urlsplit(request.full_url)
    found = getproxies_environment()
    return {} if not found or is_here(parts.hostname) or proxy_bypass(parts.netloc) else found


def _read(status: int, headers: Any, body: Any) -> Answer:
    text = body.read(_MOST_BYTES).decode(errors="replace")
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        data = None
    data = data if isinstance(data, dict) else {}
    again_s = _again_s(headers.get("Retry-After", ""))
    return Answer(status, text, data, _ahead(headers.get("Date", "")), again_s)


def _again_s(retry_after: str) -> float | None:
    if retry_after.strip().isdecimal():
        return float(retry_after)
    ahead = _ahead(retry_after)
    return None if ahead is None else max(0.0, -ahead.total_seconds())


def _ahead(date: str) -> timedelta | None:
    """How far our clock is ahead of a date as HTTP writes it."""
    from email.utils import parsedate_to_datetime

    try:
        return datetime.now(UTC) - parsedate_to_datetime(date)
    except (ValueError, TypeError):
        return None


def _why(error: object) -> str:
    if isinstance(error, TimeoutError):
        return f"no connection within {_STEP_S:g} s"
    words = getattr(error, "strerror", None) or str(error)
    if not isinstance(error, OSError) or not words:
        words = f"{type(error).__name__}: {words}"
    return " ".join(masked(str(words)).split())
