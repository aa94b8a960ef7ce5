"""Settings of a project, `.ai/config.json`. Every key is optional; an unknown one is an error."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, field

from loop.core import address
from loop.core.checks import clean_text, convert
from loop.core.task import Attempts, Dollars, Minutes, Name, Turns, decode_object
from loop.errors import BadInput

Seconds = Annotated[float, Meta(gt=0, le=7 * 24 * 3600)]
Count = Annotated[int, Meta(ge=1, le=1_000_000)]
#: an argument of a command line
Line = Annotated[str, Meta(pattern=r"^[^\r\n]*\Z")]
#: services whose robots have a webhook
_ROBOTS: tuple[Literal["feishu", "dingtalk", "wecom"], ...] = ("feishu", "dingtalk", "wecom")


class Builder(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How Claude Code is started."""

    #: path or name of the executable; None looks for it
    command: Name | None = None
    #: None leaves the choice to Claude Code
    model: Name | None = None
    max_turns: Turns = 20
    max_budget_usd: Dollars = 2.0
    #: `schema`: the Builder gives a structured report; `marker`: its last text counts
    report: Literal["schema", "marker"] = "schema"
    #: pass ANTHROPIC_API_KEY and the like on to the Builder
    inherit_api_key: bool = False
    tools: Line = "Agent,Bash,Edit,Glob,Grep,NotebookEdit,Read,Skill,Write"
    extra_args: list[Line] = field(default_factory=list)


