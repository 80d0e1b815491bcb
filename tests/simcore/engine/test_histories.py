"""The tree of what stages have done since their networks were idle."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from simcore.engine.fast.histories import BLOCK, PARENT, PAUSE, ROOT, add, find, list_path, make_room, plant

blocks_and_pauses = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=30)


@given(st.lists(blocks_and_pauses, min_size=1, max_size=12))
def test_a_history_is_found_again_and_its_path_lists_it(histories: list[list[tuple[int, int]]]) -> None:
    tree, nodes = plant(7), 1
    for history in histories:
        node = ROOT
        for block, pause in history:
            child = find(tree, node, block, pause)
            if child < 0:
                child, nodes = nodes, nodes + 1
                tree = make_room(tree, child)
                add(tree, child, node, block, pause)
            node = child
        listed = list_path(tree, ROOT, node)
        assert [(int(tree[at, BLOCK]), int(tree[at, PAUSE])) for at in listed] == history
        assert len(list_path(tree, int(tree[node, PARENT]), node)) == 1
        assert len(list_path(tree, node, node)) == 0
    prefixes = {tuple(history[: end + 1]) for history in histories for end in range(len(history))}
    assert nodes == 1 + len(prefixes)  # equal histories share their nodes


def test_an_unknown_block_or_pause_is_not_found() -> None:
    tree = plant(7)
    add(tree, 1, ROOT, 5, 0)
    add(tree, 2, 1, 5, 10)
    assert find(tree, ROOT, 5, 0) == 1
    assert find(tree, 1, 5, 10) == 2
    assert find(tree, 1, 5, 11) == find(tree, 1, 4, 10) == find(tree, 2, 5, 10) == -1
