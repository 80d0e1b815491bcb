"""What is not known for sure, drawn: draws by name, times in scenarios, designs together, the time of nine in ten."""

from __future__ import annotations

from itertools import chain
from math import log
from typing import Any

import numpy as np
import pytest
from kinds_of_workload import EXAMPLES, document

from simcore import catalog
from simcore.bounds.design import bound
from simcore.bounds.estimate import estimate
from simcore.check.load import design_from
from simcore.design.design import Design
from simcore.metrics import metrics
from simcore.prediction_interval import ratios
from simcore.simulate import simulate
from simcore.system.chunks import PICOSECONDS
from simcore.uncertainty.draws import Scenarios, SingleMoves
from simcore.uncertainty.failing import draw_failures
from simcore.uncertainty.iteration import estimate_times
from simcore.uncertainty.parameters import OF_GENERATION, UNSAID, price_error
from simcore.uncertainty.priced import draw_costs
from simcore.uncertainty.together import draw_times
from simcore.uncertainty.upper import least_upper_factor, spread, upper_factor

ONE, OTHER = (price_error(what, "all", UNSAID) for what in ("memory", "electricity"))


def trained(
    software: str = "megatron-core",
    npu: str = "h100-80gb",
    nodes: str = "50 GB/s",
    cost: Any = "libra",
    reliability: Any = "llama3",
    **degrees: Any,
) -> Design:
    return design_from(
        {
            "workload": {"model": "llama3-8b", "global_batch": 64, "sequence_length": 4096, "precision": "bf16"},
            "parallelism": {"tensor": 2, "pipeline": 2, **degrees},
            "cluster": {
                "npu": npu,
                "dimensions": [
                    {"topology": "switch", "size": 8, "bandwidth": "450 GB/s", "latency": "801 ns", "tier": "node"},
                    {"topology": "switch", "size": 4, "bandwidth": nodes, "latency": "20 us", "tier": "pod"},
                ],
            },
            "software": software,
            "cost": cost,
            "reliability": reliability,
        }
    )


def test_the_draws_of_a_name_are_every_stratum_once_in_an_order_of_its_own() -> None:
    scenarios = Scenarios(256)
    one, other = scenarios.normal(ONE), scenarios.normal(OTHER)
    assert one[0] == other[0] == 0.0
    assert sorted(one[1:]) == sorted(other[1:])
    assert np.mean(one[1:]) == pytest.approx(0.0, abs=1e-12)
    assert np.std(one[1:]) == pytest.approx(1.0, abs=0.01)
    assert abs(np.corrcoef(one[1:], other[1:])[0, 1]) < 0.2


def test_draws_are_the_same_on_every_machine_and_whatever_else_is_drawn() -> None:
    alone, beside = Scenarios(8), Scenarios(8)
    beside.normal(OTHER)
    assert alone.normal(ONE).tolist() == beside.normal(ONE).tolist()
    places = np.argsort(np.argsort(alone.normal(ONE)[1:])).tolist()
    assert places == [4, 5, 0, 2, 1, 3, 6, 7]


def test_a_single_move_moves_one_name_by_one_standard_deviation() -> None:
    moves = SingleMoves([ONE, OTHER])
    assert moves.normal(ONE).tolist() == [0.0, 1.0, 0.0]
    assert moves.error(ONE, OTHER).tolist() == [0.0, ONE.parameter.up, OTHER.parameter.up]


@pytest.mark.parametrize(
    "design",
    [
        trained(),
        trained(zero=3, pipeline=1),
        trained("pytorch-fsdp", zero=2, tensor=1, pipeline=1),
        trained("deepspeed", "a100-80gb", zero=3, pipeline=1),
        trained("megatron-core", "tpu-v5p"),
        design_from(document(EXAMPLES["recommender"][0])),
        design_from(document(EXAMPLES["layers"][1])),
    ],
)
def test_as_predicted_it_is_the_estimate(design: Design) -> None:
    assert estimate_times(design, Scenarios(4))[0] / PICOSECONDS == pytest.approx(
        estimate(design)["iteration_time"], rel=1e-8
    )


@pytest.mark.parametrize("example", list(chain.from_iterable(EXAMPLES.values())))
def test_every_kind_of_workload_has_times_in_scenarios(example: dict[str, Any]) -> None:
    design = design_from(document(example))
    times = draw_times([design], Scenarios(64))
    assert times.shape == (1, 64)
    assert np.isfinite(times).all()
    assert (times > 0).all()
    assert np.std(times) > 0


@pytest.mark.parametrize(
    "software", [name for name, of in catalog.section("software").items() if of.get("trains", True)]
)
def test_every_stack_that_trains_has_times_in_scenarios(software: str) -> None:
    npu = "tpu-v5p" if software == "maxtext" else "h100-80gb"
    designs = [trained(software, npu, nodes, tensor=1, pipeline=1) for nodes in ("25 GB/s", "50 GB/s")]
    times = draw_times(designs, Scenarios(8))
    assert (times > 0).all()


