"""A Messages API on loopback that answers by a script: it drives the real Claude Code, no account.

Owns: one HTTP server on 127.0.0.1 with an ephemeral port, its script, and the requests it saw.
Does not own: the `claude` process. Start that yourself, with `claude_env` as its whole environment.

    steps = [[tool("Write", file_path="/p/a.txt", content="a")], [report(summary="Wrote a.txt")]]
    with ScriptedAPI(steps) as api:
        subprocess.run([claude, "-p"], input="Write a.txt", env=api.claude_env(home), cwd=folder)

A script is a list of steps. A step is a list of content blocks, or what `reply`, `error` or `hang`
make. Several runs can share one API: give a mapping of needle to script. The first needle that
stands in the last prompt wins; the key "" holds the script for all others. What stands below a line
"Around this task:" is about other tasks: no needle is looked for there. A resumed session
brings its old conversation along: only its new prompt counts, and the steps begin anew with it.

Invariants: the step depends on the request alone (how many assistant messages follow the last
prompt), never on what was answered before, so a retried request gets the same step again. A
request past the last step is answered "Done.", one without tools (a title, a summary)
"Side request.". Each wait is bounded, and leaving the context ends it.

By hand: `python examples/scripted_api.py SCRIPT.json` prints its URL and serves until Ctrl-C. In
the file a step is a list of blocks, or one of
`{"reply": [blocks], "usage": {"output_tokens": 9}, "headers": {}}`,
`{"error": {"status": 429, "kind": "rate_limit_error", "message": "...", "headers": {}}}`,
`{"hang": 5}` (seconds).
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
import threading
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self

#: A content block of an assistant message, as the API writes it; a tool_use needs no id.
Block = dict[str, Any]

#: Not a secret: the server takes any key. Claude Code wants one to be there.
API_KEY = "sk-ant-scripted-api-of-the-test-suite"

_AROUND = "\nAround this task:\n"
#: Texts that Claude Code itself adds as user messages. They are no prompts and start no script.
_NOT_PROMPTS = (
    "<system-reminder>",
    "[structured-output-enforce]",
    "Stop hook feedback",
    "[Request interrupted",
    "Base directory for this skill",
)


@dataclass(frozen=True)
class Reply:
    """A step that answers with content blocks."""

    blocks: Sequence[Block]
    #: Tokens to report, over the defaults of 10 in and 5 out. `claude` computes its costs from it.
    usage: Mapping[str, int] = field(default_factory=dict)
    #: Response headers to add, such as `anthropic-ratelimit-unified-status`.
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Failure:
    """A step that answers with an HTTP error."""

    status: int
    kind: str
    message: str
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Hang:
    """A step that answers only when its event is set, or after `limit_s` seconds."""

    limit_s: float
    until: threading.Event
    then: Reply | Failure


Step = Reply | Failure | Hang | Sequence[Block]
Steps = Sequence[Step]
Script = Steps | Mapping[str, Steps]


@dataclass(frozen=True)
class Request:
    """One `POST /v1/messages`, as Claude Code sent it."""

    body: dict[str, Any]
    #: Names in lower case.
    headers: Mapping[str, str]

    @property
    def is_side_request(self) -> bool:
        """True for a request without tools: a title or a summary, not a turn of the run."""
        return not self.body.get("tools")

    @property
    def prompt(self) -> str:
        """The text of the last prompt; empty if there is none."""
        return self._last_prompt[1]

    @property
    def answered(self) -> int:
        """How many assistant messages follow the last prompt: the number of the step due."""
        later = self.body["messages"][self._last_prompt[0] :]
        return sum(message["role"] == "assistant" for message in later)

    @property
    def _last_prompt(self) -> tuple[int, str]:
        prompts = ((at, _prompt_text(message)) for at, message in enumerate(self.body["messages"]))
        return max((prompt for prompt in prompts if prompt[1]), default=(0, ""))


def text(words: str) -> Block:
    """A text block."""
    return {"type": "text", "text": words}


def tool(name: str, /, **arguments: Any) -> Block:
    """A call of the tool `name`, such as `tool("Bash", command="ls")`."""
    return {"type": "tool_use", "name": name, "input": arguments}


def report(outcome: str = "done", summary: str = "Did what was asked.", **fields: Any) -> Block:
    """The Builder's report: it ends a run that was started with `--json-schema`."""
    words = dict.fromkeys(("remark", "question", "notes", "verification", "next", "blockers"), "")
    lists: dict[str, Any] = {"options": [], "files_changed": [], "subtasks": []}
    return tool(
        "StructuredOutput", **{"outcome": outcome, "summary": summary, **words, **lists, **fields}
    )


def reply(
    *blocks: Block, usage: Mapping[str, int] | None = None, headers: Mapping[str, str] | None = None
) -> Reply:
    """A step with token counts or response headers of its own."""
    return Reply(blocks, usage or {}, headers or {})


