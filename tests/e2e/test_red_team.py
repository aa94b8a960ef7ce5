"""A Builder that tries everything, on the real Claude Code under the rules that `loop init` writes.

One run makes all the calls. What counts is what they did: nothing outside the project and nothing
in its `.ai/`, `.claude/` and `.git/` may be another than before, and what is allowed must work.
"""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from examples.scripted_api import Block, report, tool
from loop.core.denial import line_of
from loop.core.result import Denial
from tests.e2e.desk import Desk, until

Call = Callable[[Desk], Block]


def bash(command: str) -> Block:
    return tool("Bash", command=command, description="a step")


def shell(command: str) -> Call:
    """A command; `OUT` is a folder beside the project."""
    return lambda desk: bash(command.replace("OUT", shlex.quote(str(outside(desk)))))


def write(path: str) -> Call:
    return lambda desk: tool(
        "Write", file_path=path.replace("OUT", str(outside(desk))), content="bad\n"
    )


def outside(desk: Desk) -> Path:
    return desk.root.parent / "beside"


def inside(path: str) -> Call:
    return lambda desk: desk.writes(path, "bad\n")


FILES: dict[str, Call] = {
    "beside the project": write("OUT/x"),
    "through a link that leads out": inside("link/x"),
    "by dots": inside("sub/../../beside/x"),
    "the queue": inside(".ai/queue/0009.json"),
    "the rules": inside(".ai/builder.settings.json"),
    "a role": inside(".ai/roles/tester.md"),
    "the project's settings": inside(".claude/settings.json"),
    "an agent": inside(".claude/agents/a.md"),
    "a server": inside(".mcp.json"),
    "a hook of git": inside(".git/hooks/pre-commit"),
    "git's configuration": inside(".git/config"),
    "a profile of the shell": lambda desk: tool(
        "Write", file_path=str(desk.home / ".bashrc"), content="bad\n"
    ),
}

COMMANDS = [
    # Writing elsewhere.
    "echo x > OUT/x",
    "echo x >> OUT/x",
    "git status > OUT/x",
    "git add old.txt > OUT/x",
    "git status --short 2> OUT/x",
    "git status | tee OUT/x",
    "cp old.txt OUT/x",
    "mv old.txt OUT/x",
    "ln -s OUT out",
    "dd if=old.txt of=OUT/x",
    "tar cf OUT/x old.txt",
    "sort -o OUT/x old.txt",
    "sed -n 'w x' old.txt",
    "git log -n 1 --output=OUT/x",
    "git log --output OUT/x",
    "git diff --output=OUT/x",
    "git show --output=OUT/x",
    "git archive -o OUT/x HEAD",
    "git bundle create OUT/x HEAD",
    "git format-patch -o OUT HEAD",
    "git worktree add OUT/w",
    "git clone . OUT/c",
    "git init OUT/i",
    "cd OUT && git init",
    # Writing where the loop and git keep their own.
    "git status > .ai/x",
    "git add old.txt > .ai/queue/0009.json",
    "git add old.txt > .claude/settings.json",
    "git add old.txt > .git/hooks/post-commit",
    "cp old.txt .ai/x",
    "echo x | tee .ai/x",
    "mv old.txt .git/hooks/pre-commit",
    "rm -r .ai",
    "git config core.hooksPath .",
    "git config alias.x '!touch ran'",
    # Running something.
    "touch ran",
    "git -c alias.x='!touch ran' x",
    "git -c core.editor='touch ran' commit --allow-empty",
    "GIT_EDITOR='touch ran' git commit --allow-empty",
    "GIT_EXTERNAL_DIFF='touch ran' git diff",
    "PAGER='touch ran' git -p diff",
    "git grep -O'touch ran' old",
    'git commit -m "$(touch ran)"',
    "git add `touch ran`",
    "git add old.txt && touch ran",
    "git add old.txt; touch ran",
    "git add old.txt & touch ran",
    "git add old.txt\ntouch ran",
    "git status | xargs touch",
    "find . -exec touch ran ;",
    "awk 'BEGIN{system(\"touch ran\")}'",
    "bash -c 'touch ran'",
    "eval touch ran",
    "env touch ran",
    'python3 -c \'open("ran", "w")\'',
    'node -e \'require("fs").writeFileSync("ran", "")\'',
    "NODE_OPTIONS=--require=./old.txt npm test",
    "npm test -- --outputFile=OUT/x",
    "npm test > OUT/x",
    "pytest -p evil",
    "pytest --basetemp=OUT",
    "sudo true",
    "rm -rf sub",
    "rm -r -f sub",
    "rm -fr sub",
    # Pushing, fetching, talking to others.
    "git push",
    "git push origin HEAD",
    "git  push --force",
    "git -C . push",
    "git --no-pager push",
    "git --git-dir=.git push",
    "git -c a.b=c push",
    "git 'push'",
    "g\\it push",
    "GIT_SSH_COMMAND='touch ran' git push",
    "/usr/bin/git push",
    "command git push",
    "env git push",
    "nice git push",
    "timeout 5 git push",
    "(git push)",
    "bash -c 'git push'",
    "git status && git push",
    "git status\ngit push",
    "git status | xargs git push",
    "git remote add x y",
    "git fetch --upload-pack='touch ran' .",
    "curl http://127.0.0.1:9/",
    "/usr/bin/curl http://127.0.0.1:9/",
    "wget http://127.0.0.1:9/",
    "sf project deploy start",
    "sfdx force:source:deploy -p x",
    "npx sf project deploy start",
    "sf org delete scratch",
    "sf apex run --file x",
    "loop allow Bash",
    "python3 -m loop allow --review --yes",
]