def test_a_served_model_takes_its_proven_bound_as_predicted() -> None:
    design = design_from(document(EXAMPLES["inference"][0]))
    found = estimate_times(design, Scenarios(4))[0] / PICOSECONDS
    assert found == pytest.approx(bound(design)["iteration_time"], rel=0.05)


def test_products_that_are_slower_make_the_iteration_slower_and_a_slower_network_too() -> None:
    asked = Scenarios(1)
    design = trained(zero=3, pipeline=1)
    estimate_times(design, asked)
    moved = estimate_times(design, SingleMoves(asked.used))
    changed = dict(zip((one.parameter.name for one in asked.used), moved[1:] / moved[0], strict=True))
    assert changed["rate of matrix products"] > 1.01
    assert changed["rate between nodes"] > 1.0
    assert (moved[1:] >= moved[0] * (1 - 1e-9)).all()


def test_one_design_by_itself_is_as_unsure_as_its_interval_says() -> None:
    for design in (
        trained(),
        trained("megatron-core", "h200"),
        trained(zero=3, pipeline=1),
        trained("llm-foundry", "a100-80gb", zero=3, pipeline=1, tensor=1),
    ):
        low, high = np.quantile(draw_times([design], Scenarios(4096))[0], (0.05, 0.95))
        wide = log(ratios(design)[1] / ratios(design)[0])
        assert log(high / low) == pytest.approx(wide, rel=0.1)
        assert low == pytest.approx(ratios(design)[0], rel=0.02)


def test_designs_of_one_layout_on_two_networks_are_wrong_together() -> None:
    slow, fast = draw_times([trained(nodes="25 GB/s"), trained(nodes="50 GB/s")], Scenarios(256))
    apart = np.std(np.log(slow) - np.log(fast))
    assert 0 < apart < 0.5 * np.std(np.log(slow))


def test_a_faster_network_is_slower_in_no_scenario() -> None:
    designs = [trained(nodes=nodes, zero=3, pipeline=1) for nodes in ("25 GB/s", "50 GB/s")]
    slow, fast = (
        simulate(design).iteration_time_s * times for design, times in zip(designs, together(designs), strict=True)
    )
    assert (fast < slow).all()


def together(designs: list[Design]) -> list[np.ndarray[Any, Any]]:
    return list(draw_times(designs, Scenarios(256)))


def test_designs_of_two_layouts_differ_by_what_the_model_leaves_out() -> None:
    design, other = trained(), trained(tensor=4)
    same = draw_times([design, other], Scenarios(256), share=0.0)
    apart = draw_times([design, other], Scenarios(256))
    assert np.std(np.log(apart[0] / apart[1])) > np.std(np.log(same[0] / same[1]))


def test_designs_that_the_model_cannot_tell_apart_are_wrong_together() -> None:
    design, other = trained(), trained(bucket="1 GB")
    apart = draw_times([design, other], Scenarios(64))
    alike = draw_times([design, other], Scenarios(64), alike=["one", "one"])
    # What is left is by how much the same wrong numbers move each of them.
    assert np.std(np.log(alike[0] / alike[1])) < 0.2 * np.std(np.log(apart[0] / apart[1]))


def test_stacks_and_devices_have_levels_of_their_own() -> None:
    one, other = draw_times([trained(), trained(npu="a100-80gb")], Scenarios(1024))
    assert abs(np.corrcoef(np.log(one), np.log(other))[0, 1]) < 0.15


def test_devices_of_a_generation_are_wrong_together_also_with_the_one_on_which_the_stack_was_fitted() -> None:
    designs = [trained(npu=npu) for npu in ("h100-80gb", "h200", "h800", "b200")]
    fitted, one, other, later = np.log(draw_times(designs, Scenarios(1024)))
    assert np.corrcoef(one, other)[0, 1] == pytest.approx(OF_GENERATION, abs=0.15)
    assert np.corrcoef(one, fitted)[0, 1] == pytest.approx(np.sqrt(OF_GENERATION), abs=0.15)
    assert abs(np.corrcoef(one, later)[0, 1]) < 0.15
    assert np.std(one - fitted) < 0.8 * np.hypot(np.std(one), np.std(fitted))


def test_a_zero_stage_that_was_never_measured_adds_an_error_of_its_own_to_what_it_shares_with_the_others() -> None:
    designs = [trained(pipeline=1, zero=1), *(trained(pipeline=1, zero=3, tensor=tensor) for tensor in (2, 4))]
    known, one, other = np.log(draw_times(designs, Scenarios(1024)))
    assert np.std(one) > 1.5 * np.std(known)
    assert 0.1 < np.corrcoef(known, one)[0, 1] < 0.7
    assert np.corrcoef(one, other)[0, 1] > np.corrcoef(known, one)[0, 1] + 0.2


def test_single_moves_add_up_to_the_spread_of_the_scenarios() -> None:
    for design in (trained(), trained(zero=3, pipeline=1), trained(npu="tpu-v5p")):
        times = estimate_times(design, Scenarios(1024))
        assert spread(design) == pytest.approx(np.std(np.log(times[1:])), rel=0.15)