def error(
    status: int, kind: str, message: str, headers: Mapping[str, str] | None = None
) -> Failure:
    """A step that answers with an error, such as `error(529, "overloaded_error", "Overloaded")`.

    Claude Code asks again as often as `CLAUDE_CODE_MAX_RETRIES` says, and gets the same error.
    """
    return Failure(status, kind, message, headers or {})


def hang(
    limit_s: float = 60.0, until: threading.Event | None = None, then: Reply | Failure | None = None
) -> Hang:
    """A step that says nothing until `until` is set, at most `limit_s`, and then answers `then`."""
    return Hang(limit_s, until or threading.Event(), then or reply(text("Late.")))


class ScriptedAPI:
    """The server. A context manager: it listens inside the `with` block only."""

    def __init__(self, script: Script | Callable[[Request], Step]) -> None:
        self._script = script
        self._received: list[Request] = []
        self._changed = threading.Condition()
        self._closing = False
        self._hanging: list[threading.Event] = []
        self._server: ThreadingHTTPServer | None = None

    def __enter__(self) -> Self:
        handler = type("Handler", (_Handler,), {"api": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(
            target=self._server.serve_forever, args=(0.02,), name="scripted-api", daemon=True
        ).start()
        return self

    def __exit__(self, *_: object) -> None:
        assert self._server is not None
        with self._changed:
            self._closing = True
            for event in self._hanging:
                event.set()
        self._server.shutdown()
        self._server.server_close()

    @property
    def url(self) -> str:
        """What `ANTHROPIC_BASE_URL` has to be."""
        assert self._server is not None, "the API listens inside its `with` block only"
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def requests(self) -> list[dict[str, Any]]:
        """The bodies of all requests so far, side requests included; a copy."""
        return [request.body for request in self.received]

    @property
    def received(self) -> list[Request]:
        """The same requests with their headers."""
        with self._changed:
            return list(self._received)

    def wait_for_requests(self, count: int, timeout_s: float = 20.0) -> None:
        """Wait until `count` requests have come, side requests not counted.

        Raises: TimeoutError.
        """

        def enough() -> bool:
            return sum(not request.is_side_request for request in self._received) >= count

        with self._changed:
            if not self._changed.wait_for(enough, timeout_s):
                raise TimeoutError(f"fewer than {count} requests came within {timeout_s} s")

    def claude_env(self, home: Path, **extra: str) -> dict[str, str]:
        """The whole environment for `claude`: nothing of this shell, `home` as its home."""
        git = shutil.which("git")
        folders = [str(Path(git).parent)] if git else []
        environment = {
            "PATH": os.pathsep.join([*folders, os.defpath]),
            "HOME": str(home),
            "LANG": "C.UTF-8",
            "ANTHROPIC_BASE_URL": self.url,
            "ANTHROPIC_API_KEY": API_KEY,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            # At a terminal it would come from GitHub all the same.
            "CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL": "1",
            "CLAUDE_CODE_MAX_RETRIES": "1",
            "DISABLE_AUTOUPDATER": "1",
        }
        if os.name == "nt":
            environment |= {"USERPROFILE": str(home), "SYSTEMROOT": os.environ["SYSTEMROOT"]}
        return environment | extra

    def answer(self, request: Request) -> Reply | Failure:
        """Record the request and choose its answer; a `Hang` is waited for here."""
        with self._changed:
            self._received.append(request)
            self._changed.notify_all()
        step = self._step(request)
        if isinstance(step, Hang):
            with self._changed:
                self._hanging.append(step.until)
                if self._closing:
                    step.until.set()
            step.until.wait(step.limit_s)
            return step.then
        return step if isinstance(step, Reply | Failure) else Reply(step)

    def _step(self, request: Request) -> Step:
        if request.is_side_request:
            return [text("Side request.")]
        if callable(self._script):
            return self._script(request)
        if isinstance(self._script, Mapping):
            asked = request.prompt.partition(_AROUND)[0]
            needles = (needle for needle in self._script if needle and needle in asked)
            steps = self._script.get(next(needles, ""), [])
        else:
            steps = self._script
        return steps[request.answered] if request.answered < len(steps) else [text("Done.")]


def prepare_interactive(home: Path, *trusted: Path) -> None:
    """Let an interactive `claude` start without questions in `trusted` (`home/.claude.json`)."""
    settings = {
        "hasCompletedOnboarding": True,
        "theme": "dark",
        "customApiKeyResponses": {"approved": [API_KEY[-20:]], "rejected": []},
        "projects": {str(folder.resolve()): {"hasTrustDialogAccepted": True} for folder in trusted},
    }
    home.mkdir(parents=True, exist_ok=True)
    (home / ".claude.json").write_text(json.dumps(settings), encoding="utf-8")


def load_script(path: Path) -> Script:
    """Read a script from a JSON file.

    Raises: OSError, ValueError (not JSON, or a step that is none of the known forms).
    """
    content = json.loads(path.read_text(encoding="utf-8-sig"))
    if isinstance(content, dict):
        return {
            needle: [_step_from_json(step) for step in steps] for needle, steps in content.items()
        }
    return [_step_from_json(step) for step in content]


def _step_from_json(step: Any) -> Step:
    if isinstance(step, list):
        return step
    if isinstance(step, dict) and "reply" in step:
        return reply(*step["reply"], usage=step.get("usage"), headers=step.get("headers"))
    if isinstance(step, dict) and "error" in step:
        return error(**step["error"])
    if isinstance(step, dict) and "hang" in step:
        return hang(step["hang"])
    raise ValueError(f"not a step: {json.dumps(step)[:80]}")


def _prompt_text(message: dict[str, Any]) -> str:
    """The prompt in a user message; empty for results of tools and for what Claude Code adds."""
    if message["role"] != "user":
        return ""
    content = message["content"]
    blocks = [text(content)] if isinstance(content, str) else content
    words = [block["text"] for block in blocks if block["type"] == "text"]
    return "\n".join(word for word in words if not word.lstrip().startswith(_NOT_PROMPTS))


def _message(answer: Reply, model: str) -> Block:
    """The whole assistant message."""
    calls_tool = any(block["type"] == "tool_use" for block in answer.blocks)
    return {
        "id": f"msg_{uuid.uuid4().hex}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [
            {"id": f"toolu_{uuid.uuid4().hex}", **block} if block["type"] == "tool_use" else block
            for block in answer.blocks
        ],
        "stop_reason": "tool_use" if calls_tool else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 10, "output_tokens": 5, **answer.usage},
    }


