"""What torch's CPU allocator gives out, counted by the events of its profiler."""

from __future__ import annotations

import gc
from collections.abc import Callable

import torch


def most_allocated(step: Callable[[], object]) -> int:
    """The most bytes that exist at once while something is computed, beside those before it."""
    gc.collect()  # what is released meanwhile would be taken off
    kinds = [torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(activities=kinds, profile_memory=True) as profiler:
        step()
    events = profiler.profiler.kineto_results.events()
    changes = sorted((e.start_ns(), e.nbytes()) for e in events if e.name() == "[memory]")
    total = most = 0
    for _, change in changes:
        total += change
        most = max(most, total)
    return most
