"""Turning data from outside into structs, with errors that name the field in words."""

from __future__ import annotations

import re
from typing import Any, TypeVar

import msgspec

from loop.errors import BadInput

#: Longest text that one task may carry, in bytes of UTF-8. A longer prompt fits no model's context.
MAX_TASK_BYTES = 4 * 1024 * 1024
#: Levels of lists and objects; more would exhaust the stack of whoever reads them.
MAX_DEPTH = 64

_PATH = re.compile(r" - at `(?:key in )?\$?\.?([^`]*)`$")
_UNKNOWN = re.compile(r"Object contains unknown field `([^`]*)`")
_EXPECTED = re.compile(
    r"Expected `(?P<kinds>[^`]+)`"
    r"(?: of length (?P<length>>=|<=) (?P<count>\d+)| (?P<bound>>=|<=|>|<) (?P<limit>[-\d.]+))?"
    r"(?:, got `(?P<got>\w+)`)?"
)
_MISSING = re.compile(r"Object missing required field `([^`]*)`")

T = TypeVar("T")
S = TypeVar("S", bound=msgspec.Struct)


def convert(data: object, kind: type[T], where: str = "", *, strict: bool = True) -> T:
    """`data` (decoded JSON) as a struct of `kind`; not `strict` takes "25" for 25.

    Raises:
        BadInput: names the field (after `where`) and says what is allowed.
    """
    try:
        return msgspec.convert(data, kind, strict=strict)
    except msgspec.ValidationError as error:
        raise _bad_input(str(error), kind, where) from None


def _bad_input(message: str, kind: type[Any], where: str) -> BadInput:
    place = _PATH.search(message)
    path = place[1] if place else ""
    text = _PATH.sub("", message)
    unknown = _UNKNOWN.search(text)
    if unknown:
        allowed = ", ".join(f.encode_name for f in _fields(_type_at(kind, path)))
        return BadInput(_join(where, path, unknown[1]), f"unknown name; allowed: {allowed}")
    missing = _MISSING.search(text)
    if missing:
        return BadInput(_join(where, path, missing[1]), "is required")
    if text.startswith("Invalid enum value"):
        return BadInput(_join(where, path), f"is not {_choices(_type_at(kind, path))}")
    return BadInput(_join(where, path), _plain(text))


def _join(*parts: str) -> str:
    return ".".join(part for part in parts if part)


_WORDS = {
    "str": "a text", "int": "a whole number", "float": "a number", "bool": "true or false",
    "array": "a list", "object": "an object", "null": "nothing", "datetime": "a time",
}  # fmt: skip


def _plain(text: str) -> str:
    """What the decoder says, in words for people who do not know its types."""
    expected = _EXPECTED.search(text)
    if expected is None:
        return text[:1].lower() + text[1:].replace("`", "")
    kinds = [k for k in expected["kinds"].split(" | ") if k != "null"]
    wanted = " or ".join(_WORDS.get(kind, kind) for kind in kinds)
    if expected["length"]:
        most = "at least" if expected["length"] == ">=" else "at most"
        one, many = ("character", "characters") if kinds == ["str"] else ("entry", "entries")
        wanted += f" of {most} {expected['count']} {one if expected['count'] == '1' else many}"
    elif expected["bound"]:
        wanted += f" {expected['bound']} {expected['limit']}"
    elif "matching regex" in text:
        wanted += " without a line break"
    got = expected["got"]
    return f"give {wanted}" + (f", not {_WORDS.get(got, got)}" if got else "")


def _choices(kind: Any) -> str:
    options = getattr(kind, "types", (kind,))
    known = [o for o in options if isinstance(o, msgspec.inspect.LiteralType)]
    words = [repr(value) for option in known for value in option.values]
    if any(isinstance(o, msgspec.inspect.IntType) for o in options):
        words.append("a whole number")
    return f"one of: {', '.join(words)}"


def _fields(kind: Any) -> tuple[Any, ...]:
    return tuple(getattr(kind, "fields", ()))


def _type_at(kind: type[Any], path: str) -> Any:
    """What stands at the dotted path below a struct."""
    current: Any = msgspec.inspect.type_info(kind)
    for part in [p for p in path.split(".") if p]:
        fields = {f.encode_name: f.type for f in _fields(current)}
        current = fields.get(part.split("[")[0], current)
        if isinstance(current, msgspec.inspect.UnionType):  # an object, or something short for it
            current = next((t for t in current.types if _fields(t)), current)
        if isinstance(current, msgspec.inspect.ListType):
            current = current.item_type
    return current


def clean_text(data: object, where: str = "") -> None:
    """Refuses what can't be written down as UTF-8 text (NUL, lone surrogates), or nests too deeply.

    Raises:
        BadInput: names the field that holds it, or says that the whole is too long.
    """
    if _check(data, where, 0) > MAX_TASK_BYTES:
        limit = MAX_TASK_BYTES // (1024 * 1024)
        raise BadInput(where, f"more than {limit} MB of text; put it into a file of the project")


def _check(data: object, where: str, depth: int) -> int:
    if depth > MAX_DEPTH:
        raise BadInput(where.partition("[")[0], f"is nested more than {MAX_DEPTH} levels deep")
    if isinstance(data, str):
        if "\0" in data:
            raise BadInput(where, "holds a NUL character; take it out")
        try:
            return len(data.encode())
        except UnicodeEncodeError:
            raise BadInput(where, "holds half a surrogate pair, which is no text") from None
    if isinstance(data, dict):
        depth += 1
        return sum(
            _check(k, where, depth) + _check(v, _join(where, str(k)), depth)
            for k, v in data.items()
        )
    if isinstance(data, list | tuple):
        return sum(_check(v, f"{where}[{n}]", depth + 1) for n, v in enumerate(data))
    return 0


def lenient(data: dict[str, Any], kind: type[S]) -> S:
    """A struct from `data` in which every field that does not fit takes its default."""
    fitting = {}
    for field in msgspec.structs.fields(kind):
        if field.encode_name in data:
            try:
                fitting[field.name] = msgspec.convert(data[field.encode_name], field.type)
            except msgspec.ValidationError:
                continue
    return kind(**fitting)