def _events(message: Block) -> list[Block]:
    """The server-sent events that bring a message."""
    opening = message | {"content": [], "stop_reason": None}
    ending = {name: message[name] for name in ("stop_reason", "stop_sequence")}
    events: list[Block] = [{"type": "message_start", "message": opening}]
    for index, block in enumerate(message["content"]):
        if block["type"] == "tool_use":
            start = block | {"input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        else:
            start = block | {"text": ""}
            delta = {"type": "text_delta", "text": block["text"]}
        events += [
            {"type": "content_block_start", "index": index, "content_block": start},
            {"type": "content_block_delta", "index": index, "delta": delta},
            {"type": "content_block_stop", "index": index},
        ]
    events.append({"type": "message_delta", "delta": ending, "usage": message["usage"]})
    return [*events, {"type": "message_stop"}]


class _Handler(BaseHTTPRequestHandler):
    api: ScriptedAPI
    protocol_version = "HTTP/1.1"

    def handle(self) -> None:
        # A client that is ended while it waits is what some tests are about.
        with contextlib.suppress(ConnectionError):
            super().handle()

    def do_HEAD(self) -> None:
        self._send(200, b"", {})

    def do_GET(self) -> None:
        self._send_json(200, {}, {})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
        route = self.path.partition("?")[0]
        if route == "/v1/messages":
            headers = {name.lower(): value for name, value in self.headers.items()}
            self._answer(body, self.api.answer(Request(body, headers)))
        elif route == "/v1/messages/count_tokens":
            self._send_json(200, {"input_tokens": 100}, {})
        else:
            self._send_json(200, {}, {})

    def _answer(self, body: Block, answer: Reply | Failure) -> None:
        if isinstance(answer, Failure):
            detail = {"type": answer.kind, "message": answer.message}
            self._send_json(answer.status, {"type": "error", "error": detail}, answer.headers)
            return
        message = _message(answer, body["model"])
        if not body.get("stream"):
            self._send_json(200, message, answer.headers)
            return
        stream = "".join(
            f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in _events(message)
        )
        self._send(200, stream.encode(), {"content-type": "text/event-stream", **answer.headers})

    def _send_json(self, status: int, body: Block, headers: Mapping[str, str]) -> None:
        kind = {"content-type": "application/json"}
        self._send(status, json.dumps(body).encode(), kind | dict(headers))

    def _send(self, status: int, body: bytes, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: stdout and stderr belong to the program that uses the API."""


def main() -> int:
    """Serve the script named on the command line until Ctrl-C."""
    if len(sys.argv) != 2:
        sys.stderr.write("usage: python examples/scripted_api.py SCRIPT.json\n")
        return 2
    try:
        script = load_script(Path(sys.argv[1]))
    except (OSError, ValueError, TypeError) as problem:
        sys.stderr.write(f"{sys.argv[1]}: {problem}; give a script as the docstring describes it\n")
        return 1
    with ScriptedAPI(script) as api, contextlib.suppress(KeyboardInterrupt):
        sys.stdout.write(f"{api.url}\n")
        sys.stdout.flush()
        threading.Event().wait()
    return 0


if __name__ == "__main__":
    sys.exit(main())
