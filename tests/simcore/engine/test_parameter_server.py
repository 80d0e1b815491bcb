"""Gradients that meet at parameter servers: closed forms, both engines, bounds, price, stragglers, what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from designs import dimension, model, training
from hypothesis import given, settings
from hypothesis import strategies as st

from simcore.bounds.design import bound
from simcore.bounds.many import Iteration, NetworkFamily
from simcore.check.load import design_from
from simcore.cost.materials import bill_of
from simcore.design.design import Design
from simcore.document.problem import InputError
from simcore.engine import reference
from simcore.memory.plan import program_of
from simcore.metrics import metrics
from simcore.program import Start, Waits
from simcore.simulate import simulate

GB = 1e9
S = 1.6 * GB
B = 25 * GB
FAST = {"memory_bandwidth": "1000000 GB/s", "price": "0 $", "power": "0 W"}


def document(
    served: dict[str, Any] | str, workers: int = 4, chunks: int = 1, latency: str = "0 s", **more: Any
) -> dict[str, Any]:
    gradients = served if isinstance(served, str) else {"parameter_server": served}
    parallelism = {"data": workers, "gradients": gradients, "bucket": "100 kB", **more}
    network = [dimension(size=workers * more.get("pipeline", 1), bandwidth="25 GB/s", latency=latency)]
    workload = {"model": model(layers=4), "global_batch": 2 * workers}
    return training(parallelism, network, workload=workload, system={"chunks": chunks})


def dedicated(servers: int, **more: Any) -> dict[str, Any]:
    return {"servers": servers, **FAST, **more}


def seconds(served: dict[str, Any] | str, workers: int, chunks: int = 1, latency: str = "0 s") -> float:
    """A push and pull, or an all-reduce, of S bytes on idle links [s]."""
    design = design_from(document(served, workers, chunks, latency))
    server = design.parallelism.parameter_server
    kind = "all_reduce" if server is None else server.kind
    return reference.time_collective(design, Start(kind, "data", S, Waits.NOW)).total * 1e-12


# Closed forms


@pytest.mark.parametrize(("workers", "servers"), [(4, 1), (4, 2), (8, 2), (8, 4)])
def test_incast_at_the_servers_takes_w_s_over_n_times_the_bandwidth_each_way(workers: int, servers: int) -> None:
    each_way = workers * S / (servers * B)
    assert seconds(dedicated(servers), workers) == pytest.approx(2 * each_way)
    assert seconds(dedicated(servers), workers, latency="2 us") == pytest.approx(2 * (each_way + 2e-6))


@pytest.mark.parametrize("servers", [4, 8, 16])
def test_with_as_many_servers_as_workers_their_own_links_are_the_busiest(servers: int) -> None:
    assert seconds(dedicated(servers), 4) == pytest.approx(2 * S / B)


@pytest.mark.parametrize(("servers", "nics"), [(1, 1), (1, 2), (2, 1), (4, 1)])
def test_many_chunks_push_and_pull_at_once_as_in_byteps(servers: int, nics: int) -> None:
    each_way = max(S / B, 4 * S / (servers * nics * B))
    assert seconds(dedicated(servers, nics=nics), 4, chunks=64) == pytest.approx(each_way * (1 + 1 / 128))


@pytest.mark.parametrize("workers", [2, 4, 8])
def test_servers_on_all_workers_take_as_long_as_an_all_reduce(workers: int) -> None:
    colocated = {"servers": workers, "place": "colocated"}
    assert seconds(colocated, workers) == pytest.approx(2 * S * (workers - 1) / workers / B)
    assert seconds(colocated, workers, 16) == pytest.approx(seconds("all_reduce", workers, 16))


def test_fewer_colocated_servers_have_more_on_their_links() -> None:
    times = [seconds({"servers": n, "place": "colocated"}, 8, 64) for n in (1, 2, 4, 8)]
    assert times == sorted(times, reverse=True)
    assert times[1] == pytest.approx(S * (1 - 1 / 2 + 7 / 2) / B, rel=0.05)


def test_sums_pass_the_memory_of_servers_five_times() -> None:
    slow = dedicated(2) | {"memory_bandwidth": "50 GB/s"}
    assert seconds(slow, 4) == pytest.approx(5 * 4 * S / (2 * 50 * GB))


def test_on_inner_dimensions_gradients_are_reduced_first() -> None:
    network = [
        dimension(size=4, bandwidth="300 GB/s", latency="0 s"),
        dimension(size=4, bandwidth="25 GB/s", latency="0 s"),
    ]
    parallelism = {"data": 16, "gradients": {"parameter_server": dedicated(2)}}
    made = training(parallelism, network, workload={"model": model(), "global_batch": 16}, system={"chunks": 1})
    design = design_from(made)
    served = design.parallelism.parameter_server
    assert served is not None
    found = reference.time_collective(design, Start(served.kind, "data", S, Waits.NOW)).total * 1e-12
    inner = S * 3 / 4 / (300 * GB)  # reduce-scatter, and all-gather; then 16 NPUs push a fourth each
    assert found == pytest.approx(2 * inner + 2 * 16 * (S / 4) / (2 * B))


# Both engines, bounds


@given(
    st.sampled_from([dedicated(1), dedicated(3, nics=2), {"servers": 2, "place": "colocated"}]),
    st.sampled_from([2, 4, 8]),
    st.sampled_from([1, 3, 8]),
    st.sampled_from([1, 2]),
    st.booleans(),
    st.sampled_from(["1f1b", "gpipe", "zero_bubble"]),
)
@settings(max_examples=25, deadline=None)
def test_engines_agree_and_bounds_hold(
    served: dict[str, Any], workers: int, chunks: int, pipeline: int, alone: bool, schedule: str
) -> None:
    made = document(served | {"asynchronous": alone}, workers, chunks, "2 us", pipeline=pipeline, schedule=schedule)
    design = design_from(made)
    one, other = simulate(design, "fast"), simulate(design, "reference")
    assert (one.iteration_time_s, one.bubble_s) == (other.iteration_time_s, other.bubble_s)
    assert one.exposed_communication_s == other.exposed_communication_s
    least, value = bound(design)["iteration_time"], metrics(one)["iteration_time"]
    assert least is not None
    assert value is not None
    assert least <= value * (1 + 1e-12)
    many = Iteration.of(design, program_of(design)).seconds(NetworkFamily.of([design]), {})
    assert many[0] <= value * (1 + 1e-12)


# Stragglers


def with_straggler(served: dict[str, Any], slowdown: float) -> Design:
    made = document(served, 4, 4)
    made["cluster"]["stragglers"] = [{"npu": 1, "slowdown": slowdown}]
    return design_from(made)


def test_a_straggler_holds_all_workers_up_unless_they_are_asynchronous() -> None:
    served = dedicated(2)
    even = simulate(design_from(document(served, 4, 4)), "reference").iteration_time_s
    waiting = simulate(with_straggler(served, 4.0), "reference")
    alone = simulate(with_straggler(served | {"asynchronous": True}, 4.0), "reference")
    assert waiting.iteration_time_s > 1.5 * even
    # Three workers go on as if nothing were: 4 iterations take less than 4 / 3 of the time of one.
    assert even < alone.iteration_time_s < 4 / 3 * even
    parts = alone.compute_s + alone.exposed_communication_s.total + alone.bubble_s + alone.optimizer_s
    assert parts == pytest.approx(alone.iteration_time_s)


def test_the_age_of_weights_is_said_and_grows_with_the_straggler() -> None:
    served = dedicated(2)
    assert simulate(design_from(document(served))).staleness is None
    alone = simulate(design_from(document(served | {"asynchronous": True})))
    assert alone.document()["staleness"] == {"updates": 3, "batch": 2, "versions": 1}
    assert any("asynchronous parameter server" in text for text in alone.not_modelled)
    slow = simulate(with_straggler(served | {"asynchronous": True}, 2.5), "reference")
    assert slow.staleness is not None
    assert slow.staleness.updates == 8


# Price and power


def test_dedicated_servers_are_paid_and_draw_power() -> None:
    served = dedicated(3) | {"price": "20000 $", "power": "800 W"}
    plain, paid = (simulate(design_from(document(one))) for one in ("all_reduce", served))
    assert paid.cost.other == 60_000
    assert paid.cost.total == pytest.approx(plain.cost.total + 60_000)
    assert paid.power is not None
    assert plain.power is not None
    pue = design_from(document(served)).cost.pue
    assert paid.power.rest == pytest.approx(plain.power.rest + 3 * 800 * pue)
    assert bill_of(design_from(document(served))).price() == pytest.approx(paid.cost.total)


# Refused


def problem_of(made: dict[str, Any]) -> str:
    with pytest.raises(InputError) as error:
        design_from(made)
    assert len(error.value.problems) == 1
    return str(error.value.problems[0])


@pytest.mark.parametrize(
    ("served", "more", "said"),
    [
        ({"servers": 2}, {}, "memory_bandwidth, price and power of dedicated servers"),
        ({"servers": 2, "place": "colocated", "nics": 2}, {}, "where servers are colocated"),
        ({"servers": 5, "place": "colocated"}, {}, "at most the 4 NPUs"),
        (dedicated(2), {"zero": 1}, "0 with a parameter server"),
        (dedicated(2, asynchronous=True), {"pipeline": 2, "schedule": "pipedream"}, "a schedule that flushes"),
    ],
)
def test_what_servers_cannot_do_is_refused(served: dict[str, Any], more: dict[str, Any], said: str) -> None:
    assert said in problem_of(document(served, **more))


def test_other_networks_than_switches_are_refused() -> None:
    made = document(dedicated(2))
    made["cluster"]["dimensions"][0]["topology"] = "ring"
    assert "a switch without oversubscription" in problem_of(made)


def test_time_to_train_is_refused_where_weights_are_old() -> None:
    made = document(dedicated(2, asynchronous=True))
    made["workload"]["training_tokens"] = 1e9
    assert "what old weights cost in tokens is unknown" in problem_of(made)


@pytest.mark.parametrize("engine", ["flow", "packets", "reference_links"])
def test_engines_that_know_no_servers_refuse_them(engine: str) -> None:
    with pytest.raises(InputError, match="plays no servers"):
        simulate(design_from(document(dedicated(2))), engine)
