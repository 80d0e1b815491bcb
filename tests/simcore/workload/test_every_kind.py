"""What holds for every kind of workload there is, of the project or of an installed package."""

from __future__ import annotations

import math
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import yaml
from agreement import differences
from designs import assert_not_beaten
from kinds_of_workload import EXAMPLES, Document, document

from simcore.bounds.design import bound, bound_any_design
from simcore.bounds.estimate import estimate
from simcore.check.check import check
from simcore.check.load import design_from, load_design, parse_design
from simcore.design.workload import KINDS, workload_tag
from simcore.document.problem import Problem
from simcore.engine.reference import EventBudgetError, estimate_events, reduce_design
from simcore.memory.plan import memory_needed, program_of
from simcore.metrics import metrics
from simcore.simulate import simulate
from simcore.workload.base import NPUS, kind_of

CASES = [(kind, example) for kind, examples in EXAMPLES.items() for example in examples]


def test_every_kind_has_an_example() -> None:
    assert set(EXAMPLES) == set(KINDS)


@pytest.mark.parametrize(("kind", "example"), CASES)
def test_a_section_is_recognised_and_comes_back_from_its_canonical_document(
    kind: str, example: Document, tmp_path: Path
) -> None:
    design = design_from(document(example))
    assert workload_tag(example["workload"]) == workload_tag(design.workload) == kind
    path = tmp_path / "design.yaml"
    path.write_text(yaml.safe_dump(design.document()))
    again = load_design(path)
    assert again.key == design.key
    assert again.document() == design.document()


ODD: dict[str, list[dict[str, Any]]] = {
    "parallelism": [
        {"tensor": 3},
        {"tensor": 8, "pipeline": 8},
        {"pipeline": 8, "interleave": 7},
        {"context": 2, "context_communication": "all_to_all"},
        {"expert": 5},
        {"zero": 3, "shard_group": 3, "gather": "once"},
        {"microbatch": 7, "schedule": "zero_bubble"},
        {"data": 10**12},
    ],
    "cluster": [
        {},
        {"placement": ["data", "data"]},
        {"dimensions": [{"topology": "fat_tree", "size": 1, "leaf": 5, "bandwidth": "0 B/s", "latency": "-1 s"}]},
        {"memory": {"expanded": {"capacity": "1 TB", "bandwidth": "1 GB/s", "place": ["optimizer"]}}},
    ],
    "system": [{}, {"collective": ["halving_doubling"]}, {"inter_dimension": "themis"}],
}


@pytest.mark.parametrize(("kind", "example"), CASES)
def test_checks_find_problems_and_never_raise(kind: str, example: Document) -> None:
    whole, checked = document(example), 0
    for changes in product(*ODD.values()):
        sections = zip(ODD, changes, strict=True)
        design, unread = parse_design(whole | {name: {**whole.get(name, {}), **own} for name, own in sections})
        assert design is not None or unread
        if design is not None:
            assert all(isinstance(problem, Problem) for problem in check(design))
            checked += 1
    assert checked > 20


@pytest.mark.parametrize(("kind", "example"), CASES)
def test_both_engines_play_it_and_agree_to_the_picosecond(kind: str, example: Document) -> None:
    design = design_from(document(example))
    assert differences(design) == []
    assert math.isfinite(simulate(design).iteration_time_s)


@pytest.mark.parametrize(("kind", "example"), CASES)
def test_no_bound_is_beaten_and_the_estimate_is_a_number(kind: str, example: Document) -> None:
    design = design_from(document(example))
    found = metrics(simulate(design))
    for proven in (bound(design), bound_any_design(design)):
        assert_not_beaten(proven, found)
    assert estimate(design)["iteration_time"]


@pytest.mark.parametrize(("kind", "example"), CASES)
def test_memory_is_none_or_no_part_of_it_is_negative(kind: str, example: Document) -> None:
    design = design_from(document(example))
    memory = memory_needed(design)
    assert (memory is None) == (program_of(design).single is not None or not kind_of(design.workload).holds)
    if memory is not None:
        parts = (memory.weights, memory.gradients, memory.optimizer, memory.activations)
        assert min(parts) >= 0
        assert memory.peak >= sum(parts)


@pytest.mark.parametrize(("kind", "example"), CASES)
def test_the_program_says_what_the_kind_says(kind: str, example: Document) -> None:
    design = design_from(document(example))
    behaviour, program = kind_of(design.workload), program_of(design)
    assert program.trained == behaviour.trained
    totals = behaviour.totals(design.workload)
    if totals is not None:
        assert totals.samples == program.tokens
        assert totals.flops <= program.model_flops * (1 + 1e-9)
    assert math.prod(behaviour.degrees(design).values()) == design.cluster.npus


@pytest.mark.parametrize(("kind", "example"), CASES)
def test_what_is_reduced_is_smaller_valid_and_of_the_same_kind(kind: str, example: Document) -> None:
    design = design_from(document(example))
    repeated = kind_of(design.workload).repeated(design)
    assert {name for name, _ in kind_of(design.workload).reductions(design)} <= {*repeated, NPUS}
    events = estimate_events(design)
    try:
        smaller, notes = reduce_design(design, check, round(0.7 * events))
    except EventBudgetError:
        smaller, notes = reduce_design(design, check, events)
        assert notes == ()
    assert check(smaller) == []
    assert workload_tag(smaller.workload) == kind