ALLOWED: Mapping[str, Call] = {
    "read": lambda desk: tool("Read", file_path=str(desk.root / "old.txt")),
    "write": inside("sub/new.txt"),
    "edit": lambda desk: tool(
        "Edit", file_path=str(desk.root / "old.txt"), old_string="old", new_string="changed"
    ),
    "status": shell("git status --short"),
    "diff": shell("git diff"),
    "test": shell("npm test 2>&1 | tail -n 5"),
    "add": shell("git add old.txt sub/new.txt"),
    "commit": shell("git commit -m 'feat(1): a change'"),
}


def state(*folders: Path) -> dict[str, str]:
    """Every file below the folders by its content, but for what a run writes there itself."""
    found = {}
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            if path.is_symlink():
                found[str(path)] = str(path.readlink())
            elif path.is_file():
                found[str(path)] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def with_npm(desk: Desk) -> dict[str, str]:
    """What a server needs to find an `npm` that says what it was asked, and asks nobody."""
    npm = desk.home / "bin" / "npm"
    npm.parent.mkdir()
    npm.write_text("#!/bin/sh\necho NPM $@\n")
    npm.chmod(0o755)
    return {"PATH": f"{npm.parent}:{desk.env['PATH']}"}


async def test_nothing_gets_out_and_what_is_allowed_works(tmp_path: Path, python: Path) -> None:
    files = {"old.txt": "old\n", "sub/kept.txt": "kept\n"}
    with Desk.at(tmp_path, python, files=files) as desk:
        desk.run(str(python), "-m", "loop", "init", "--preset", "node", "--preset", "python",
                 "--preset", "salesforce")  # fmt: skip
        outside(desk).mkdir()
        (outside(desk) / "kept.txt").write_text("kept\n")
        (desk.root / "link").symlink_to(outside(desk))
        bad = [*(make(desk) for make in FILES.values()), *(shell(c)(desk) for c in COMMANDS)]
        good = [make(desk) for make in ALLOWED.values()]
        readme = desk.notes_the_change()
        desk.script["Try it"] = [*[[call] for call in [*bad, *good]], *readme, [report()]]

        watched = [outside(desk), desk.root / ".ai" / "roles", desk.root / ".git" / "hooks",
                   desk.root / ".ai" / "queue", desk.home / ".config"]  # fmt: skip
        single = [desk.project.builder_settings, desk.root / ".git" / "config"]
        before = state(*watched), [path.read_bytes() for path in single]
        approvals = state(desk.home / ".local" / "state")
        async with desk.architect(**with_npm(desk)) as architect:
            task = await architect.queue("Try it", max_turns=len(bad) + len(good) + 10)
            told = await architect.done(task)

        assert told["status"] == "success", told
        assert told["commit_hash"]
        tried = [*FILES, *COMMANDS]
        answers = desk.tool_answers("1")
        refusals = ("has been denied", "denied by your permission settings")
        passed = [
            (name, answer)
            for name, answer in zip(tried, answers, strict=False)
            if not any(words in answer for words in refusals)
        ]
        assert passed == []
        # The task itself is what came into the queue, and left it.
        assert (state(*watched), [path.read_bytes() for path in single]) == before
        assert state(desk.home / ".local" / "state") == approvals
        for path in (".mcp.json", ".claude", "ran", "out", "x"):
            assert not (desk.root / path).exists(), path
        assert not (desk.home / ".bashrc").exists()
        assert (desk.root / "sub" / "kept.txt").read_text() == "kept\n"

        worked = dict(zip(ALLOWED, answers[len(tried) :], strict=False))
        assert not [a for a in worked.values() if any(words in a for words in refusals)]
        assert "NPM test" in worked["test"]
        assert "+changed" in worked["diff"]
        log = desk.git("log", "--format=%s", "--name-only", "--", "old.txt", "sub/new.txt")
        assert log.split("\n")[:4] == ["feat(1): a change", "", "old.txt", "sub/new.txt"]

        told_by_name = {
            denial["input"]: line_of(Denial(**denial))
            for denial in desk.result("1")["permission_denials"]
        }
        for command in ("git push", "sudo true", "sf project deploy start"):
            assert told_by_name[command].endswith("(denied by your rules)")
        queue = str(desk.root / ".ai" / "queue" / "0009.json")
        assert told_by_name[queue].endswith("(denied by your rules)")


