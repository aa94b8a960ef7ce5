"""In which order the tasks of a plan will run, and the longest chain of them. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush


@dataclass(frozen=True, slots=True)
class Step:
    """A task of a plan, as far as its place among the others goes. Names are refs of the plan."""

    priority: int
    #: its id's parts, or what stands for them before it has one
    place: tuple[int, ...]
    needs: Sequence[str] = ()
    parent: str | None = None


def run_order(steps: Mapping[str, Step]) -> list[str]:
    """The refs in the order in which they will run one after another; parents are not run.

    What stands on tasks outside of the plan may come later. There must be no ring.
    """
    waits = waits_for(steps)
    left = {ref: len(needs) for ref, needs in waits.items()}
    after: dict[str, list[str]] = {ref: [] for ref in steps}
    for ref, needs in waits.items():
        for need in needs:
            after[need].append(ref)
    parents = {step.parent for step in steps.values()}

    def key(ref: str) -> tuple[bool, int, tuple[int, ...], str]:
        return ref not in parents, steps[ref].priority, steps[ref].place, ref

    ready = [key(ref) for ref, count in left.items() if not count]
    heapify(ready)
    order = []
    while ready:
        runs, _, _, ref = heappop(ready)
        order += [ref] if runs else []
        for later in after[ref]:
            left[later] -= 1
            if not left[later]:
                heappush(ready, key(later))
    return order


def longest_chain(steps: Mapping[str, Step]) -> list[str]:
    """The longest chain of tasks that must run one after another; parents are left out."""
    waits = waits_for(steps)
    parents = {step.parent for step in steps.values()}
    length: dict[str, int] = {}
    before: dict[str, str | None] = {}
    for ref in _needed_first(waits):
        best = max(waits[ref], key=lambda need: length[need], default=None)
        before[ref] = best
        length[ref] = (length[best] if best else 0) + (ref not in parents)
    last = max(length, key=lambda ref: length[ref], default=None)
    chain = []
    while last is not None:
        chain += [last] if last not in parents else []
        last = before[last]
    return chain[::-1]


def waits_for(steps: Mapping[str, Step]) -> dict[str, list[str]]:
    """What each task waits for: its needs, those of its parents, and its own subtasks."""
    waits: dict[str, dict[str, None]] = {ref: {} for ref in steps}
    for ref, step in steps.items():
        waits[ref] |= dict.fromkeys(step.needs)
        above = step.parent
        if above is not None:
            waits[above][ref] = None
        while above is not None:
            waits[ref] |= dict.fromkeys(steps[above].needs)
            above = steps[above].parent
    return {ref: list(needs) for ref, needs in waits.items()}


def _needed_first(waits: Mapping[str, Sequence[str]]) -> Iterator[str]:
    placed: set[str] = set()
    for start in waits:
        stack = [start]
        while stack:
            open_needs = [need for need in waits[stack[-1]] if need not in placed]
            if open_needs:
                stack.append(open_needs[0])
                continue
            ref = stack.pop()
            if ref not in placed:
                placed.add(ref)
                yield ref
