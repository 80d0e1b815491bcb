"""Nodes that are ready: one heap for each of what does one of them at a time, the lowest number first."""

from __future__ import annotations

from simcore.compiled import inlined
from simcore.engine.fast.state import Ints
from simcore.engine.graph.tables import (
    ACTION,
    AT_NPU,
    COMPUTE,
    ENTRIES,
    FOR_HOST,
    FOR_MEMORY,
    FOR_NPU,
    FREE,
    FRESH,
    FRESH_AT,
    HEAPS,
    HEAPS_AT,
    HOST,
    MEMORY,
    first_node,
    locate_class,
    locate_node,
)


@inlined
def _locate_heap(graph: Ints, play: Ints, number: int, heap: int) -> int:
    """Where a heap of a class lies; each has room for all of its nodes."""
    first = first_node(graph, number)
    return int(play[HEAPS_AT] + first * HEAPS + heap * (first_node(graph, number + 1) - first))


@inlined
def _heap_of(action: int) -> int:
    """The heap in which a node of this action waits."""
    heap = FREE
    if action == COMPUTE:
        heap = FOR_NPU
    elif action == HOST:
        heap = FOR_HOST
    elif action == MEMORY:
        heap = FOR_MEMORY
    return heap


@inlined
def _push(play: Ints, begin: int, size: int, node: int) -> None:
    """Put a node into the heap of `size` that lies at `begin`."""
    place = size
    while place > 0:
        parent = (place - 1) >> 1
        if play[begin + parent] <= node:
            break
        play[begin + place] = play[begin + parent]
        place = parent
    play[begin + place] = node


@inlined
def _pop(play: Ints, begin: int, size: int) -> int:
    """Take the lowest node out of the heap of `size` that lies at `begin`."""
    node, last, size = play[begin], play[begin + size - 1], size - 1
    place = 0
    while True:
        child = 2 * place + 1
        if child >= size:
            break
        if child + 1 < size and play[begin + child + 1] < play[begin + child]:
            child += 1
        if last <= play[begin + child]:
            break
        play[begin + place] = play[begin + child]
        place = child
    play[begin + place] = last
    return int(node)


@inlined
def sort_fresh(graph: Ints, play: Ints, number: int) -> None:
    """Put what has become ready of a class into its heaps."""
    its, fresh = locate_class(play, number), play[FRESH_AT] + first_node(graph, number)
    for i in range(play[its + FRESH]):
        node = play[fresh + i]
        heap = _heap_of(graph[locate_node(graph, node) + ACTION])
        _push(play, _locate_heap(graph, play, number, heap), play[its + ENTRIES + heap], node)
        play[its + ENTRIES + heap] += 1
    play[its + FRESH] = 0


@inlined
def take_lowest(graph: Ints, play: Ints, number: int) -> int:
    """The lowest ready node of a class that can begin; -1 where there is none."""
    its, best, node = locate_class(play, number), -1, -1
    for heap in range(HEAPS):
        free = heap == FREE or play[its + AT_NPU + heap - FOR_NPU] < 0
        if free and play[its + ENTRIES + heap] > 0:
            lowest = play[_locate_heap(graph, play, number, heap)]
            if best < 0 or lowest < node:
                best, node = heap, lowest
    if best >= 0:
        _pop(play, _locate_heap(graph, play, number, best), play[its + ENTRIES + best])
        play[its + ENTRIES + best] -= 1
    return int(node)
