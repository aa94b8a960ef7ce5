"""The JSON Schemas of the tools, as small as they can be, and the decoding by them."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from loop.actions.plan_check import named_by_ref
from loop.core.checks import clean_text, convert
from loop.errors import BadInput
from loop.service.tools.tool import Tool


def arguments_of(tool: Tool, given: dict[str, Any]) -> Struct:
    """The arguments of a call.

    Raises:
        BadInput: names the argument and says what is allowed.
    """
    clean_text(given)
    try:
        return convert(given, tool.arguments, strict=False)
    except BadInput as error:
        raise named_by_ref(error, given.get("tasks")) from None


def input_schema(tool: Tool) -> dict[str, Any]:
    """The JSON Schema of a tool's arguments, without references, titles and nulls."""
    _, components = msgspec.json.schema_components([tool.arguments])
    return _object(components[tool.arguments.__name__], components)


def _object(schema: dict[str, Any], components: dict[str, Any]) -> dict[str, Any]:
    properties = {name: _slim(value, components) for name, value in schema["properties"].items()}
    slim: dict[str, Any] = {"type": "object", "properties": properties}
    if schema.get("required"):
        slim["required"] = schema["required"]
    return slim | {"additionalProperties": False}


def _slim(schema: dict[str, Any], components: dict[str, Any]) -> dict[str, Any]:
    if "$ref" in schema:
        return _object(components[schema["$ref"].rpartition("/")[2]], components)
    options = [o for o in schema.get("anyOf", []) if o != {"type": "null"}]
    if len(options) == 1:
        return _slim(options[0], components)
    if options:
        return {"anyOf": [_slim(option, components) for option in options]}
    slim = {k: v for k, v in schema.items() if k in ("type", "enum", "items")}
    return slim | ({"items": _slim(slim["items"], components)} if "items" in slim else {})


def output_schema(tool: Tool) -> dict[str, Any]:
    """The JSON Schema of a tool's answer: what is always there; more may come."""
    names = tool.answer | {"project": "string", "root": "string"}
    properties = {name: {"type": kind} for name, kind in names.items()}
    return {"type": "object", "properties": properties, "required": list(names)}