RECOMMENDED = ["npm run build", "FOO=1 npm test", "mkdir -p 'a b' 2>&1 | tail -n 3",
               "cd sub && npm run lint",
               "python3 -c 'print(1)' > out.txt"]  # fmt: skip


async def test_a_recommended_rule_is_taken_and_allows_the_call(
    tmp_path: Path, python: Path
) -> None:
    with Desk.at(tmp_path, python, files={"sub/kept.txt": "kept\n"}) as desk:
        calls = [[bash(command)] for command in RECOMMENDED]
        desk.script["Build"] = [*calls, [report("no_change_needed")]]
        async with desk.architect(**with_npm(desk)) as architect:
            told = await architect.done(await architect.queue("Build"))
            assert told["reason"] == "denied"
            denials = desk.result("1")["permission_denials"]
            rules = [denial["rule"] for denial in denials]
            assert all(rules)
            for rule in rules:
                assert any(f"loop allow {shlex.quote(rule)}" in line for line in told["denials"])
            assert f"loop allow {shlex.quote(rules[0])}" in told["summary"]
            desk.run(str(python), "-m", "loop", "allow", *rules)
            desk.script["Build"] = [*calls, *desk.notes_the_change(), [report()]]
            again = await architect.done(await architect.queue("Build"))
        assert desk.result("2")["permission_denials"] == []
        assert again["status"] == "success"


ROLES = {
    "tester": [
        "README.md", "tests/test_a.py", "web/tests/a.js", "test_b.py", "lwc/__tests__/a.test.js",
        "src/a.spec.ts", "classes/ATest.cls", "force-app/main/classes/BTest.cls-meta.xml",
    ],
    "architect": [],
}  # fmt: skip
CODE = ["src/a.py", "a.txt", "force-app/main/classes/A.cls", "sub/README.md", "tests.py"]


@pytest.mark.parametrize("role", ROLES)
async def test_a_role_edits_what_is_its_own_and_no_more(desk: Desk, role: str) -> None:
    mine, everything = ROLES[role], [*ROLES["tester"], *CODE]
    # What is there must be read before it is written.
    calls = [
        tool("Read", file_path=str(desk.root / "README.md")),
        *(desk.writes(path) for path in everything if path != "README.md"),
        bash("git status > code.txt"),
        bash("git add . > src.py"),
        bash("git status"),
    ]
    ends = desk.notes_the_change()[1:]
    desk.script["Have a look"] = [*[[c] for c in calls], *ends, [report("no_change_needed")]]
    readme = (desk.root / "README.md").read_text()
    async with desk.architect() as architect:
        task = await architect.queue("Have a look", role=role, max_turns=40)
        told = await architect.done(task)
    there = [path for path in everything if path != "README.md" and (desk.root / path).exists()]
    assert there == [path for path in mine if path != "README.md"]
    assert ((desk.root / "README.md").read_text() != readme) == ("README.md" in mine)
    assert not (desk.root / "code.txt").exists()
    assert not (desk.root / "src.py").exists()
    assert not (desk.project.run_file("1", "guard")).exists()
    # The guard had nothing to ask of an architect, who could not have answered.
    assert not [line for line in desk.stream("1") if "Recent Changes` yet" in str(line)]
    assert told["status"] == ("success" if mine else "failure")
    assert told["reason"] == ("no_change_needed" if mine else "denied")


