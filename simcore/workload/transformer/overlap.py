"""Communication beside the pieces of a split operator, as rings of exchanges or one collective a piece.

A ring: an operator over all parts of a group of n is split into n pieces, one for each member's part. While an NPU
works on one part, it passes the next one on: n - 1 exchanges with its neighbours, each of one part; the last piece runs
alone. So a piece and an exchange take the longer of the two. (Megatron's tensor-parallel overlap, Wang et al. 2023,
ASPLOS. Ring attention is another one: `simcore.workload.transformer.context`.)

A pipeline: what a piece has computed is reduced in one collective while the next piece runs, and the last one's alone.
"""

from __future__ import annotations

from simcore.program import GROUP_CATEGORY, Category, Operator, Start, Wait, Waits, blocking_collective


def gathering(group: str, size: float, pieces: list[tuple[Operator, ...]]) -> tuple[Operator, ...]:
    """Each piece while the part of `size` [B] that the following one needs is on its way."""
    out: list[Operator] = []
    for piece in pieces[:-1]:
        out += beside("shift", group, size, piece)
    return (*out, *pieces[-1])


def pipelined(kind: str, group: str, size: float, pieces: list[tuple[Operator, ...]]) -> tuple[Operator, ...]:
    """Each piece while the collective of `size` [B] of what the piece before it computed is on its way."""
    out: list[Operator] = [*pieces[0]]
    for piece in pieces[1:]:
        out += beside(kind, group, size, piece)
    return (*out, *blocking_collective(kind, group, size))


def paired(operators: tuple[Operator, ...], backward: bool) -> tuple[Operator, ...]:
    """A pass of a layer of experts that runs together with the other pass of another microbatch.

    While one of them computes a half of the layer, attention or experts, an all-to-all of the other one travels: each
    of the four halves is beside one of the four all-to-alls (Megatron-core; DeepSeek-AI 2024, arXiv 2412.19437, section
    3.2.1). These are equally large, so that it is the same whose all-to-all is written beside a half: here its own one
    of the same pass, which leaves two passes that each hold half of what the two do together.
    """
    runs: list[list[Operator]] = [[]]
    starts: list[Operator] = []
    for operator in operators:
        if isinstance(operator, Start) and operator.group == "expert":
            starts.append(operator._replace(waits=Waits.EXCHANGE))
            runs.append([])
        elif not (isinstance(operator, Wait) and operator.category == Category.EXPERT):
            runs[-1].append(operator)
    (first, second), (before, between, after) = starts, runs
    arrived = Wait(Waits.EXCHANGE, Category.EXPERT)
    if backward:
        return (*before, first, *between, arrived, second, *after, arrived)
    return (first, *before, arrived, second, *between, arrived, *after)


def beside(
    kind: str, group: str, size: float, piece: tuple[Operator, ...], overlap: bool = True
) -> tuple[Operator, ...]:
    """A piece while a collective of `size` [B] travels; without `overlap` the collective waits for the piece."""
    if not overlap:
        return (*piece, *blocking_collective(kind, group, size))
    return (Start(kind, group, size, Waits.OVERLAP), *piece, Wait(Waits.OVERLAP, GROUP_CATEGORY[group]))
