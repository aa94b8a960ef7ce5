"""Holding back the collector of garbage while thousands of objects are made that will stay."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """No search for garbage within the block: with 10,000 tasks it takes longer than the rest."""
    if not gc.isenabled():  # who held it back before lets it go again
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
