"""What each service is sent, and how its answer is judged. The signatures were made by openssl."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from loop.core.address import serverchan_address
from loop.core.notification import Message
from loop.errors import NotSent
from loop.notify import dingtalk, feishu, post, serverchan, wecom
from loop.notify.dingtalk import DingTalk
from loop.notify.feishu import Feishu
from loop.notify.post import json_bytes
from loop.notify.sender import Sender
from loop.notify.serverchan import ServerChan
from loop.notify.wecom import WeCom
from tests.notify.group import Group, group, nobody, query_of

_SECRET = "demo+secret/with=signs"
_HELLO = Message("✅ success · shop", "Done.")
_MAKE: dict[str, Callable[[str], Sender]] = {
    "feishu": Feishu, "dingtalk": DingTalk, "wecom": WeCom, "serverchan": ServerChan,
}  # fmt: skip


@pytest.fixture
def there() -> Iterator[Group]:
    with group() as made:
        yield made


@pytest.mark.parametrize(
    ("service", "answer", "said"),
    [
        ("feishu", {"StatusCode": 0, "StatusMessage": "success"}, "success"),
        ("feishu", {"code": 0, "msg": "success", "data": {}}, "success"),
        ("dingtalk", {"errcode": 0, "errmsg": "ok"}, "ok"),
        ("wecom", {"errcode": 0, "errmsg": "ok"}, "ok"),
        ("serverchan", {"code": 0, "message": "", "data": {"errno": 0}}, "ok"),
    ],
)
def test_a_service_that_says_so_has_taken_it(
    there: Group, service: str, answer: dict[str, Any], said: str
) -> None:
    there.says(answer)
    assert _MAKE[service](there.address).send(_HELLO) == said
    assert "Done." in there.texts[0]


@pytest.mark.parametrize(
    ("service", "answer", "status", "said"),
    [
        ("feishu", {"code": 19021, "msg": "sign match fail"}, 200, "sign match fail; .*(19021)"),
        ("feishu", {"code": 19024, "msg": "Key Words Not Found"}, 200, "Words Not Found (19024)"),
        ("feishu", {"StatusCode": 9499, "StatusMessage": "bad"}, 200, "bad (9499)"),
        ("feishu", {"code": 0, "msg": "ok"}, 500, "HTTP 500: ok"),
        ("feishu", {"errcode": 0}, 200, "the answer doesn't say that it arrived"),
        ("feishu", {"code": False}, 200, "the answer doesn't say"),
        ("dingtalk", {"errcode": 310000, "errmsg": "keywords not in content"}, 200,
         "keywords not in content (310000)"),
        ("dingtalk", {"StatusCode": 0}, 200, "the answer doesn't say"),
        ("wecom", {"errcode": 93000, "errmsg": "invalid webhook url"}, 200,
         "invalid webhook url (93000)"),
        ("serverchan", {"code": 40001, "message": "[AUTH] wrong key"}, 400, "wrong key (40001)"),
        ("serverchan", {"code": 0, "data": {"errno": 45002, "error": "too long"}}, 200,
         "too long (45002)"),
        ("serverchan", {}, 200, "the answer doesn't say"),
    ],
)  # fmt: skip
def test_a_refusal_is_told_in_the_service_s_own_words(
    there: Group, service: str, answer: dict[str, Any], status: int, said: str
) -> None:
    there.says(answer, status)
    with pytest.raises(NotSent, match=said.replace("(", r"\(").replace(")", r"\)")):
        _MAKE[service](there.address).send(_HELLO)
    assert len(there.came) == 1


@pytest.mark.parametrize("service", _MAKE)
@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        ("<html><b>Please log in</b></html>", 200, "<html><b>Please log in"),
        ("", 200, "arrived: nothing"),
        ("[1, 2]", 200, "arrived: "),
        ("{", 200, "arrived: {"),
        ("null", 200, "arrived: null"),
        ("<html>oops</html>", 500, "HTTP 500: <html>oops"),
        ("", 404, "HTTP 404: nothing"),
    ],
)
def test_what_is_no_answer_of_the_service_is_a_failure(
    there: Group, service: str, body: str, status: int, said: str
) -> None:
    there.says(body, status)
    with pytest.raises(NotSent) as caught:
        _MAKE[service](there.address).send(_HELLO)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    assert (caught.value.again_s is not None) == (status >= 500)


@pytest.mark.parametrize("service", _MAKE)
def test_a_redirect_is_a_failure_and_not_followed(there: Group, service: str) -> None:
    there.says({"errcode": 0, "code": 0}, 302, Location=there.address)
    with pytest.raises(NotSent, match=r"HTTP 302: it sends us on to http://127\.0\.0\.1"):
        _MAKE[service](there.address).send(_HELLO)
    assert len(there.came) == 1


@pytest.mark.parametrize(
    ("service", "code", "least_s"),
    [
        ("feishu", 11232, 60),
        ("dingtalk", 130101, 600),
        ("wecom", 45009, 60),
        ("dingtalk", -1, 5),
        ("wecom", -1, 5),
    ],
)
def test_too_many_messages_at_once_is_worth_another_try_later(
    there: Group, service: str, code: int, least_s: int
) -> None:
    there.says({"errcode": code, "code": code, "errmsg": "too fast", "msg": "too fast"})
    with pytest.raises(NotSent, match="too fast") as caught:
        _MAKE[service](there.address).send(_HELLO)
    assert caught.value.again_s == least_s


def test_a_password_in_an_address_is_not_told() -> None:
    with pytest.raises(NotSent) as caught:
        WeCom("https://user:SECRET0PW@127.0.0.1/send").send(_HELLO)
    assert "SECRET0PW" not in str(caught.value)


def test_nobody_there_is_worth_another_try_and_the_address_is_not_told() -> None:
    with nobody() as address, pytest.raises(NotSent) as caught:
        WeCom(address).send(_HELLO)
    assert str(caught.value) == "can't be reached: Connection refused"
    assert caught.value.again_s is not None


def test_a_host_that_has_no_address_is_told() -> None:
    with pytest.raises(NotSent, match="can't be reached") as caught:
        WeCom("https://no-such-host.invalid/send?key=SECRET0KEY").send(_HELLO)
    assert "SECRET0KEY" not in str(caught.value)


def test_one_that_never_answers_is_left_within_the_limit_and_not_tried_again(
    there: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert post._LIMIT_S <= 10
    monkeypatch.setattr("loop.notify.post._LIMIT_S", 0.2)
    there.free.clear()
    with pytest.raises(NotSent, match=r"no answer within 0.2 s; it may have arrived") as caught:
        WeCom(there.address).send(_HELLO)
    assert caught.value.again_s is None


def test_a_dead_proxy_is_named_and_none_is_used_on_this_machine(
    there: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    with nobody() as dead:
        proxy = dead.partition("/robot")[0]
        for name in ("http_proxy", "https_proxy"):
            monkeypatch.setenv(name, proxy)
        assert WeCom(there.address).send(_HELLO) == "ok"
        with pytest.raises(NotSent, match=rf"through the proxy {proxy}/•••: Connection refused"):
            WeCom("https://example.invalid/send?key=SECRET0KEY").send(_HELLO)


@pytest.mark.parametrize(
    ("proxy", "told"),
    [
        ("http://u:SECRET0PW@127.0.0.1:{port}", "through the proxy http://127.0.0.1:{port}/•••: C"),
        ("u:SECRET0PW@127.0.0.1:{port}", "through the proxy 127.0.0.1:{port}/•••: Connection"),
        ("http://u:SECRET0PW#1@127.0.0.1:{port}", "through the proxy •••: Connection refused"),
        ("http://u:SECRET0PW/1@127.0.0.1:{port}", "through the proxy •••: Connection refused"),
    ],
)
def test_the_password_of_a_proxy_is_not_told(
    monkeypatch: pytest.MonkeyPatch, proxy: str, told: str
) -> None:
    with nobody() as dead:
        port = dead.partition("/robot")[0].rpartition(":")[2]
        monkeypatch.setenv("https_proxy", proxy.format(port=port))
        with pytest.raises(NotSent) as caught:
            WeCom("https://example.invalid/send?key=SECRET0KEY").send(_HELLO)
    assert told.format(port=port) in str(caught.value)
    assert "SECRET" not in str(caught.value)


@pytest.mark.parametrize("service", _MAKE)
def test_a_service_that_repeats_the_address_does_not_give_it_away(
    there: Group, service: str
) -> None:
    for body in (there.address, f"bad token SECRET0TOKEN in {there.address}"):
        there.says({"errcode": 1, "code": 1, "errmsg": body, "msg": body, "message": body})
        sender = _MAKE[service](there.address)
        with pytest.raises(NotSent) as caught:
            sender.send(_HELLO)
        assert "SECRET0TOKEN" not in str(caught.value)
        assert sender.where == f"http://127.0.0.1:{there.port}/•••"


@pytest.mark.parametrize("service", _MAKE)
def test_words_of_a_service_are_one_line_and_no_part_of_the_address_is_left_by_a_cut(
    there: Group, service: str
) -> None:
    # The cut at 200 characters goes through the token of the second address.
    said = f"no\n{there.address} {'x' * 137} {there.address}"
    for body in ({"errmsg": said, "msg": said, "message": said}, said):
        for code in (0, 1):
            there.says(body if isinstance(body, str) else body | {"errcode": code, "code": code})
            try:
                words = _MAKE[service](there.address).send(_HELLO)
            except NotSent as error:
                words = str(error)
            assert "SECRET" not in words and "\n" not in words
            assert "•••" in words


@pytest.mark.parametrize("service", _MAKE)
def test_a_service_that_is_busy_is_tried_again_when_it_says_whatever_its_code(
    there: Group, service: str
) -> None:
    def again_s(body: object, status: int, **headers: str) -> float:
        there.says(body, status, **headers)
        with pytest.raises(NotSent) as caught:
            _MAKE[service](there.address).send(_HELLO)
        return caught.value.again_s or 0.0

    coded = {"code": 42900, "errcode": 42900}
    for body in (coded, "busy"):
        assert again_s(body, 429, **{"Retry-After": "70"}) == 70
        assert again_s(body, 500, **{"Retry-After": "soon"}) == 5
        assert again_s(body, 503) == 5
    until = format_datetime(datetime.now(UTC) + timedelta(minutes=5), usegmt=True)
    assert 250 < again_s(coded, 429, **{"Retry-After": until}) <= 300
    assert again_s(coded, 400) == 0


def test_feishu_signs_nothing_by_a_key_of_seconds_and_secret() -> None:
    expected = "RDYy4L84i1oq1IpxC4H2kXMmdoqgqvjPKmPhaVkNFng="
    assert feishu.signature(_SECRET, 1599360473) == expected
    body = feishu.body("hello", _SECRET, 1599360473.9)
    assert (body["timestamp"], body["sign"]) == ("1599360473", expected)
    assert set(feishu.body("hello", None, 0)) == {"msg_type", "content"}


def test_dingtalk_signs_milliseconds_and_encodes_the_signature_once() -> None:
    assert dingtalk.signature(_SECRET, 1577262236757) == (
        "CXFvXjlREJBVI8OSm/UYHp4a1bQe6FdtBzwP//+tldQ="
    )
    address = "https://oapi.dingtalk.com/robot/send?access_token=a%2Bb&timestamp=1&sign=old"
    assert dingtalk.signed(address, _SECRET, 1577262236757) == (
        "https://oapi.dingtalk.com/robot/send?access_token=a%2Bb&timestamp=1577262236757"
        "&sign=CXFvXjlREJBVI8OSm%2FUYHp4a1bQe6FdtBzwP%2F%2F%2BtldQ%3D"
    )


def test_what_dingtalk_gets_is_signed_now_behind_the_parameters_that_are_there(
    there: Group,
) -> None:
    DingTalk(there.address, _SECRET).send(_HELLO)
    token, timestamp, sign = query_of(there.came[0][0])
    assert token == "access_token=SECRET0TOKEN"
    moment = int(timestamp.removeprefix("timestamp="))
    assert abs(moment / 1000 - time.time()) < 60
    assert sign.startswith("sign=") and "+" not in sign and "/" not in sign


@pytest.mark.parametrize(
    ("sender", "refusal"),
    [
        (Feishu, {"code": 19021, "msg": "sign match fail or timestamp is not within one hour"}),
        (DingTalk, {"errcode": 310000, "errmsg": "sign not match"}),
    ],
)
def test_a_refused_signature_names_the_clock_and_by_how_much_it_is_off(
    there: Group, sender: type[Feishu | DingTalk], refusal: dict[str, Any]
) -> None:
    there.says(refusal)
    with pytest.raises(NotSent, match="check the secret, and this machine's clock"):
        sender(there.address, _SECRET).send(_HELLO)
    theirs = datetime.now(UTC) - timedelta(hours=2)
    there.says(refusal, Date=format_datetime(theirs, usegmt=True))
    with pytest.raises(NotSent, match="clock is 120 min fast: set it right"):
        sender(there.address, _SECRET).send(_HELLO)


_LONG = '"\\\n日本🙋' * 9000


def test_every_service_gets_no_more_bytes_than_it_takes() -> None:
    assert len(json_bytes(feishu.body(_LONG, _SECRET, 1.0))) <= 20_000
    assert len(json_bytes(dingtalk.body(_LONG))) <= 20_000
    content = wecom.body(_LONG)["text"]
    assert isinstance(content, dict)
    assert 2040 < len(content["content"].encode()) <= 2048
    sent = serverchan.body(Message("t" * 40, _LONG))
    assert len(str(sent["title"])) == 32
    assert 31_990 < len(str(sent["desp"]).encode()) <= 32_000


def test_words_of_a_model_call_nobody_and_are_no_markup() -> None:
    for tag in ("<at user_id='all'></at>", "<AT user_id='all'>", "< at user_id='all'>"):
        sent = feishu.body(tag, None, 0)["content"]
        assert sent == {"text": tag.replace("<", "<\u200b", 1)}
    assert "<@" not in json_bytes(wecom.body("<@all>")).decode()
    sent = serverchan.body(Message("t", "![x](https://example.com/a_b)"))
    assert sent["desp"] == "t\n\n\\!\\[x\\]\\(https://example.com/a\\_b\\)"


@pytest.mark.parametrize(
    ("key", "address"),
    [
        ("SCT123TabcDEF", "https://sctapi.ftqq.com/SCT123TabcDEF.send"),
        ("sctp42tabcDEF", "https://42.push.ft07.com/send/sctp42tabcDEF.send"),
        ("http://127.0.0.1:9/SCT1.send", "http://127.0.0.1:9/SCT1.send"),
    ],
)
def test_a_sendkey_says_which_host_it_is_of(key: str, address: str) -> None:
    assert serverchan_address(key) == address
