"""The order in which drafts can be taken in, and which of them can't be.

A draft comes after its parent and, if it is still to run, after all it depends on. Refused are
those on a ring, those that depend on what is missing or refused, and the children of refused ones.
What has ended runs no more, so what it depended on can't stop it.
"""

from __future__ import annotations

import heapq
from collections import defaultdict, deque
from collections.abc import Container, Iterator, Mapping

from loop.store.imports import Draft

_SHOWN_IN_RING = 12


def in_order(
    drafts: Mapping[str, Draft], known: Container[str], listed: Container[str]
) -> tuple[list[Draft], dict[str, str]]:
    """The drafts that can be taken in, in order, and for the others why not, by old id.

    `drafts` by old id, in the order of the list; `known` holds the old ids imported before,
    `listed` all that the list has.
    """
    refused = _on_parent_rings(drafts)
    left = {old: draft for old, draft in drafts.items() if old not in refused}
    refused |= _on_rings(left)
    order: list[Draft] = []
    there = {old: draft for old, draft in left.items() if old not in refused}
    done: set[str] = set()
    for old in _parents_and_dependencies_first(there):
        why = _missing(there[old], done, known, listed)
        if why:
            refused[old] = why
        else:
            done.add(old)
            order.append(there[old])
    for old in there.keys() - done - refused.keys():
        refused[old] = "it can't be put into an order: its parent waits for it"
    return order, refused


def _missing(
    draft: Draft, done: Container[str], known: Container[str], listed: Container[str]
) -> str | None:
    def there(old: str) -> bool:
        return old in done or old in known

    parent = draft.parent
    if parent is not None and parent in listed and not there(parent):
        return f"its parent {parent} was not imported"
    if draft.state != "queued":
        return None
    for old in draft.depends_on:
        if not there(old):
            what = "was not imported" if old in listed else "is not in the list"
            return f"it depends on {old}, which {what}"
    return None


def _on_parent_rings(drafts: Mapping[str, Draft]) -> dict[str, str]:
    refused: dict[str, str] = {}
    sound: set[str] = set()
    for first in drafts:
        chain: dict[str, None] = {}
        old: str | None = first
        while old is not None and old in drafts and old not in sound and old not in chain:
            chain[old] = None
            old = drafts[old].parent
        if old is not None and old in chain:
            walk = list(chain)
            ring = walk[walk.index(old) :]
            words = f"its parents form a ring: {_shown([*ring, ring[0]])}"
            refused |= dict.fromkeys(ring, words)
        sound |= chain.keys()
    return refused


def _on_rings(drafts: Mapping[str, Draft]) -> dict[str, str]:
    refused: dict[str, str] = {}
    edges = _waits_for(drafts)
    for members in _components(edges):
        ring = _ring(members, edges)
        if ring:
            words = f"it waits for itself: {_shown(ring)}"
            refused |= {old: words for old in members if old in drafts}
    return refused


def _waits_for(drafts: Mapping[str, Draft]) -> dict[str, list[str]]:
    """What each draft waits for: what it and all above it depend on, and its children.

    A node of its own, the old id behind a NUL, stands for what a draft and those above depend on.
    """
    edges: dict[str, list[str]] = {}
    for old, draft in drafts.items():
        waits = draft.state == "queued"
        edges[old] = [f"\0{old}"] if waits else []
        edges[f"\0{old}"] = [d for d in draft.depends_on if d in drafts] if waits else []
    for old, draft in drafts.items():
        if draft.parent is not None and draft.parent in drafts:
            edges[f"\0{old}"].append(f"\0{draft.parent}")
            if drafts[draft.parent].state == "queued":
                edges[draft.parent].append(old)
    return edges


def _components(edges: Mapping[str, list[str]]) -> Iterator[set[str]]:
    """Sets of nodes that can reach one another (Tarjan's algorithm, without recursion)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    open_nodes: dict[str, None] = {}
    for root in edges:
        work = [] if root in index else [(root, iter(edges[root]))]
        while work:
            node, following = work[-1]
            if node not in index:
                index[node] = low[node] = len(index)
                open_nodes[node] = None
            for other in following:
                if other not in index:
                    work.append((other, iter(edges[other])))
                    break
                if other in open_nodes:
                    low[node] = min(low[node], index[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    yield _closed(open_nodes, node)


def _closed(open_nodes: dict[str, None], node: str) -> set[str]:
    members = set()
    while node not in members:
        members.add(open_nodes.popitem()[0])
    return members


def _ring(members: set[str], edges: Mapping[str, list[str]]) -> list[str]:
    """A shortest way from a member back to itself; empty when there is none."""
    start = min(old for old in members if not old.startswith("\0")) if len(members) > 1 else None
    if start is None:
        return []
    came_from: dict[str, str] = {}
    nodes = deque([start])
    while start not in came_from:
        node = nodes.popleft()
        for other in edges[node]:
            if other in members and other not in came_from:
                came_from[other] = node
                nodes.append(other)
    way = [start]
    node = came_from[start]
    while node != start:
        way.append(node)
        node = came_from[node]
    return [old for old in [start, *way[:0:-1], start] if not old.startswith("\0")]


def _shown(ring: list[str]) -> str:
    if len(ring) > _SHOWN_IN_RING:
        ring = [*ring[: _SHOWN_IN_RING - 2], f"{len(ring) - _SHOWN_IN_RING} more", *ring[-2:]]
    return " → ".join(ring)


def _parents_and_dependencies_first(drafts: Mapping[str, Draft]) -> Iterator[str]:
    """The drafts in the order of the list, but each after what it needs; rings are left out."""
    places = {old: place for place, old in enumerate(drafts)}
    names = list(drafts)
    needed_by: defaultdict[str, list[str]] = defaultdict(list)
    open_needs: dict[str, int] = {}
    for old, draft in drafts.items():
        needs = {*(draft.depends_on if draft.state == "queued" else ()), draft.parent}
        there = [other for other in needs if other is not None and other in drafts]
        open_needs[old] = len(there)
        for other in there:
            needed_by[other].append(old)
    ready = [places[old] for old, count in open_needs.items() if not count]
    heapq.heapify(ready)
    while ready:
        old = names[heapq.heappop(ready)]
        yield old
        for other in needed_by[old]:
            open_needs[other] -= 1
            if not open_needs[other]:
                heapq.heappush(ready, places[other])