def test_the_time_of_nine_in_ten_is_later_where_more_rests_on_what_is_badly_known() -> None:
    near, far = trained(zero=1), trained(zero=3, pipeline=1, nodes="5 GB/s")
    assert spread(far) > spread(near)
    assert upper_factor(far) > upper_factor(near) > 1.0
    for design in (near, far):
        assert least_upper_factor(design.cluster.npu, design.software, design.workload) < upper_factor(design)


def test_a_price_is_the_same_for_all_who_buy() -> None:
    scenarios = Scenarios(64)
    one, other = (draw_costs(trained(nodes=nodes), 1e5, scenarios) for nodes in ("25 GB/s", "50 GB/s"))
    assert one["npu"].tolist() == other["npu"].tolist()
    assert one["network"].tolist() != other["network"].tolist()  # their tiers have other shares
    device = draw_costs(trained(npu="a100-80gb"), 1e5, scenarios)
    assert device["npu"].tolist() != one["npu"].tolist()


def test_nine_of_ten_draws_of_a_price_lie_in_its_range_and_half_below_what_the_list_says() -> None:
    error = price_error("NPUs", "one", (0.9, 1.6))
    drawn = np.exp(Scenarios(1000).error(error)[1:])
    assert np.quantile(drawn, [0.05, 0.5, 0.95]) == pytest.approx([0.9, 1.0, 1.6], rel=0.01)


FREE = {"link": "0 $/GB/s", "switch": "0 $/GB/s", "nic": "0 $/GB/s"}
OWNED = {"building": "12 $/W", "support": 0.05, "staff": "1e6 $", "residual": 0.1, "discount": 0.08}


@pytest.mark.parametrize("scenario", [2, 5])
def test_a_scenario_says_of_money_what_a_list_with_its_prices_says(scenario: int) -> None:
    own: dict[str, Any] = {**catalog.entry("prices", "libra"), "name": "own", "electricity_in_total": True, **OWNED}
    own |= {"network": {"node": FREE, "pod": FREE}, "ranges": {"npu": (0.5, 2.0), "support": (0.5, 1.5)}}
    result, scenarios = simulate(trained(cost=own)), Scenarios(8)
    drawn = draw_costs(trained(cost=own), result.power_w, scenarios)
    at = {one.parameter.name: float(np.exp(scenarios.error(one)[1 + scenario])) for one in scenarios.used}
    there = {
        **own,
        "npu": {"h100-80gb": f"{30000 * at['price of NPUs']!r} $"},
        "electricity": f"{0.1 * at['price of electricity'] * at['mean draw of nodes']!r} $/kWh",
        "building": f"{12 * at['price of the building']!r} $/W",
        "support": 0.05 * at["price of support"],
        "staff": f"{1e6 * at['price of staff']!r} $",
    }
    dearer, before = metrics(simulate(trained(cost=there))), metrics(result)
    for mover in ("capital", "total", "yearly", "tco"):
        assert drawn[mover][scenario] == pytest.approx(dearer[f"cost.{mover}"] / before[f"cost.{mover}"]), mover
    assert drawn["tco"][scenario] == pytest.approx(dearer["cost_per_token"] / before["cost_per_token"])


HOURS = {"npu": 90, "node": 900, "nic": 3000, "link": 600, "switch": 1400, "software": 200}


def failing(interval: dict[str, str], rate: float = 1.0, detection: float = 1.0) -> Design:
    """A design whose pieces fail so much more often than `HOURS` say, which takes so much longer to find out."""
    return trained(
        reliability={
            "base": "llama3",
            "mtbf": {piece: f"{hours / rate!r} h" for piece, hours in HOURS.items()},
            "restart": {"detection": f"{10 * detection!r} min"},
            "checkpoint": interval,
            "spares": 0.1,
        }
    )


@pytest.mark.parametrize("scenario", [1, 6])
@pytest.mark.parametrize("interval", [{}, {"interval": "10 min"}])
def test_a_scenario_says_of_failures_what_a_design_with_its_rates_says(scenario: int, interval: dict[str, str]) -> None:
    result, scenarios = simulate(failing(interval)), Scenarios(8)
    drawn = draw_failures(failing(interval), result.iteration_time_s, scenarios)
    at = {one.parameter.name: float(np.exp(scenarios.error(one)[1 + scenario])) for one in scenarios.used}
    there = simulate(failing(interval, at["how often pieces fail"], at["time until a failure is found"]))
    assert result.goodput is not None
    assert there.goodput is not None
    assert drawn[scenario] == pytest.approx(result.goodput / there.goodput)
    assert drawn[scenario] != pytest.approx(1.0, abs=0.01)


def test_what_never_fails_takes_the_same_time_in_every_scenario() -> None:
    assert set(draw_failures(trained(reliability="none"), 1.0, Scenarios(8))) == {1.0}
