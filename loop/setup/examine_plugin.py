"""What `doctor` looks at of the Claude Code plugin."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from loop import __version__
from loop.setup import plugin, plugin_files
from loop.setup.finding import Finding, good, note, warning
from loop.setup.try_hook import try_hook
from loop.store.paths import Project

_INIT = "run `loop init --plugin`"


def installed(project: Project, env: Mapping[str, str], platform: str) -> Iterator[Finding]:
    """Whether the plugin is there, of this version, and its hooks work."""
    known = plugin.is_known(env, platform)
    version = plugin_files.version_on_disk()
    if version is None:
        if known:
            yield warning("Claude Code looks for our plugin, whose folder is gone", _INIT)
        else:
            yield note("the Claude Code plugin (/loop:run and more) is not installed", _INIT)
        return
    if not plugin.is_enabled(env, platform):
        yield warning("our plugin lies ready, but Claude Code does not load it", _INIT)
    elif version != __version__:
        yield warning(f"the Claude Code plugin is of version {version}, not {__version__}", _INIT)
    else:
        yield good(f"Claude Code plugin {version}, {plugin_files.plugin_home()}")
    hooks = plugin_files.hooks_on_disk()
    for event in ("Stop", "StopFailure", "SessionEnd"):
        hook = hooks.get(event)
        problem = try_hook(project.root, event, hook) if hook else "it is missing"
        if problem:
            yield warning(f"the plugin's {event} hook does not work: {problem}", _INIT)
        else:
            yield good(f"the plugin's {event} hook answers")
    if plugin.is_hidden(env, platform):
        yield warning(
            "the plugin's commands won't find `loop`: Claude Code can't put "
            f"{plugin_files.plugin_home()} on its PATH, for a character in it",
            "put `loop` on PATH, as `pipx install` does",
        )
