"""The counters of CPU memory follow tensors as they come and go."""

import pytest
from under_test import NAME, t

pytestmark = pytest.mark.skipif(NAME != "taeda", reason="PyTorch keeps no such counters")

MIB = 1 << 20


def test_bytes_in_use_and_their_peak():
    t.cpu.reset_peak_memory_stats()
    before = t.cpu.memory_allocated()
    first, second = t.empty(8 * MIB, dtype=t.uint8), t.empty(4 * MIB, dtype=t.uint8)
    assert t.cpu.memory_allocated() == before + 12 * MIB
    del first
    assert t.cpu.memory_allocated() == before + 4 * MIB
    assert t.cpu.max_memory_allocated() == before + 12 * MIB
    assert t.cpu.memory_reserved() >= t.cpu.memory_allocated()
    t.cpu.reset_peak_memory_stats()
    assert t.cpu.max_memory_allocated() == before + second.nbytes


def test_counts_of_blocks():
    before = t.cpu.memory_stats()
    kept = [t.empty(100) for _ in range(3)]
    t.empty(100)
    after = t.cpu.memory_stats()
    assert after["allocation.all.allocated"] - before["allocation.all.allocated"] == len(kept) + 1
    assert after["allocation.all.current"] - before["allocation.all.current"] == len(kept)


def test_empty_cache_gives_back_what_is_kept():
    t.empty(64 * MIB, dtype=t.uint8)
    kept = t.cpu.memory_reserved()
    if kept == t.cpu.memory_allocated():
        pytest.skip("an allocator without a cache, as under a sanitizer")
    t.cpu.empty_cache()
    assert t.cpu.memory_reserved() <= kept - 64 * MIB
    assert t.cpu.max_memory_reserved() >= kept
