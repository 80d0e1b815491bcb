"""A design is a value: `with_` changes it, a copy carries nothing that followed from the old one."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from designs import dimension, training

from simcore.check.load import design_from
from simcore.design.design import Design
from simcore.design.dimension import Dimension
from simcore.document.problem import InputError
from simcore.document.quantity import SI
from simcore.memory.plan import memory_needed, program_of
from simcore.simulate import simulate
from simcore.workload.transformer.document import TransformerWorkload

SWITCHES = [dimension(size=4, bandwidth="100 GB/s"), dimension(size=2, bandwidth="25 GB/s", tier="pod")]


def document(**changes: Any) -> dict[str, Any]:
    return {**training({"tensor": 2}, copy.deepcopy(SWITCHES)), **changes}


def design() -> Design:
    """A design from which everything has been derived."""
    made = design_from(document())
    simulate(made), memory_needed(made), program_of(made), made.key, made.algorithms
    return made


def test_a_changed_design_simulates_as_the_document_with_the_change() -> None:
    other = design_from(document(workload={**document()["workload"], "global_batch": 128}))
    changed = design().with_("workload.global_batch", 128)
    assert changed == other
    assert changed.key == other.key
    assert simulate(changed) == simulate(other)
    assert simulate(changed).iteration_time_s > simulate(design()).iteration_time_s


def test_a_copy_with_another_section_simulates_as_the_new_one() -> None:
    old = design()
    workload = old.workload.model_copy(update={"global_batch": 128})
    copied = old.model_copy(update={"workload": workload})
    assert simulate(copied) == simulate(old.with_("workload.global_batch", 128))
    assert copied.key == old.with_("workload.global_batch", 128).key
    assert simulate(old.model_copy(update={"workload": workload}, deep=True)) == simulate(copied)


@pytest.mark.parametrize(
    ("path", "value", "read"),
    [
        ("workload.global_batch", 128, lambda d: d.workload.global_batch == 128),
        ("cluster.dimensions[1].bandwidth", "50 GB/s", lambda d: d.cluster.dimensions[1].bandwidth == 50e9),
        ("cluster.dimensions.1.bandwidth", SI(50e9), lambda d: d.cluster.dimensions[1].bandwidth == 50e9),
        ("cluster.npu", "h100-80gb", lambda d: d.cluster.npu.name == "h100-80gb"),
        ("cluster.npu.memory.capacity", "96 GB", lambda d: d.cluster.npu.memory.capacity == 96e9),
        ("workload.model.layers", 16, lambda d: d.workload.model.layers == 16),
        ("workload.sequence_length", 64, lambda d: d.workload.sequence == 64),
        ("parallelism.zero", 1, lambda d: d.parallelism.zero == 1),
        ("system", {"chunks": 3}, lambda d: d.system.chunks == 3),
        ("cost", "network-only", lambda d: d.cost.free_npus),
        ("cost.electricity", "1 $/kWh", lambda d: d.cost.electricity == 1 / 3.6e6),
    ],
)
def test_a_path_is_spelled_as_in_the_document_and_the_rest_stays(path: str, value: Any, read: Any) -> None:
    old = design()
    new = old.with_(path, value)
    assert read(new)
    assert not read(old)
    touched = path.split(".")[0]
    for section in Design.model_fields:
        assert (getattr(new, section) == getattr(old, section)) == (section != touched)


def test_what_was_left_open_follows_from_the_new_value_and_what_was_given_stays() -> None:
    old = design()
    assert (old.data, old.algorithms) == (4, ("halving_doubling", "halving_doubling"))
    new = old.with_({"cluster.dimensions[1].size": 3, "workload.global_batch": 60})
    assert (new.data, new.algorithms) == (6, ("halving_doubling", "ring"))
    fixed = old.with_({"parallelism.data": 4, "system.collective": ["direct", "direct"]})
    with pytest.raises(InputError, match="parallelism") as told:
        fixed.with_("cluster.dimensions[1].size", 4)
    assert fixed.with_("workload.global_batch", 8).algorithms == ("direct", "direct")
    assert len(told.value.problems) == 1
    assert fixed.with_({"parallelism.data": None, "cluster.dimensions[1].size": 4}).data == 8


def test_the_default_microbatch_of_layers_follows_and_a_given_one_stays() -> None:
    layers = document(workload={"model": "resnet-50", "global_batch": 64}, parallelism={})
    open_one = design_from(layers)
    assert (open_one.microbatch, open_one.with_("workload.global_batch", 128).microbatch) == (8, 16)
    given = open_one.with_("parallelism.microbatch", 4)
    assert given.with_("workload.global_batch", 128).microbatch == 4
    assert open_one.with_("workload.model", "vgg-16").workload.layers.name == "vgg-16"  # type: ignore[union-attr]


def with_nics() -> Design:
    pod = {key: value for key, value in SWITCHES[1].items() if key != "bandwidth"}
    return design_from(training({"tensor": 2}, [SWITCHES[0], {**pod, "nics": 2, "nic_bandwidth": "50 GB/s"}]))


def test_the_bandwidth_of_nics_follows_the_nics_and_the_npus_that_share_them() -> None:
    old = with_nics()
    assert old.cluster.dimensions[1].bandwidth == 25e9
    assert old.with_("cluster.dimensions[1].nics", 4).cluster.dimensions[1].bandwidth == 50e9
    assert old.with_("cluster.dimensions[0].size", 8).cluster.dimensions[1].bandwidth == 12.5e9
    assert old.with_("cluster.dimensions[0]", old.cluster.dimensions[0]) == old
    with pytest.raises(InputError, match="drop one"):
        old.with_("cluster.dimensions[1].bandwidth", "80 GB/s")
    inner, outer = old.cluster.dimensions
    wider = old.cluster.model_copy(update={"dimensions": (inner.model_copy(update={"size": 8}), outer)})
    assert wider.dimensions[1].bandwidth == 12.5e9
    more = old.cluster.model_copy(update={"dimensions": (inner, outer.model_copy(update={"nics": 4}))})
    assert more.dimensions[1].bandwidth == 50e9


def test_a_fabric_takes_the_place_of_dimensions_and_back() -> None:
    on_fabric = design().with_({"cluster.fabric": "dgx-a100", "cluster.npus": 16})
    assert [d.size for d in on_fabric.cluster.dimensions] == [8, 2]
    assert on_fabric.with_("cluster.dimensions", SWITCHES).cluster == design().cluster
    with pytest.raises(InputError, match=r"cluster\.npus: .*'cluster\.fabric'"):
        on_fabric.with_("cluster.npus", 32)


@pytest.mark.parametrize(
    ("changes", "places"),
    [
        ({"workload.globl_batch": 128}, ["workload.globl_batch"]),
        ({"workload.global_batch": "many"}, ["workload.global_batch"]),
        ({"cluster.dimensions[0].bandwidth": 25e9}, ["cluster.dimensions[0].bandwidth"]),
        ({"cluster.dimensions[2].size": 4}, ["cluster.dimensions[2].size"]),
        ({"cluster.dimensions.two.size": 4}, ["cluster.dimensions.two.size"]),
        ({"parallelism.tensor": 3}, ["parallelism"]),
        (
            {"workload.sequence_length.tokens": 8, "system.priority.x": 1},
            ["workload.sequence_length", "system.priority"],
        ),
        ({"": 1}, ["document"]),
        ({"workload.global_batch": 0, "system.chunks": 0}, ["workload.global_batch", "system.chunks"]),
        ({"workload.global_batch": {"choice": [1, 2]}}, ["workload.global_batch"]),
    ],
)
def test_a_change_that_cannot_be_is_refused_with_its_path(changes: dict[str, Any], places: list[str]) -> None:
    with pytest.raises(InputError) as told:
        design().with_(changes)
    told_at = [str(problem).partition(": ")[0] for problem in told.value.problems]
    assert [place for place in places if place not in told_at] == []


def test_a_copy_refuses_what_is_no_field() -> None:
    with pytest.raises(ValueError, match=r"fields of Design, got 'global_batch'; known: workload"):
        design().model_copy(update={"global_batch": 128})
    with pytest.raises(ValueError, match=r"fields of TransformerWorkload"):
        design().workload.model_copy(update={"batch": 128})


def test_a_price_of_the_default_list_can_be_changed() -> None:
    given = {key: value for key, value in document().items() if key != "cost"}
    dear = design_from(given).with_("cost.network.pod.switch", "63.2 $/GB/s")
    assert dear.cost.network["node"] == design().cost.network["node"]
    assert simulate(dear).cost.network > simulate(design()).cost.network


def test_parts_of_another_design_may_be_put_in() -> None:
    old, other = design(), with_nics()
    assert old.with_("cluster", other.cluster).cluster == other.cluster
    assert old.with_("cluster.dimensions[1]", other.cluster.dimensions[1]).cluster.dimensions[1].bandwidth == 25e9
    assert isinstance(old.with_("workload", other.workload).workload, TransformerWorkload)
    assert isinstance(old.cluster.dimensions[1], Dimension)
