"""A measured figure, and the table of them.

A bound is shown beside what was measured, met or missed; nothing here decides an exit code. A
baseline is measured in the same run as its figure, on the same machine under the same load.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from rich.table import Table


@dataclass(frozen=True, slots=True)
class Baseline:
    """What a figure is compared with."""

    what: str
    samples: Sequence[float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One line of the table. Bounds are in `unit`; None has no bound."""

    what: str
    unit: str
    samples: Sequence[float]
    p50_under: float | None = None
    p99_under: float | None = None
    baseline: Baseline | None = None
    #: what one must know to read it; None when nothing
    note: str | None = None

    @property
    def p50(self) -> float:
        """The median."""
        return median(self.samples)

    @property
    def p99(self) -> float:
        """The value that 99 of 100 samples don't exceed; the highest of fewer than 100."""
        return percentile(self.samples, 99)

    @property
    def is_met(self) -> bool | None:
        """Whether every bound holds; None without bounds."""
        pairs = ((self.p50, self.p50_under), (self.p99, self.p99_under))
        checks = [value < under for value, under in pairs if under is not None]
        return all(checks) if checks else None


def percentile(samples: Sequence[float], percent: float) -> float:
    """The smallest sample that `percent` of all don't exceed."""
    ordered = sorted(samples)
    return ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)]


def table_of(figures: Sequence[Figure]) -> Table:
    """The table for a terminal. Notes are numbered; `notes_of` gives their texts."""
    table = Table(pad_edge=False, show_edge=False)
    table.add_column("figure", overflow="fold")
    for name in ("p50", "p99"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("bound", no_wrap=True)
    table.add_column("")
    table.add_column("n", justify="right")
    table.add_column("baseline, p50 / p99", overflow="fold")
    noted = [figure.note for figure in figures if figure.note]
    for figure in figures:
        mark = f" [{noted.index(figure.note) + 1}]" if figure.note else ""
        table.add_row(
            figure.what.replace("[", r"\[") + mark.replace("[", r"\["),
            _value(figure.p50, figure.unit),
            _value(figure.p99, figure.unit) if len(figure.samples) > 1 else "",
            _bound(figure),
            {True: "[green]met[/]", False: "[bold red]MISSED[/]", None: ""}[figure.is_met],
            str(len(figure.samples)),
            _baseline(figure),
        )
    return table


def notes_of(figures: Sequence[Figure]) -> list[str]:
    """The notes, in the order of their numbers."""
    return [figure.note for figure in figures if figure.note]


def _value(value: float, unit: str) -> str:
    digits = 0 if unit == "bytes" or value >= 100 else 1
    return f"{value:,.{digits}f} {unit}"


def _bound(figure: Figure) -> str:
    parts = []
    if figure.p50_under is not None:
        single = len(figure.samples) == 1
        parts.append(f"{'' if single else 'p50 '}< {_value(figure.p50_under, figure.unit)}")
    if figure.p99_under is not None:
        parts.append(f"p99 < {_value(figure.p99_under, figure.unit)}")
    return "\n".join(parts)


def _baseline(figure: Figure) -> str:
    baseline = figure.baseline
    if baseline is None:
        return ""
    values = _value(median(baseline.samples), figure.unit)
    if len(baseline.samples) > 1:
        values += f" / {_value(percentile(baseline.samples, 99), figure.unit)}"
    return f"{baseline.what}: {values}"
