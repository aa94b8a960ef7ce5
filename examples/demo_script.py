"""What the scripted model says in the demo: three tasks on the Salesforce project.

Each step waits a moment before it answers, so that a person can follow.
"""

from __future__ import annotations

from pathlib import Path

from examples.scripted_api import Hang, Step, Steps, hang, reply, report, text, tool

_THINKS_S = 0.45
_TOKENS = {"input_tokens": 9000, "output_tokens": 600}
_LWC = "force-app/main/default/lwc/profileHeader"
_CLASSES = "force-app/main/default/classes"


def demo_script(root: Path, today: str) -> dict[str, Steps]:
    """The script by needle: words that stand in the prompt of the task meant."""
    return {
        "Keep the list of missing fields": [_slowly(step) for step in _colour(root, today)],
        "last four digits for everybody": [_slowly(step) for step in _mask(root, today)],
        "Mask the phone number": [_slowly(step) for step in _ask(root)],
        "Rename every field": [_slowly(step) for step in _rename(root)],
    }


def _slowly(step: Step) -> Hang:
    assert isinstance(step, list)
    return hang(_THINKS_S, then=reply(*step, usage=_TOKENS))


def _colour(root: Path, today: str) -> list[Step]:
    html = f"{root}/{_LWC}/profileHeader.html"
    old = '<p class="percent">{percentLabel}</p>'
    new = '<p class="percent slds-text-heading_small">{percentLabel}</p>'
    entry = (
        "The completion of a profile now stands out at the top of the card, so that one sees "
        "at a glance who still needs attention."
    )
    return [
        [text("I look at the card first."), tool("Read", file_path=html)],
        [tool("Edit", file_path=html, old_string=old, new_string=new)],
        [report(summary="The percentage is set as a heading.", files_changed=[html])],
        [
            text("Right, the README needs its entry."),
            tool("Read", file_path=f"{root}/README.md"),
        ],
        [_readme(root, f"- {today}: {entry}\n")],
        [
            tool(
                "Bash",
                command=f"git add {_LWC} README.md && "
                'git commit -m "feat(1): make the completion stand out"',
            )
        ],
        [
            report(
                summary="The percentage on the profile card is a heading now; the list of missing "
                "fields is as it was. The README has its entry, and all is committed.",
                files_changed=[f"{_LWC}/profileHeader.html", "README.md"],
                verification="Read the component again; no org was needed.",
            )
        ],
    ]


def _readme(root: Path, entry: str) -> dict[str, object]:
    head = "## Recent Changes\n\n"
    return tool("Edit", file_path=f"{root}/README.md", old_string=head, new_string=f"{head}{entry}")


def _ask(root: Path) -> list[Step]:
    return [
        [text("Where is the phone number shown?"), tool("Grep", pattern="Phone", path=str(root))],
        [
            report(
                "needs_input",
                summary="I stopped before changing anything.",
                question="Who may still see the whole number? It decides where the mask belongs.",
                options=[
                    "everybody sees the last four digits",
                    "managers see all of it, by a custom permission",
                ],
            )
        ],
    ]


def _mask(root: Path, today: str) -> list[Step]:
    service = f"{root}/{_CLASSES}/ProfileCompletionService.cls"
    return [
        [text("Then the mask can be simple."), tool("Read", file_path=service)],
        [
            tool(
                "Edit",
                file_path=service,
                old_string="    @TestVisible\n    private static Completion calculate",
                new_string="    /** The last four digits; what came before them is hidden. */\n"
                "    @TestVisible\n"
                "    private static String masked(String phone) {\n"
                "        return phone == null ? null : '••• ' + phone.right(4);\n"
                "    }\n\n"
                "    @TestVisible\n    private static Completion calculate",
            ),
            tool("Read", file_path=f"{root}/README.md"),
        ],
        [_readme(root, f"- {today}: Phone numbers are shown by their last four digits only.\n")],
        [
            report(
                summary="Added the mask for everybody, as answered.",
                files_changed=[f"{_CLASSES}/ProfileCompletionService.cls", "README.md"],
            )
        ],
    ]


def _rename(root: Path) -> list[Step]:
    folder = f"{root}/{_CLASSES}"
    return [
        [text("A large one; I begin with the class."), tool("Grep", pattern="Field", path=folder)],
        [tool("Read", file_path=f"{folder}/ProfileCompletionService.cls")],
        [tool("Read", file_path=f"{folder}/ProfileCompletionServiceTest.cls")],
        [tool("Glob", pattern="**/*.js", path=str(root))],
    ]
