"""Hiding tokens, keys and webhook addresses in what is shown and sent. Files stay verbatim.

What looks like a secret keeps its first characters, so that a person can tell which one it is.
"""

from __future__ import annotations

import re
from typing import Any

_KEPT = 4
#: Values with a form of their own.
_TOKENS = re.compile(
    r"\b(?:sk-ant-[A-Za-z0-9_-]{12,}|sk-(?:proj-)?[A-Za-z0-9_-]{20,}|sk_(?:live|test)_[A-Za-z0-9]{12,}"
    r"|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{16,}"
    r"|xox[abeprs]-[A-Za-z0-9-]{10,}|AKIA[0-9A-Z]{16}|AIza[0-9A-Za-z_-]{30,}"
    r"|eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{8,}"
    r"|00D[A-Za-z0-9]{12,15}![A-Za-z0-9._]{20,}|SCT[A-Za-z0-9]{20,}|sctp\d+t[A-Za-z0-9]{16,})"
)
#: Addresses whose last part is the secret.
_WEBHOOKS = re.compile(
    r"(https?://(?:hooks\.slack\.com/services|open\.(?:feishu\.cn|larksuite\.com)/open-apis/bot/v2/hook"
    r"|oapi\.dingtalk\.com/robot/send\?access_token=|qyapi\.weixin\.qq\.com/cgi-bin/webhook/send\?key="
    r"|(?:canary\.)?discord(?:app)?\.com/api/webhooks|sctapi\.ftqq\.com|api\.telegram\.org/bot)/?)"
    r"([^\s\"'<>)]+)"
)
#: Names that say that what follows is a secret.
_NAMED = re.compile(
    r"(?i)\b((?:[a-z0-9]+[_-])*(?:api[_-]?key|secret(?:[_-]key)?|access[_-]?token|auth[_-]?token"
    r"|refresh[_-]?token|client[_-]?secret|password|passwd|private[_-]?key)[\"']?\s*[:=]\s*[\"']?)"
    r"([^\s\"',;}]{8,})"
)
_BEARER = re.compile(r"(?i)\b(bearer|basic)\s+([A-Za-z0-9._~+/=-]{16,})")
_LOGIN = re.compile(r"(\b[a-z][a-z0-9+.-]*://[^\s/:@]+:)([^\s/@]+)(@)")
_PRIVATE_KEY = re.compile(
    r"-----BEGIN ([A-Z ]*PRIVATE KEY)-----.*?(?:-----END \1-----|\Z)", re.DOTALL
)


def masked(text: str) -> str:
    """The text with its secrets hidden."""
    if "-----BEGIN" in text:
        text = _PRIVATE_KEY.sub(r"-----BEGIN \1----- ••• -----END \1-----", text)
    text = _WEBHOOKS.sub(lambda m: m[1] + "•••", text)
    text = _TOKENS.sub(lambda m: f"{m[0][:_KEPT]}•••", text)
    text = _BEARER.sub(lambda m: f"{m[1]} •••", text)
    text = _NAMED.sub(lambda m: m[0] if "•••" in m[2] else f"{m[1]}•••", text)
    return _LOGIN.sub(lambda m: f"{m[1]}•••{m[3]}", text)


def masked_data(data: Any) -> Any:
    """Plain data with the secrets of all its texts hidden."""
    if isinstance(data, str):
        return masked(data)
    if isinstance(data, dict):
        return {key: masked_data(value) for key, value in data.items()}
    return [masked_data(value) for value in data] if isinstance(data, list) else data
