"""Hiding tokens, keys and webhook addresses in what is shown and sent. Files stay verbatim.

What looks like a secret keeps its first characters, so that a person can tell which one it is.
Values without a form of their own are hidden only where a name says that they are secret, and only
if they look like one: code that merely speaks of passwords stays readable. Every pattern is
bounded, so that a long text costs time in proportion to its length.
"""

from __future__ import annotations

import re
from typing import Any

_HIDDEN = "•••"
_KEPT = 4
#: Values with a form of their own.
_TOKENS = re.compile(
    r"(?<![A-Za-z0-9])(?:sk-ant-[A-Za-z0-9_-]{12,}"
    r"|sk-(?=[A-Za-z_-]{0,40}[0-9])(?:proj-|svcacct-)?[A-Za-z0-9_-]{20,}"
    r"|[rs]k_(?:live|test)_[A-Za-z0-9]{12,}|whsec_[A-Za-z0-9]{16,}"
    r"|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}"
    r"|gl(?:pat|rt|dt|ptt|ft|soat)-[A-Za-z0-9_-]{16,}|ya29\.[A-Za-z0-9_-]{20,}"
    r"|GOCSPX-[A-Za-z0-9_-]{20,}|shp(?:at|ca|pa|ss)_[A-Fa-f0-9]{32}"
    r"|dckr_[po]at_[A-Za-z0-9_-]{20,}|do[opr]_v1_[a-f0-9]{60,}|hv[bs]\.[A-Za-z0-9_-]{20,}"
    r"|AGE-SECRET-KEY-1[A-Z0-9]{40,}|5Aep861[A-Za-z0-9._]{20,}"
    r"|xox[abeprs]-[A-Za-z0-9-]{10,}|xapp-[A-Za-z0-9-]{20,}|(?:AKIA|ASIA)[0-9A-Z]{16}(?![0-9A-Z])"
    r"|AIza[0-9A-Za-z_-]{30,}|npm_[A-Za-z0-9]{36}|hf_[A-Za-z0-9]{30,}|pypi-AgEI[A-Za-z0-9_-]{16,}"
    r"|SG\.[A-Za-z0-9_-]{16,64}\.[A-Za-z0-9_-]{16,}"
    r"|eyJ[A-Za-z0-9_-]{10,500}\.eyJ[A-Za-z0-9_-]{10,4000}\.[A-Za-z0-9_-]{8,}"
    r"|00D[A-Za-z0-9]{12,15}![A-Za-z0-9._]{20,}|SCT[0-9]{1,9}T[A-Za-z0-9]{16,}"
    r"|sctp[0-9]{1,9}t[A-Za-z0-9]{16,})"
)
#: Addresses whose last part is the secret.
_WEBHOOKS = re.compile(
    (
        r"(https?://(?:hooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)"
        r"|open\.(?:feishu\.cn|larksuite\.com)/open-apis/bot/(?:v2/)?hook"
        r"|www\.(?:feishu\.cn|larksuite\.com)/flow/api/trigger-webhook"
        r"|oapi\.dingtalk\.com/robot/send\?|qyapi\.weixin\.qq\.com/cgi-bin/webhook/send\?"
        r"|(?:canary\.|ptb\.)?discord(?:app)?\.com/api/(?:v[0-9]{1,2}/)?webhooks"
        r"|sctapi\.ftqq\.com|sc\.ftqq\.com"
        r"|[a-z0-9-]{1,63}\.push\.ft07\.com/send|api\.telegram\.org/bot"
        r"|[a-z0-9.-]{1,100}\.webhook\.office\.com|maker\.ifttt\.com/trigger"
        r"|[a-z0-9.-]{1,100}\.logic\.azure\.com(?::443)?/workflows"
        r"|api\.day\.app|hooks\.zapier\.com/hooks"
        r"|[A-Za-z0-9.-]{1,100}(?::[0-9]{1,5})?/hooks(?=/[A-Za-z0-9]{20}))/?"
        r"|(?<![a-z])(?:slack|discord|tgram|feishu|lark|dingtalk|wecombot|serverchan|schan|msteams"
        r"|pover|pbul|gotifys?|ntfys?|barks?|ifttt|mailtos?)://)"
        r"(?=[^\s\"'<>)\\»]{6}|[^\s\"'<>)\\»]{1,100}\\/)((?:[^\s\"'<>)\\»]|\\/)+)"
    ).replace("/", r"\\?/")  # JSON may write it with a backslash before
)
#: What signs an address, so that whoever has it needs no more.
_SIGNATURE = re.compile(
    r"(?i)((?:[?&]|&amp;)(?:sig|signature|x-amz-signature|x-goog-signature)=)[^\s&\"'<>)\\»]{16,}"
)
#: Options that take a secret as the next word, or as what stands behind the name.
_OPTION = re.compile(
    r"(--(?:password|passwd|token|api-key|secret|access-token|auth-token) {1,4}[\"']?"
    r"|(?<![^\s])(?:-u|--user) {1,4}[\"']?[^\s:\"'/]{1,100}:)"
    r"(?=[^\s\"']{0,100}[0-9])(?=[^\s\"']{0,100}[A-Za-z])([^\s\"'$<{(/][^\s\"'/]{7,200})"
)
#: Names that say that what follows is a secret: the name, what stands between, the value.
_NAMED = re.compile(
    r"(?i)(?P<name>(?:api[_-]?key|secret[_-]?access[_-]?key|secret(?:[_-]?key(?:[_-]base)?)?|access[_-]?key"
    r"|(?:signing|encryption|account|auth|master|consumer)[_-]?key|token|passwd|password|passphrase|private[_-]?key))"
    r"(?P<between>(?:\\?[\"'])?[ \t]{0,8}(?P<sign>:=|=>|[:=])[ \t]{0,8})(?P<quote>\\?[\"'`])?"
    r"(?P<value>[^\s\"'`,;}&<>\\]{8,500})"
)
_NAME_OF_A_SECRET = re.compile(
    r"(?i)(?:api[_-]?key|secret|token|passwd|password|passphrase|private[_-]?key|access[_-]?key)$"
)
#: Code that names a value instead of being one.
_REFERENCE = re.compile(
    r"[$%{<*(\[.]|[A-Za-z_][\w.]{0,200}[(\[]|[A-Za-z_]\w{0,100}(?:\??\.[A-Za-z_]\w{0,100})+$"
    r"|https?:|/"
)
_DIGIT_AND_LETTER = re.compile(r"(?=.{0,500}[0-9])(?=.{0,500}[A-Za-z])")
_BEARER = re.compile(
    r"(?i)\b(bearer|authorization[\"']?\s{0,4}[:=]\s{0,4}[\"']?(?:basic|token))\s{1,4}"
    r"(?=[A-Za-z._~+/=-]{0,200}[0-9])([A-Za-z0-9._~+/=-]{16,})"
)
_LOGIN = re.compile(
    r"(?<![A-Za-z0-9])([A-Za-z][A-Za-z0-9+.-]{0,30}://[^\s/:@\"']{0,200}:)([^\s/@\"']{1,200})(@)"
)
#: The lines of a key may be quoted, marked as changed, or joined by a written-out line break.
_BREAK = r"(?:\\r|\\n|[\s>|+ -])"
_PRIVATE_KEY = re.compile(
    r"(-----BEGIN (?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----)"
    rf"(?:{_BREAK}{{0,20}}[A-Za-z-]{{1,20}}: [^\n\\]{{1,200}}){{0,6}}"
    rf"(?:{_BREAK}{{0,20}}[A-Za-z0-9+/=]{{16,}})+"
    rf"(?:{_BREAK}{{0,20}}[A-Za-z0-9+/=]{{1,76}}(?={_BREAK}{{0,20}}-----END))?"
)


