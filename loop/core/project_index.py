"""The project index: what a project is made of, on one page, for a run that knows nothing of it.

Owns: what is told of a list of paths, and its bounds. Does not own: where the list comes from.
The same paths give the same page, but for its time.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final

#: What tools make; it says nothing about the project.
BUILD_FOLDERS: Final = frozenset(
    {
        ".ai", ".autonomy", ".cache", ".git", ".gradle", ".hg", ".hypothesis", ".mypy_cache",
        ".next", ".nuxt", ".nyc_output", ".parcel-cache", ".pytest_cache", ".ruff_cache", ".sf",
        ".sfdx", ".svelte-kit", ".svn", ".terraform", ".tox", ".turbo", ".venv", "__pycache__",
        "bower_components", "build", "coverage", "dist", "node_modules", "out", "target", "venv",
    }
)  # fmt: skip
#: Marker files and what they say; a name that begins with `*` is an ending.
STACK: Final = {
    "sfdx-project.json": "Salesforce DX",
    "package.json": "Node.js",
    "tsconfig.json": "TypeScript",
    "deno.json": "Deno",
    "angular.json": "Angular",
    "next.config.js": "Next.js",
    "vite.config.ts": "Vite",
    "vite.config.js": "Vite",
    "pyproject.toml": "Python",
    "setup.py": "Python",
    "requirements.txt": "Python",
    "manage.py": "Django",
    "Cargo.toml": "Rust",
    "go.mod": "Go",
    "pom.xml": "Java (Maven)",
    "build.gradle": "Gradle",
    "build.gradle.kts": "Gradle",
    "Gemfile": "Ruby",
    "composer.json": "PHP",
    "mix.exs": "Elixir",
    "pubspec.yaml": "Dart or Flutter",
    "Package.swift": "Swift",
    "CMakeLists.txt": "C or C++ (CMake)",
    "*.sln": ".NET",
    "*.csproj": ".NET",
    "Dockerfile": "Docker",
    "docker-compose.yml": "Docker Compose",
    "compose.yaml": "Docker Compose",
    "main.tf": "Terraform",
    "Makefile": "make",
}
_ENTRY_NAMES = frozenset(
    f"{stem}.{ending}"
    for stem in ("main", "index", "app", "server", "cli")
    for ending in ("py", "js", "mjs", "ts", "tsx", "jsx", "go", "rs", "rb", "php", "c", "cpp",
                   "java", "kt", "swift", "dart", "html")
) | {"__main__.py", "manage.py", "wsgi.py", "asgi.py", "Program.cs", "Main.java", "App.tsx",
     "Makefile", "justfile", "Taskfile.yml"}  # fmt: skip
#: Of git's name of a tree: enough to know it again.
_TREE_CHARACTERS = 12
_DEPTH = 3
_TYPES = 15
_MOST_FOLDERS = 200
_MOST_FOLDERS_IN_ONE = 25
_MOST_FILES_AT_TOP = 40
_MOST_ENTRIES = 20
_NAME_CHARACTERS = 60
_PATH_CHARACTERS = 160


def project_index(
    name: str, paths: Iterable[str], now: datetime, *, whole: bool = True, tree: str | None = None
) -> str:
    """The page about a project whose files are at `paths`, relative and with slashes.

    `whole`: the paths are all that there are. `tree`: git's name of the files as they are; None
    when it is not known.
    """
    kept = sorted(path for path in set(paths) if not is_built(path))
    count = f"{len(kept)} files" + ("" if whole else " or more; the list was cut")
    count += f" (tree {tree[:_TREE_CHARACTERS]})" if tree else ""
    parts = [
        [f"# Project index: {_shown(name)}", "", f"Made {now:%Y-%m-%dT%H:%M:%SZ}, {count}."],
        ["## Stack", "", *(_stack(kept) or ["nothing known"])],
        ["## Entry points", "", *(_entry_points(kept) or ["none found by name"])],
        ["## File types", "", *(_types(kept) or ["no files"])],
        ["## Folders", "", *_tree(kept)],
    ]
    return "\n\n".join("\n".join(lines) for lines in parts) + "\n"


def is_of_tree(page: str, tree: str) -> bool:
    """Whether a page says that it was made of these files."""
    made = f" (tree {tree[:_TREE_CHARACTERS]})."
    return any(line.startswith("Made ") and line.endswith(made) for line in page.splitlines())


def is_built(path: str) -> bool:
    """Whether a file lies in a folder that tools make."""
    return not BUILD_FOLDERS.isdisjoint(path.split("/")[:-1])


def _shown(text: str, most: int = _NAME_CHARACTERS) -> str:
    plain = "".join(c if c.isprintable() and c != "`" else "?" for c in text)
    return plain if len(plain) <= most else plain[: most - 1] + "…"


def _shallow(paths: Iterable[str], depth: int) -> list[str]:
    """Paths with at most `depth` folders before the name, the nearest first."""
    near = [path for path in paths if path.count("/") <= depth]
    return sorted(near, key=lambda path: (path.count("/"), path))


def _stack(paths: Sequence[str]) -> list[str]:
    found: dict[str, str] = {}
    for path in _shallow(paths, 2):
        file = path.rpartition("/")[2]
        ending = f"*.{file.rpartition('.')[2]}"
        what = STACK.get(file) or STACK.get(ending)
        if what is not None:
            found.setdefault(what, path)
    return [f"- {what} (`{_shown(path, _PATH_CHARACTERS)}`)" for what, path in found.items()]


def _entry_points(paths: Sequence[str]) -> list[str]:
    found = [p for p in _shallow(paths, 3) if p.rpartition("/")[2] in _ENTRY_NAMES]
    lines = [f"- `{_shown(path, _PATH_CHARACTERS)}`" for path in found[:_MOST_ENTRIES]]
    return lines + _more(len(found) - _MOST_ENTRIES, "- ")


def _types(paths: Sequence[str]) -> list[str]:
    counts = Counter(_type(path.rpartition("/")[2]) for path in paths)
    ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    lines = [f"- {_shown(kind)}: {count}" for kind, count in ordered[:_TYPES]]
    return lines + _more(len(ordered) - _TYPES, "- ", "types")


def _type(file: str) -> str:
    stem, dot, ending = file.rpartition(".")
    return f".{ending.lower()}" if dot and stem else "(no ending)"


def _more(count: int, indent: str, what: str = "") -> list[str]:
    return [f"{indent}and {count} more {what}".rstrip()] if count > 0 else []


def _tree(paths: Sequence[str]) -> list[str]:
    """Folders to depth 3 with how many files are in and below them, and the files at the top."""
    counts: Counter[str] = Counter()
    for path in paths:
        folders = path.split("/")[:-1]
        for depth in range(1, min(len(folders), _DEPTH) + 1):
            counts["/".join(folders[:depth])] += 1
    below: defaultdict[str, list[str]] = defaultdict(list)
    for folder in sorted(counts):
        below[folder.rpartition("/")[0]].append(folder)
    lines: list[str] = []
    waiting: list[tuple[str, int | None]] = _children(below, "")
    while waiting and len(lines) < _MOST_FOLDERS:
        folder, left_out = waiting.pop()
        indent = "  " * folder.count("/")
        if left_out is not None:
            lines += _more(left_out, f"{indent}- ", "folders")
            continue
        lines.append(f"{indent}- {_shown(folder.rpartition('/')[2])}/ ({counts[folder]})")
        waiting += _children(below, folder)
    lines += _more(sum(left is None for _, left in waiting), "- ", "folders")
    top = [path for path in paths if "/" not in path]
    lines += [f"- {_shown(path)}" for path in top[:_MOST_FILES_AT_TOP]]
    return lines + _more(len(top) - _MOST_FILES_AT_TOP, "- ", "files")


def _children(below: dict[str, list[str]], folder: str) -> list[tuple[str, int | None]]:
    """The folders in one, last first, with a note in the place of those that are too many."""
    folders = below.get(folder, [])
    shown: list[tuple[str, int | None]] = [(f, None) for f in folders[:_MOST_FOLDERS_IN_ONE]]
    if len(folders) > _MOST_FOLDERS_IN_ONE:
        prefix = f"{folder}/" if folder else ""
        shown.append((f"{prefix}…", len(folders) - _MOST_FOLDERS_IN_ONE))
    return shown[::-1]
