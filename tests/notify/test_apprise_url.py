"""apprise itself, against a server on loopback; its absence is made by hiding it."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator

import pytest

from loop.core.config import Config, Notify
from loop.core.notification import Message
from loop.errors import NotSent
from loop.notify import apprise_url
from loop.notify.apprise_url import AppriseUrl
from loop.notify.sender import name_of_url, senders_of
from tests.notify.group import Group, group

# Of its own parts, on import.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
_HELLO = Message("✅ success · shop", "Done_ *by* <b>me</b>.")


@pytest.fixture
def there() -> Iterator[Group]:
    with group() as made:
        yield made


def _sender(url: str) -> AppriseUrl:
    return AppriseUrl(url, name_of_url(url))


def test_apprise_brings_the_text_as_it_is(there: Group) -> None:
    _sender(f"json://127.0.0.1:{there.port}/SECRET0PATH").send(_HELLO)
    assert there.texts == ["Done_ *by* <b>me</b>."]
    assert there.came[0][1]["title"] == "✅ success · shop"


def test_words_of_a_model_call_nobody(there: Group) -> None:
    words = "(@everyone) <@&12> <!channel> @here, me@example.com, a < b"
    _sender(f"json://127.0.0.1:{there.port}/").send(Message("t @all", words))
    title, text = there.came[0][1]["title"], there.texts[0]
    assert not any(call in text + title for call in ("@ev", "<@", "@&", "<!", "@h", "@a"))
    assert "me@example.com, a < b" in text
    assert (title + text).replace("\u200b", "") == f"t @all{words}"


def test_a_failure_of_apprise_is_told_without_the_address_and_nothing_is_logged(
    there: Group, capfd: pytest.CaptureFixture[str]
) -> None:
    there.says("no", 403)
    sender = _sender(f"json://127.0.0.1:{there.port}/SECRET0PATH")
    with pytest.raises(NotSent, match="403") as caught:
        sender.send(_HELLO)
    assert "SECRET0PATH" not in str(caught.value)
    assert (sender.where, capfd.readouterr()) == ("json://•••", ("", ""))
    assert not logging.getLogger("apprise").propagate


def test_an_address_that_apprise_does_not_know_is_told() -> None:
    with pytest.raises(NotSent) as caught:
        _sender("nosuchservice://SECRET0TOKEN/x").send(_HELLO)
    assert "SECRET0TOKEN" not in str(caught.value)
    assert caught.value.again_s is None


def test_without_apprise_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apprise_url, "find_spec", lambda name: None)
    with pytest.raises(NotSent, match="pipx inject claude-automation-loop apprise"):
        _sender("json://127.0.0.1/").send(_HELLO)


def test_apprise_is_not_imported_before_something_is_sent() -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "apprise"]:
        del sys.modules[name]
    config = Config(notify=Notify(urls=["json://127.0.0.1/a", "json://127.0.0.1/b"]))
    names = list(senders_of(config, {}, "linux"))
    assert len(names) == 2 and all(name.startswith("json-") for name in names)
    assert "apprise" not in sys.modules
