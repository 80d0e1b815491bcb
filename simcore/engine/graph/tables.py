"""The arrays of the compiled player of graphs: what does not change (`pack_graph`), and what does (`new_play`).

Both are one flat int64 array with a header that says where its tables lie, as those of the network are
(`simcore.engine.fast.state`). Nodes are numbered class by class (`simcore.graph.Graph.firsts`).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from simcore.compiled import inlined
from simcore.engine.fast.state import Ints
from simcore.graph import Action, Graph

# Actions, as `simcore.graph.Action` has them. From COLLECTIVE on they use the network.
NOTHING, COMPUTE, HOST, MEMORY, COLLECTIVE, SEND, RECEIVE = range(7)

# Header of a graph: numbers of nodes and of classes; where the tables start.
NODES, CLASSES, NODES_AT, CHILDREN_AT, FIRSTS_AT, GRAPH_HEADER = range(6)
# Nodes: action; duration [ps], or type of collective or message; of a send the node that receives it; where its
# children lie, up to those of the next node; class; its number among the nodes of its class that use the network.
ACTION, ARGUMENT, RECEIVER, CHILDREN, CLASS, NUMBER, NODE_SIZE = range(7)

# Header of a play: where the tables start.
STATES_AT, CLASSES_AT, HEAPS_AT, FRESH_AT, OUT_AT, PLAY_HEADER = range(6)
# States of nodes: how many each still waits for; when it began and ended, and of a receive when its message arrived
# [ps] (-1: not yet).
MISSING, BEGAN, ENDED, ARRIVED, STATE_SIZE = range(5)
# Classes: the nodes at the NPU (-1: none), at its host and at its memory link; the work left of the first, and until
# when the others are busy [ps]; collectives and messages under way, which lie in OUT; receives that wait; nodes that
# have just become ready, which lie in FRESH; the level of its slowdown; when its network goes on; time without
# computation, beside communication and not [ps]; when it finished; nodes left; entries of its heaps.
AT_NPU, AT_HOST, AT_MEMORY, WORK, HOST_UNTIL, MEMORY_UNTIL = range(6)
SENDING, RECEIVING, FRESH, LEVEL, NEXT, WAITED, OTHER, FINISH, LEFT, ENTRIES = range(6, 16)
# Ready nodes lie in a heap for each of what does one of them at a time, the lowest number first; FREE ones, of the
# network or of nothing, wait for none.
FREE, FOR_NPU, FOR_HOST, FOR_MEMORY, HEAPS = range(5)
CLASS_SIZE = ENTRIES + HEAPS

DONE, STUCK, FULL = range(3)
"""What a play comes to: all nodes are done; some wait for ever; more collectives are under way than there is room."""


def pack_graph(graph: Graph, argument_of: Callable[[int, int, int], int | None]) -> Ints:
    """The graph of all classes.

    `argument_of(npu, action, operand)` is the argument of a node; None where there is nothing to do.
    """
    firsts = graph.firsts
    rows = np.zeros((firsts[-1] + 1, NODE_SIZE), np.int64)
    children_at = GRAPH_HEADER + rows.size
    children, count = [], children_at
    for number, npu in enumerate(graph.classes):
        table, first = graph.ranks[npu].table, firsts[number]
        here = rows[first : first + table.nodes]
        here[:, CHILDREN] = table.first_child[:-1] + count
        here[:, CLASS] = number
        _fill(here, graph, npu, argument_of)
        children.append(table.children + first)
        count += len(table.children)
    rows[-1, CHILDREN] = count
    header = np.array([firsts[-1], len(graph.classes), GRAPH_HEADER, children_at, count], np.int64)
    return np.concatenate([header, rows.reshape(-1), *children, np.array(firsts, np.int64)])


def _fill(rows: Ints, graph: Graph, npu: int, argument_of: Callable[[int, int, int], int | None]) -> None:
    """Fill in what the nodes of a class do."""
    rank, firsts = graph.ranks[npu], graph.firsts
    table = rank.table
    rows[:, ACTION] = table.actions
    uses = table.actions >= COLLECTIVE
    rows[:, NUMBER] = np.cumsum(uses) - uses
    for action in np.unique(table.actions).tolist():
        at = np.flatnonzero(table.actions == action)
        operands, inverse = np.unique(table.operands[at], return_inverse=True)
        known = [argument_of(npu, action, operand) for operand in operands.tolist()]
        nothing = np.array([argument is None for argument in known])[inverse]
        rows[at, ARGUMENT] = np.array([argument or 0 for argument in known], np.int64)[inverse]
        rows[at[nothing], ACTION] = NOTHING
    for place in np.flatnonzero(table.actions == Action.SEND).tolist():
        slot = int(table.operands[place])
        rows[place, RECEIVER] = firsts[graph.class_of[rank.peers[slot]]] + rank.partners[slot]


def new_play(graph: Graph) -> Ints:
    """Before anything began."""
    nodes, classes = graph.firsts[-1], len(graph.classes)
    classes_at = PLAY_HEADER + nodes * STATE_SIZE
    heaps_at = classes_at + classes * CLASS_SIZE
    fresh_at = heaps_at + nodes * HEAPS
    out_at = fresh_at + nodes
    play = np.zeros(out_at + nodes, np.int64)
    play[:PLAY_HEADER] = (PLAY_HEADER, classes_at, heaps_at, fresh_at, out_at)
    states = play[PLAY_HEADER:classes_at].reshape(nodes, STATE_SIZE)
    states[:] = -1
    states[:, MISSING] = np.concatenate([graph.ranks[npu].table.parents for npu in graph.classes])
    its = play[classes_at:heaps_at].reshape(classes, CLASS_SIZE)
    its[:, AT_NPU : AT_MEMORY + 1] = -1
    its[:, LEFT] = [graph.ranks[npu].table.nodes for npu in graph.classes]
    return play


def class_states(play: Ints) -> Ints:
    """What the classes are at, `[classes, CLASS_SIZE]`."""
    return play[play[CLASSES_AT] : play[HEAPS_AT]].reshape(-1, CLASS_SIZE)


def node_states(play: Ints) -> Ints:
    """What the nodes are at, `[nodes, STATE_SIZE]`."""
    return play[play[STATES_AT] : play[CLASSES_AT]].reshape(-1, STATE_SIZE)


def most_on_network(graph: Graph) -> int:
    """Most nodes of a class that use the network."""
    return max(int((graph.ranks[npu].table.actions >= COLLECTIVE).sum()) for npu in graph.classes)


@inlined
def locate_node(graph: Ints, node: int) -> int:
    """Where a node lies."""
    return int(graph[NODES_AT] + node * NODE_SIZE)


@inlined
def locate_state(play: Ints, node: int) -> int:
    """Where the state of a node lies."""
    return int(play[STATES_AT] + node * STATE_SIZE)


@inlined
def locate_class(play: Ints, number: int) -> int:
    """Where a class lies."""
    return int(play[CLASSES_AT] + number * CLASS_SIZE)


@inlined
def first_node(graph: Ints, number: int) -> int:
    """The first node of a class."""
    return int(graph[graph[FIRSTS_AT] + number])
