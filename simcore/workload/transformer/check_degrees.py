"""What tensor and expert degrees must satisfy that ranges of layers have for themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from simcore.design.degrees import views_of
from simcore.design.design import Design
from simcore.document.problem import Path, Problem

Rule = Callable[[Design], Iterator[Problem]]
_RULE = "degrees of layers"
_RANGES: Path = ("parallelism", "layers")
_NOT_BESIDE = "nothing beside layers with tensor or expert degrees of their own"


def degree_problems(design: Design, rules: Sequence[Rule]) -> Iterator[Problem]:
    """Every problem of ranges with degrees of their own; `rules`: what degrees satisfy that all layers have."""
    if not design.parallelism.other_degrees or not design.data:
        return
    found = [*_beside(design), *_nested(design)]
    yield from found or _cut(design, rules)


def _beside(design: Design) -> Iterator[Problem]:
    """What is built for one set of groups in all layers."""
    p = design.parallelism
    if p.solves:
        key = "stages" if p.solves_stages else "recompute"
        expected = "numbers beside layers with degrees of their own: the solver counts layers by those of the section"
        yield Problem(("parallelism", key), expected, "solve", "give them", rule=_RULE)
    if p.expert_overlap:
        expected = f"false: {_NOT_BESIDE}, whose passes would run beside those of other groups"
        yield Problem(("parallelism", "expert_overlap"), expected, "true", "leave it out", rule=_RULE)
    if p.attention_split == "queries":
        expected = f"heads: {_NOT_BESIDE}, whose groups would share out tokens of queries each in its way"
        yield Problem(("parallelism", "attention_split"), expected, "queries", "leave it out", rule=_RULE)
    if design.streamed is not None:
        path: Path = ("cluster", "memory", "expanded", "place")
        expected = f"no weights: {_NOT_BESIDE}, of whose shards the memory would send each group another part"
        yield Problem(path, expected, "weights", "leave them in the NPUs", rule=_RULE)
    if p.parameter_server is not None:
        expected = f"{_NOT_BESIDE}: servers take the same gradients from all NPUs"
        yield Problem(("parallelism", "gradients"), expected, "a parameter server", "use all_reduce", rule=_RULE)


def _nested(design: Design) -> Iterator[Problem]:
    """Tensor groups of one size are made of those of another, and have whole sequences of a microbatch."""
    p = design.parallelism
    sizes = sorted({p.tensor, *(degrees.tensor for degrees in p.other_degrees)})
    if len(sizes) == 1:
        return
    if p.context > 1:
        expected = f"1: {_NOT_BESIDE}, whose NPUs would have other parts of a sequence"
        yield Problem(("parallelism", "context"), expected, str(p.context), "use context 1", rule=_RULE)
    if p.shard_group is not None:
        expected = f"{_NOT_BESIDE}: groups of copies differ"
        yield Problem(("parallelism", "shard_group"), expected, str(p.shard_group), "leave it out", rule=_RULE)
    order = design.cluster.placement
    if order.index("data") < order.index("tensor"):
        expected = "tensor further in than data, where layers have tensor degrees of their own"
        yield Problem(("cluster", "placement"), expected, ", ".join(order), "write tensor before data", rule=_RULE)
    for number, its in enumerate(p.layers or ()):
        if its.tensor is None:
            continue
        path: Path = (*_RANGES, number, "tensor")
        tensor, together = p.degrees_in(its).tensor, design.microbatch * p.degrees_in(its).tensor
        if any(max(tensor, size) % min(tensor, size) for size in sizes):
            listed = ", ".join(map(str, sizes))
            expected = "tensor degrees that divide one another: activations pass between groups made of whole groups"
            yield Problem(path, expected, listed, "choose multiples", rule=_RULE)
        elif design.data * p.tensor % tensor:
            expected = f"a degree that divides tensor x data ({p.tensor} x {design.data}), whose NPUs it uses"
            yield Problem(path, expected, str(tensor), rule=_RULE)
        elif together % p.tensor:
            expected = (
                f"at least {-(-p.tensor // design.microbatch)}, whose groups have whole sequences of a microbatch"
            )
            fix = f"choose a larger degree, or a microbatch that is a multiple of {p.tensor // tensor}"
            yield Problem(path, expected, str(tensor), fix, rule=_RULE)


def _cut(design: Design, rules: Sequence[Rule]) -> Iterator[Problem]:
    """Each range keeps the rules that the section keeps, told at its own keys."""
    p, told = design.parallelism, {problem for rule in rules for problem in rule(design)}
    for number, its in enumerate(p.layers or ()):
        view = views_of(design).get(p.degrees_in(its))
        if view is None:
            continue
        for problem in (problem for rule in rules for problem in rule(view)):
            if problem not in told:
                own = next((key for key in ("tensor", "expert") if key in problem.path), "expert")
                yield replace(problem, path=(*_RANGES, number, own))