def masked(text: str) -> str:
    """The text with its secrets hidden."""
    if "-----BEGIN" in text:
        text = _PRIVATE_KEY.sub(rf"\1 {_HIDDEN} ", text)
    if ":/" in text or ":\\/" in text:
        text = _WEBHOOKS.sub(rf"\1{_HIDDEN}", text)
        text = _SIGNATURE.sub(rf"\1{_HIDDEN}", text)
        text = _LOGIN.sub(rf"\1{_HIDDEN}\3", text)
    text = _TOKENS.sub(lambda m: f"{m[0][:_KEPT]}{_HIDDEN}", text)
    text = _OPTION.sub(rf"\1{_HIDDEN}", text)
    text = _BEARER.sub(rf"\1 {_HIDDEN}", text)
    return _NAMED.sub(_hide_named, text)


def _hide_named(found: re.Match[str]) -> str:
    value, quote = found["value"], found["quote"] or ""
    if _HIDDEN in value or _REFERENCE.match(value):
        return found[0]
    assigned = found["name"].isupper() and found["between"] == "="
    written = bool(quote)
    if not (_DIGIT_AND_LETTER.match(value) or assigned or written):
        return found[0]
    rest = value[len(value.rstrip(").]»!?:")) :]
    return f"{found['name']}{found['between']}{quote}{_HIDDEN}{rest}"


def masked_data(data: Any) -> Any:
    """Plain data with the secrets of all its texts hidden."""
    if isinstance(data, str):
        return masked(data)
    if isinstance(data, dict):
        return {key: _masked_value(key, value) for key, value in data.items()}
    return [masked_data(value) for value in data] if isinstance(data, list | tuple) else data


def _masked_value(key: object, value: Any) -> Any:
    """A text whose key names a secret is hidden as if the name stood before it."""
    if isinstance(value, str) and isinstance(key, str) and _NAME_OF_A_SECRET.search(key):
        return _HIDDEN if len(value) >= 8 else value
    return masked_data(value)
