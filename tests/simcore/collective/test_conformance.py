"""Every algorithm, every kind: the data ends where it must, and as many bytes are sent as the closed form says."""

from __future__ import annotations

import pytest

from simcore.collective import ALGORITHMS, KINDS, Piece, Plan, algorithm_for, algorithm_named, plan_for
from simcore.collective.base import ALL
from simcore.collective.data import find_misplaced
from simcore.collective.double_binary_tree import DoubleBinaryTree
from simcore.network import Shape, Slice, block
from simcore.system.phase_cost import phase_cost

NAMES = [*ALGORITHMS, "direct[1]", "direct[3]"]
MEMBERS = range(2, 10)


def shapes(members: int) -> list[Shape]:
    leaves = [leaf for leaf in range(1, members + 1) if members % leaf == 0]
    return [Shape("ring"), Shape("line"), *(Shape("star", leaf) for leaf in leaves)]


def serves(name: str, members: int) -> bool:
    return not algorithm_named(name).needs(members)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("members", MEMBERS)
def test_the_data_ends_where_it_must(name: str, kind: str, members: int) -> None:
    for shape in shapes(members) if serves(name, members) else []:
        assert find_misplaced(kind, members, plan_for(name, kind, members, shape)) == []


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("members", MEMBERS)
def test_members_send_what_the_closed_form_says_where_nothing_is_passed_on(name: str, kind: str, members: int) -> None:
    if not serves(name, members):
        return
    plan = plan_for(name, kind, members, Shape("star", members))
    sent = sum(plan.share(message) for message in plan.messages)
    assert sent == pytest.approx(members * phase_cost(name, block("switch"), kind, Slice(8, members, 1), False).sent)


@pytest.mark.parametrize("members", [3, 5, 6, 7, 12])
def test_halving_doubling_refuses_what_is_no_power_of_two(members: int) -> None:
    for use in (
        ALGORITHMS["halving_doubling"].steps,
        lambda kind, n: plan_for("halving_doubling", kind, n, Shape("line")),
    ):
        with pytest.raises(ValueError, match=rf"expected a power of two members, got {members}; use ring or direct"):
            use("all_reduce", members)


def test_a_kind_that_an_algorithm_lacks_has_a_stand_in() -> None:
    star, line = Shape("star", 8), Shape("line")
    assert algorithm_for("halving_doubling", "all_to_all", star) is ALGORITHMS["direct"]
    assert algorithm_for("double_binary_tree", "reduce_scatter", star) is ALGORITHMS["direct"]
    assert algorithm_for("double_binary_tree", "reduce_scatter", line) is ALGORITHMS["ring"]
    assert algorithm_for("direct", "broadcast", line) is ALGORITHMS["ring"]


def test_a_window_as_wide_as_the_group_is_no_window() -> None:
    for members in MEMBERS:
        wide, none = (algorithm_for(name, "all_reduce", Shape("star", members)) for name in ("direct[8]", "direct"))
        assert wide.steps("all_reduce", members) == none.steps("all_reduce", members)


def test_the_two_trees_are_leaves_where_the_other_is_inside() -> None:
    for members in range(3, 40):
        plan = DoubleBinaryTree(1).plan("broadcast", members, Shape("star", members))
        senders = [{m.source for m in plan.messages if not m.reduces and m.pieces[0].block == half} for half in (0, 1)]
        assert len(senders[0] & senders[1]) <= 1  # the root of one of them may be inside the other


def test_a_message_that_carries_what_its_sender_lacks_is_found() -> None:
    plan = Plan(3)
    plan.send(0, 1, [Piece(ALL, 0, 0)])
    plan.send(1, 2, [Piece(ALL, 0, 0)])  # does not wait for the first
    assert find_misplaced("all_gather", 3, plan)[0] == (
        "message 1: member 1 does not have Piece(origin=-1, block=0, part=0) yet"
    )


def test_a_contribution_that_counts_twice_is_found() -> None:
    plan = Plan(2)
    for _ in range(2):
        plan.send(1, 0, [Piece(ALL, 0, 0)], reduces=True)
    assert "member 0 counts [1] twice in Piece(origin=-1, block=0, part=0)" in find_misplaced("reduce_scatter", 2, plan)


def test_a_block_that_never_arrives_is_found() -> None:
    assert find_misplaced("broadcast", 2, Plan(1)) == ["member 1 ends without Piece(origin=-1, block=0, part=0)"]
