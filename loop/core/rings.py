"""Rings: tasks that would wait for each other for ever. Nothing recurses."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

#: Tasks of a ring that are printed.
_MOST_SHOWN = 20


def ring(starts: Iterable[str], needs: Callable[[str], Iterable[str]]) -> list[str] | None:
    """The first ring that is found from `starts`, such as `[42, 43, 42]`; None without one."""
    done: set[str] = set()
    for start in starts:
        if start not in done:
            found = _ring_from(start, needs, done)
            if found is not None:
                return found
    return None


def _ring_from(
    start: str, needs: Callable[[str], Iterable[str]], done: set[str]
) -> list[str] | None:
    path, on_path = [start], {start}
    stack: list[Iterator[str]] = [iter(needs(start))]
    while stack:
        need = next(stack[-1], None)
        if need is None:
            stack.pop()
            gone = path.pop()
            on_path.discard(gone)
            done.add(gone)
        elif need in on_path:
            return [*path[path.index(need) :], need]
        elif need not in done:
            stack.append(iter(needs(need)))
            path.append(need)
            on_path.add(need)
    return None


def shown(found: list[str]) -> str:
    """A ring for people: `42 → 43 → 42`; of a long one both ends."""
    if len(found) > _MOST_SHOWN:
        half = _MOST_SHOWN // 2
        found = [*found[:half], f"… {len(found) - 2 * half} more …", *found[-half:]]
    return " → ".join(found)


Edges = Mapping[str, Collection[str]]


def stands_on_itself(task_id: str, needs: Edges, users: Edges) -> bool:
    """Whether a task is on a ring; `users` are the edges of `needs` turned round.

    Searches from both ends, so it costs no more than twice what the smaller side has.
    """
    seen: tuple[set[str], set[str]] = (set(), set())
    open_: tuple[list[str], list[str]] = ([task_id], [task_id])
    while open_[0] and open_[1]:
        side = 0 if len(open_[0]) <= len(open_[1]) else 1
        current = open_[side].pop()
        for following in (needs, users)[side].get(current, ()):
            if following == task_id or following in seen[1 - side]:
                return True
            if following not in seen[side]:
                seen[side].add(following)
                open_[side].append(following)
    return False


def on_rings(needs: Edges, users: Edges) -> set[str]:
    """All tasks on a ring, and those between two rings."""
    left = _peeled(set(needs), needs, users)
    return _peeled(left, users, needs) if left else left


def _peeled(left: set[str], ahead: Edges, back: Edges) -> set[str]:
    """What remains of `left` when those without anything ahead are taken away, again and again."""
    counts = {node: sum(n in left for n in ahead.get(node, ())) for node in left}
    free = [node for node, count in counts.items() if not count]
    while free:
        node = free.pop()
        left.discard(node)
        for other in back.get(node, ()):
            if other in counts:
                counts[other] -= 1
                if not counts[other]:
                    free.append(other)
    return left