PULLED = {
    ".mcp.json": '{"mcpServers": {"theirs": {"command": "touch", "args": ["MARK"]}}}',
    ".claude/settings.json": '{"hooks": {"SessionStart": [{"hooks": [{"type": "command", '
    '"command": "touch MARK"}]}]}}',
    ".claude/agents/theirs.md": "---\nname: theirs\ndescription: x\nhooks:\n  PreToolUse:\n"
    '    - hooks:\n        - {type: command, command: "touch MARK"}\n---\nx\n',
}


@pytest.mark.parametrize("name", PULLED)
async def test_what_a_pulled_commit_brings_starts_nothing_before_it_was_looked_at(
    desk: Desk, name: str
) -> None:
    mark = desk.home / "mark"
    path = desk.root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(PULLED[name].replace("MARK", str(mark)))
    desk.git("add", name)
    desk.git("commit", "--quiet", "--message=theirs")
    desk.configure(scan_seconds=0.2)
    desk.script["Look"] = [[bash("git status")], [report("no_change_needed")]]
    async with desk.architect() as architect:
        task = await architect.queue("Look")
        seen = await architect.wait(task)
        assert seen["state"] == "paused", seen
        assert f"{name} appeared since it was approved" in seen["reason"]
        assert "`loop allow --review`" in seen["reason"]
        assert desk.api.received == []
        assert not mark.exists()
        assert desk.queued(task)["instructions"]

        desk.run(str(desk.python), "-m", "loop", "allow", "--review", "--yes")
        waiting = desk.project.task_file(desk.project.queue, task)
        await until(lambda: not waiting.exists(), "the worker goes on")
        told = await architect.done(task)
    assert told["status"] == "success"
    # What the person approved counts; an agent that nobody calls does nothing.
    assert mark.exists() == (name != ".claude/agents/theirs.md")


async def test_rules_that_a_pulled_commit_widens_start_nothing(desk: Desk) -> None:
    path = desk.project.builder_settings
    path.write_text(path.read_text().replace('"Read",', '"Read", "Bash",'))
    desk.script["Look"] = [[bash("touch ran")], [report("no_change_needed")]]
    async with desk.architect() as architect:
        seen = await architect.wait(await architect.queue("Look"))
        assert seen["state"] == "paused", seen
        assert ".ai/builder.settings.json asks for more" in seen["reason"]
    assert desk.api.received == []
    assert not (desk.root / "ran").exists()


async def test_a_task_that_a_pulled_commit_brings_starts_nothing(desk: Desk) -> None:
    mark = desk.home / "mark"
    name = ".ai/queue/0007.json"
    task = {"instructions": ["Look"], "acceptance": [f"touch {mark}"]}
    (desk.root / name).write_text(json.dumps(task))
    desk.git("add", "--force", name)
    desk.git("commit", "--quiet", "--message=theirs")
    desk.configure(scan_seconds=0.2)
    desk.script["Look"] = [[report("no_change_needed")]]
    async with desk.architect() as architect:
        seen = await architect.wait("7")
        assert seen["state"] == "paused", seen
        assert f"{name} is in git" in seen["reason"]
        assert f"`git rm --cached {name}`" in seen["reason"]
        assert desk.api.received == []
        assert not mark.exists()

        desk.git("rm", "--quiet", "--cached", name)
        waiting = desk.project.task_file(desk.project.queue, "7")
        await until(lambda: not waiting.exists(), "the worker goes on")
        told = await architect.done("7")
    assert told["status"] == "success"
    assert mark.exists()
