"""The MCP server: the tools over stdio. The only file that knows the protocol's library."""

from __future__ import annotations

from typing import Any

import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from loop import __version__
from loop.core.mask import masked, masked_data
from loop.errors import LoopError
from loop.service.tools.schemas import arguments_of, input_schema, output_schema
from loop.service.tools.text import as_text
from loop.service.tools.tool import Tool
from loop.service.tools.toolbox import Toolbox, instructions
from loop.store.crash import write_crash
from loop.store.files import cannot_use
from loop.store.paths import Project


def build(project: Project, toolbox: Toolbox, name: str, *, read_only: bool) -> Server[Any]:
    """The server of a project. `read_only` offers no tool that changes anything."""
    tools = {tool.name: tool for tool in toolbox.tools(read_only=read_only)}
    offered = types.ListToolsResult(tools=[_described(tool) for tool in tools.values()])

    async def list_tools(_ctx: Any, _params: Any) -> types.ListToolsResult:
        return offered

    async def call_tool(_ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        tool = tools.get(params.name)
        if tool is None:
            return _error(f"no tool {params.name}; there are: {', '.join(tools)}")
        try:
            data = await tool.run(arguments_of(tool, dict(params.arguments or {})))
        except LoopError as error:
            return _error(f"{masked(str(error))} [{project.name}, {project.root}]")
        except OSError as error:
            return _error(f"{cannot_use(error)} [{project.name}, {project.root}]")
        except Exception as error:
            return _error(f"unexpected {type(error).__name__}; details in {write_crash(error)}")
        data = masked_data(data)
        root = {"root": str(project.root)}  # its last part is the project's name
        text = as_text(data | root)
        data |= {"project": project.name} | root
        content: list[types.ContentBlock] = [types.TextContent(type="text", text=text)]
        return types.CallToolResult(content=content, structured_content=data)

    return Server(
        name,
        version=__version__,
        title=f"Builder of {project.name}",
        instructions=instructions(project, name),
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def _described(tool: Tool) -> types.Tool:
    return types.Tool(
        name=tool.name,
        description=tool.description,
        input_schema=input_schema(tool),
        output_schema=output_schema(tool),
        annotations=types.ToolAnnotations(
            read_only_hint=tool.read_only,
            destructive_hint=tool.destructive,
            idempotent_hint=tool.idempotent,
            open_world_hint=False,
        ),
    )


def _error(message: str) -> types.CallToolResult:
    content: list[types.ContentBlock] = [types.TextContent(type="text", text=message)]
    return types.CallToolResult(content=content, is_error=True)


async def serve_stdio(server: Server[Any]) -> None:
    """Serves until stdin ends."""
    async with stdio_server() as (read_stream, write_stream):
        await server.run(read_stream, write_stream, server.create_initialization_options())
