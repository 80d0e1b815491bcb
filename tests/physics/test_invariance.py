"""What must not matter does not matter: names, replicas without traffic, units of time, the second run."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from designs import changed, designs, dimension, model, npu, serves_in_order, training, trainings
from hypothesis import given, settings
from hypothesis import strategies as st

from simcore import catalog
from simcore.check.load import design_from
from simcore.design.design import Design
from simcore.simulate import simulate


@given(designs())
def test_the_same_design_gives_the_same_result_to_the_last_bit(design: Design) -> None:
    assert simulate(design) == simulate(design)


@given(designs())
def test_the_canonical_document_gives_the_same_result_to_the_last_bit(design: Design) -> None:
    assert simulate(design_from(design.document())) == simulate(design)


@settings(max_examples=30)
@given(
    st.sampled_from(["gpt3-175b", "turing-nlg-17b", "llama3-8b", "llama3-70b", "megatron-22b"]),
    st.sampled_from(["a100-80gb", "h100-80gb", "v100-32gb"]),
    st.sampled_from(["dgx-a100", "dgx-h100"]),
    st.sampled_from(["libra", "network-only"]),
)
def test_presets_by_name_and_spelled_out_are_the_same_design(name: str, chip: str, fabric: str, prices: str) -> None:
    named = {
        "workload": {"model": name, "global_batch": 8},
        "parallelism": {"tensor": 4, "pipeline": 2},
        "cluster": {"npu": chip, "fabric": fabric, "npus": 16},
        "cost": prices,
    }
    inline: dict[str, Any] = copy.deepcopy(named)
    inline["workload"]["model"] = catalog.entry("models", name)
    inline["cluster"]["npu"] = catalog.entry("npus", chip)
    inline["cluster"]["fabric"] = catalog.entry("fabrics", fabric)
    inline["cost"] = catalog.entry("prices", prices)
    first, second = design_from(named), design_from(inline)
    assert first == second
    assert first.key == second.key
    assert simulate(first) == simulate(second)


def test_the_name_of_a_model_changes_nothing() -> None:
    document = training({"tensor": 2}, [dimension(size=8)])
    other = copy.deepcopy(document)
    other["workload"]["model"]["name"] = "another"
    assert simulate(design_from(document)) == simulate(design_from(other))


@pytest.mark.parametrize("data", [2, 16, 128])
def test_replicas_whose_gradients_travel_in_no_time_cost_only_their_chunks(data: int) -> None:
    # Bandwidth without limit and no latency: a phase still takes one picosecond, on however many NPUs.
    def time(replicas: int) -> float:
        network = [dimension(size=4), dimension("switch", replicas, "1000000000 EB/s", "0 s", tier="node")]
        parallelism = {"tensor": 4, "data": replicas, "bucket": "1 kB"}
        workload = {"model": model(), "global_batch": 8 * replicas}
        system = {"chunks": 4, "collective": ["ring", "direct"]}
        return simulate(design_from(training(parallelism, network, workload=workload, system=system))).iteration_time_s

    assert time(data) == time(64)


def test_one_replica_sends_no_gradients() -> None:
    result = simulate(design_from(training({"tensor": 8}, [dimension(size=8)])))
    assert result.exposed_communication_s.data == 0
    assert result.exposed_communication_s.pipeline == 0
    assert result.bubble_s == 0


@settings(max_examples=100)
@given(trainings(plain=True).filter(serves_in_order))
def test_twice_the_time_of_everything_is_twice_the_iteration(design: Design) -> None:
    slow = changed(design, {"bandwidth": 0.5, "latency": 2.0, "peak": 0.5, "memory": 0.5, "overhead": 2.0})
    # Each duration is rounded to a picosecond once.
    assert simulate(slow).iteration_time_s == pytest.approx(2 * simulate(design).iteration_time_s, rel=1e-5)


def test_the_order_of_keys_in_a_document_changes_nothing() -> None:
    document = training({"tensor": 2, "pipeline": 2}, [dimension(size=8)])
    backwards = {key: document[key] for key in reversed(document)}
    backwards["cluster"] = {key: document["cluster"][key] for key in reversed(document["cluster"])}
    assert design_from(document).key == design_from(backwards).key


def test_prices_change_no_time() -> None:
    document = training({"tensor": 2}, [dimension(size=8)])
    cheap = {**document, "cost": "network-only"}
    first, second = simulate(design_from(document)), simulate(design_from(cheap))
    assert first.iteration_time_s == second.iteration_time_s
    assert second.cost.npu == 0
    assert npu()["price"] == "1000 $"
    assert first.cost.npu == 8 * 1000
