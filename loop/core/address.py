"""Addresses in the settings: which are taken, and how they are shown.

A webhook's address is a secret, so no error of here repeats one.
"""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from loop.errors import BadInput

_HERE = ("localhost", "127.0.0.1", "::1")
_URL_OF_APPRISE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://\S.*")
_CHAT = re.compile(r"(?:https|claude)://claude\.ai/chat/([A-Za-z0-9-]{1,100})/?(?:[?#].*)?\Z")
_SENDKEY = re.compile(r"SCT[A-Za-z0-9]+|sctp(\d+)t[A-Za-z0-9]+")


def check_webhook(text: str, where: str) -> None:
    """Checks the address of a webhook.

    Raises:
        BadInput: it is none, or whoever is on the way could read it.
    """
    try:
        parts = urlsplit(text)
        host = parts.hostname or ""
        parts.port  # noqa: B018 -- looked at for its error
    except ValueError:
        raise BadInput(where, "is no address: give the webhook's, https://...") from None
    if parts.scheme not in ("http", "https") or not host or re.search(r"[\s\x00-\x1f\x7f]", text):
        raise BadInput(where, "is no address: give the webhook's, https://...")
    if "@" in parts.netloc:
        raise BadInput(where, "holds a user or a password, which no webhook takes; leave it out")
    if parts.scheme == "http" and not is_here(host):
        raise BadInput(where, "goes unencrypted: give the address that begins with https://")


def is_here(host: str | None) -> bool:
    """Whether a host is this machine."""
    return host in _HERE


def check_serverchan(text: str, where: str) -> None:
    """Checks a SendKey of ServerChan, or the whole address that it stands in.

    Raises:
        BadInput: it is neither.
    """
    if "://" in text:
        check_webhook(text, where)
    elif not _SENDKEY.fullmatch(text):
        raise BadInput(
            where, "is no SendKey: give one such as SCT... or sctp...t..., or its address"
        )


def serverchan_address(text: str) -> str:
    """Where to send with a SendKey; an address is taken as it is."""
    if "://" in text:
        return text
    found = _SENDKEY.fullmatch(text)
    host, folder = "sctapi.ftqq.com", ""
    if found and found[1]:
        host, folder = f"{found[1]}.push.ft07.com", "/send"
    return f"https://{host}{folder}/{text}.send"


def check_apprise(text: str, where: str) -> None:
    """Checks that something can be an address of apprise.

    Raises:
        BadInput: it can't.
    """
    if not _URL_OF_APPRISE.fullmatch(text):
        raise BadInput(where, "is no address of apprise, such as slack://... or mailto://...")


def check_chat(text: str, where: str) -> None:
    """Checks the address of a chat.

    Raises:
        BadInput: it is none.
    """
    if not _CHAT.match(text):
        raise BadInput(where, "give the chat's address, https://claude.ai/chat/ID")


def chat_link(text: str) -> str:
    """The link that opens a chat in Claude Desktop; `text` must have been checked."""
    found = _CHAT.match(text)
    assert found is not None
    return f"claude://claude.ai/chat/{found[1]}"


def shown(address: str) -> str:
    """An address without what is secret in it; that of a proxy may have no scheme."""
    try:
        parts = urlsplit(address if "://" in address else f"//{address}")
        port = f":{parts.port}" if parts.port else ""
    except ValueError:  # which would tell what stands in the port's place
        return "•••"
    scheme = f"{parts.scheme}://" if parts.scheme else ""
    return f"{scheme}{parts.hostname or ''}{port}/•••"


def hide(text: str, *secrets: str) -> str:
    """The text without secrets that are known, and what stands behind the host of an address."""
    hidden = set()
    for secret in secrets:
        hidden.add(secret)
        if "://" in secret:
            parts = urlsplit(secret)
            hidden |= {parts.username or "", parts.password or ""}
            hidden |= {parts.path, parts.query, *parts.path.split("/"), *parts.query.split("&")}
            hidden |= {pair.partition("=")[2] for pair in parts.query.split("&")}
    for secret in sorted(hidden, key=len, reverse=True):
        if len(secret) >= 8:
            text = text.replace(secret, "•••")
    return text