class Limits(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When a run is ended from outside. Times count while the machine is awake."""

    task_timeout_minutes: Minutes = 30
    #: until the model's first reply
    first_reply_s: Seconds = 300
    #: without output while no tool call is open
    silent_s: Seconds = 900
    #: between asking a process to end and the next, stronger signal
    grace_s: Seconds = 10
    max_attempts: Attempts = 3


class Budget(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a day may cost."""

    #: US dollars from midnight UTC; None sets no limit
    daily_usd: Dollars | None = None


class Escalation(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When the Architect must ask the person."""

    max_requeues: Annotated[int, Meta(ge=0, le=1000)] = 3


class Wait(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How long check_builder_status waits. Claude Desktop cuts calls at 60 s."""

    default_s: Annotated[float, Meta(ge=0, le=240)] = 25
    max_s: Annotated[float, Meta(ge=0, le=240)] = 30


class CheckpointSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The commit after a run."""

    mode: Literal["commit", "ref", "off"] = "commit"
    keep_days: Count = 30
    max_file_mb: Annotated[float, Meta(gt=0, le=1000)] = 10


class Verify(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Commands that the worker runs after a run."""

    test_command: str | None = None
    lint_command: str | None = None
    timeout_s: Seconds = 600


class Context(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Bounds of the compact context."""

    max_bytes: Annotated[int, Meta(ge=1024, le=1_000_000)] = 8192
    recent_lines: Count = 20
    relevant_lines: Count = 30


class Progress(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The handoff log."""

    max_lines: Count = 100


class Webhook(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A robot's address, with the secret that it wants messages signed by."""

    webhook: str
    secret: Annotated[str, Meta(min_length=1)] | None = None


class SendKey(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A key of ServerChan, or the whole address that it stands in."""

    sendkey: str


class Notify(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where notifications go. A text is short for the object that holds only that."""

    #: addresses of any service that apprise knows
    urls: list[str] = field(default_factory=list)
    feishu: Webhook | str | None = None
    dingtalk: Webhook | str | None = None
    wecom: Webhook | str | None = None
    serverchan: SendKey | str | None = None
    #: a native notification too, where there is a desktop
    desktop: bool = True
    #: names of events (core/notification.py); None sends all of them
    events: list[str] | None = None

    def webhook(self, name: Literal["feishu", "dingtalk", "wecom"]) -> Webhook | None:
        """The robot of a service; None when there is none."""
        given: Webhook | str | None = getattr(self, name)
        return Webhook(webhook=given) if isinstance(given, str) else given

    @property
    def sendkey(self) -> str | None:
        """The key or address of ServerChan; None when there is none."""
        given = self.serverchan
        return given.sendkey if isinstance(given, SendKey) else given


class Architect(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The chat that plans."""

    #: `https://claude.ai/chat/ID`; a native notification leads there
    chat_url: str | None = None


class Config(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All settings of a project."""

    builder: Builder = Builder()
    limits: Limits = Limits()
    budget: Budget = Budget()
    escalation: Escalation = Escalation()
    wait: Wait = Wait()
    #: seconds between two looks at the folders when no event came
    scan_seconds: Annotated[float, Meta(ge=0.05, le=3600)] = 5
    #: what happens to a run when the server ends: it goes on, or it is interrupted
    on_shutdown: Literal["leave", "stop"] = "leave"
    checkpoint: CheckpointSettings = CheckpointSettings()
    commit_prefix: Annotated[str, Meta(min_length=1, max_length=40)] = "feat"
    readme_guard: bool = True
    verify: Verify = Verify()
    context: Context = Context()
    progress: Progress = Progress()
    notify: Notify = Notify()
    architect: Architect = Architect()


def decode_config(data: bytes) -> Config:
    """Settings from the bytes of config.json.

    An empty file is refused: an editor that saves in place leaves one for a moment.

    Raises:
        BadInput: names the key.
    """
    if not data.strip():
        raise BadInput("", "the file is empty; `{}` leaves all settings at their defaults")
    raw: dict[str, Any] = decode_object(data)
    clean_text(raw)
    config = convert(_in_our_words(raw), Config)
    _check_notify(config.notify)
    if config.architect.chat_url is not None:
        address.check_chat(config.architect.chat_url, "architect.chat_url")
    return config


def _in_our_words(raw: dict[str, Any]) -> dict[str, Any]:
    """The settings with `notify_type` and `notify_webhook`, another system's, put where ours are.

    What is ours already stays. Without a type it is Feishu's, as there.
    """
    raw = dict(raw)
    webhook, kind = raw.pop("notify_webhook", None), raw.pop("notify_type", None) or _ROBOTS[0]
    if not webhook:
        return raw
    if kind not in (*_ROBOTS, "serverchan"):
        raise BadInput("notify_type", f"is not one of: {', '.join(_ROBOTS)}, serverchan")
    if not isinstance(webhook, str):
        raise BadInput("notify_webhook", "give a text")
    check = address.check_serverchan if kind == "serverchan" else address.check_webhook
    check(webhook, "notify_webhook")
    notify = raw.get("notify", {})
    return raw | {"notify": {kind: webhook} | notify} if isinstance(notify, dict) else raw


def _check_notify(notify: Notify) -> None:
    for place, url in enumerate(notify.urls):
        address.check_apprise(url, f"notify.urls[{place}]")
    for name in _ROBOTS:
        robot = notify.webhook(name)
        if robot is not None:
            inner = "" if isinstance(getattr(notify, name), str) else ".webhook"
            address.check_webhook(robot.webhook, f"notify.{name}{inner}")
    if notify.wecom is not None and not isinstance(notify.wecom, str) and notify.wecom.secret:
        raise BadInput("notify.wecom.secret", "WeCom signs nothing; leave it out")
    if notify.sendkey is not None:
        inner = "" if isinstance(notify.serverchan, str) else ".sendkey"
        address.check_serverchan(notify.sendkey, f"notify.serverchan{inner}")
    if notify.events:
        _check_events(notify.events)


def _check_events(names: list[str]) -> None:
    from loop.core.notification import ALIASES, KINDS  # with patterns that take time to compile

    for place, event in enumerate(names):
        if event not in KINDS and event not in ALIASES:
            known = ", ".join([*KINDS, *ALIASES])
            raise BadInput(f"notify.events[{place}]", f"unknown name; allowed: {known}")
