"""Several jobs side by side: alone as ever, slowed where they share links, and both engines of one mind."""

from __future__ import annotations

from math import prod
from typing import Any

import pytest

from simcore.check.load import load_design
from simcore.design.design import Design
from simcore.design.jobs import shares_of
from simcore.document.problem import InputError
from simcore.engine.reference import time_jobs
from simcore.jobs.play import AsFlows, count_iterations, play_jobs
from simcore.jobs.result import result_of_jobs
from simcore.metrics import metrics
from simcore.result import JobResult, fairness, worst_slowdown
from simcore.simulate import simulate

NODE = {"topology": "switch", "size": 2, "bandwidth": "300 GB/s", "latency": "1 us"}
CLOS = {"topology": "clos", "size": 8, "leaf": 4, "oversubscription": 4, "bandwidth": "25 GB/s", "latency": "2 us"}
GATHER = {"workload": {"collective": "all_to_all", "size": "4 MiB"}}
TRAINING = {
    "workload": {"model": {"base": "llama3-8b", "layers": 4}, "global_batch": 8, "sequence_length": 512},
    "parallelism": {"tensor": 2},
}

FAILING = {"base": "llama3", "mtbf": {"npu": "200 h"}}


def design(*jobs: dict[str, Any], outer: dict[str, Any] = CLOS, **system: Any) -> Design:
    listed = [{"name": f"job {number}", **job} for number, job in enumerate(jobs)]
    cluster = {"npu": "a100-80gb", "dimensions": [NODE, outer]}
    return load_design(
        {"jobs": listed, "cluster": cluster, "system": {"chunks": 2, "collective": ["direct", "direct"], **system}}
    )


def pair(placement: str, job: dict[str, Any] = GATHER) -> Design:
    return design({**job, "npus": 8, "placement": placement}, {**job, "npus": 8})


def test_a_job_alone_on_a_switch_takes_what_its_design_takes() -> None:
    outer = {**NODE, "size": 8, "bandwidth": "25 GB/s"}
    whole = design({**TRAINING, "npus": 8, "placement": "spread"}, {**TRAINING, "npus": 8}, outer=outer)
    for share in shares_of(whole)[0]:
        alone = simulate(share.design, "reference_links").iteration_time_s
        (played,) = time_jobs(whole, [share], [2])
        assert [timing.total for timing in played] == [round(alone * 1e12)] * 2


FULL = {"topology": "fully_connected", "size": 4, "bandwidth": "100 GB/s", "latency": "1 us"}
LINE = {"topology": "mesh", "size": 8, "bandwidth": "25 GB/s", "latency": "1 us"}
RING = {**LINE, "topology": "ring", "size": 4}


@pytest.mark.parametrize("engine", ["flow", "reference_links"])
@pytest.mark.parametrize(
    ("dimensions", "algorithms", "dimension", "between", "share"),
    [
        ([LINE], ["direct"], 0, [0, 1], 0.25),
        ([LINE], ["halving_doubling"], 0, [3, 4], 0.5),
        ([FULL, RING], ["direct", "ring"], 0, [0, 1], 0.25),
        ([FULL, RING], ["direct", "ring"], 0, [0, 1], 0.0),
        ([FULL, RING], ["direct", "ring"], 1, [0, 1], 0.25),
    ],
)
def test_worn_links_slow_the_one_job_of_a_cluster_as_they_slow_its_design(
    engine: str, dimensions: list[Any], algorithms: list[str], dimension: int, between: list[int], share: float
) -> None:
    worn = {"dimension": dimension, "between": between, "share": share}
    workload = {"collective": "all_reduce", "size": "256 MiB"}
    sections = {"system": {"chunks": 4, "collective": algorithms}}
    npus = prod(its["size"] for its in dimensions)
    jobs = [{"workload": workload, "npus": npus}]

    def seconds(failed: list[Any], **what: Any) -> float:
        cluster = {"npu": "a100-80gb", "dimensions": dimensions, "failed_links": failed}
        return simulate(load_design({**what, **sections, "cluster": cluster}), engine).iteration_time_s

    alone = seconds([worn], workload=workload)
    assert seconds([worn], jobs=jobs) == alone > 1.05 * seconds([], workload=workload)


def test_a_worn_link_inside_nodes_slows_each_job_as_it_slows_its_own_design() -> None:
    worn = {"dimension": 0, "between": [0, 1], "share": 0.25}
    job = {"workload": {"collective": "all_reduce", "size": "64 MiB"}, "npus": 16}

    def of_jobs(failed: list[Any]) -> Any:
        cluster = {"npu": "a100-80gb", "dimensions": [FULL, {**RING, "topology": "switch", "size": 8}]}
        sections = {"jobs": [job, job], "cluster": {**cluster, "failed_links": failed}, "system": {"chunks": 4}}
        return load_design(sections)

    slowed, sound = (simulate(of_jobs(failed), "flow").jobs for failed in ([worn], []))
    for one, other, share in zip(slowed, sound, shares_of(of_jobs([worn]))[0], strict=True):
        assert one.iteration_time_s == simulate(share.design, "flow").iteration_time_s > 1.5 * other.iteration_time_s


@pytest.mark.parametrize("engine", ["flow", "reference_links"])
def test_jobs_are_slowed_where_they_share_uplinks_and_nowhere_else(engine: str) -> None:
    spread, packed = (simulate(pair(placement), engine) for placement in ("spread", "packed"))
    assert all(job.slowdown > 1.3 for job in spread.jobs)
    assert [job.slowdown for job in packed.jobs] == [1.0, 1.0]
    assert spread.iteration_time_s == max(job.iteration_time_s for job in spread.jobs)


def test_flows_are_slowed_as_messages_are() -> None:
    spread = pair("spread").with_({"system.chunks": 8})
    flows, links = (simulate(spread, engine).jobs for engine in ("flow", "reference_links"))
    for one, other in zip(flows, links, strict=True):
        assert one.iteration_time_s == pytest.approx(other.iteration_time_s, rel=0.1)


def test_steps_under_one_switch_are_no_reason_to_get_less_of_uplinks_in_the_others() -> None:
    """A gather of halves crosses leaves in one step of two: two of six connections there, so half its bytes' rate.

    Of 3 blocks a port carries in a chunk, 2 of both NPUs of a leaf cross on one uplink. Beside 4 of an all-to-all they
    get a third of it, take 6, and a chunk twice as long. By what the port carries they would be 2 / 3 of a connection.
    """
    jobs = [{"workload": {"collective": kind, "size": "64 MiB"}} for kind in ("all_to_all", "all_gather")]
    whole = load_design(
        {
            "jobs": [{**jobs[0], "npus": 4, "placement": "spread"}, {**jobs[1], "npus": 4}],
            "cluster": {"npu": "a100-80gb", "dimensions": [CLOS]},
            "system": {"chunks": 4, "collective": ["halving_doubling"]},
        }
    )
    gather = simulate(whole, "flow").jobs[1]
    assert 1.8 < gather.slowdown < 2.05
    in_turn = simulate(whole.with_("cluster.switching", "interleaved"), "reference_links").jobs[1]
    assert gather.slowdown == pytest.approx(in_turn.slowdown, rel=0.15)


def test_jobs_by_rail_share_nothing() -> None:
    result = simulate(pair("by_rail", {**GATHER}))
    assert result.engine == "fast"
    assert [job.iterations for job in result.jobs] == [1, 1]


def test_iterations_of_a_pipeline_begin_when_the_one_before_is_over() -> None:
    job = {**TRAINING, "parallelism": {"tensor": 2, "pipeline": 4}, "npus": 8}
    whole = design({**job, "placement": "spread"}, {**job})
    share = shares_of(whole)[0][0]
    player = AsFlows(whole)
    alone = player.alone(share).total
    assert [timing.total for timing in player.together([share], [3])[0]] == [alone] * 3


def test_a_short_job_is_counted_as_long_as_a_long_one() -> None:
    assert count_iterations([1000, 100, 990]) == [4, 40, 5]
    assert count_iterations([10**6, 1]) == [4, 100]


def test_auto_takes_fast_where_no_jobs_share_links_and_says_why() -> None:
    packed, spread = simulate(pair("packed")), simulate(pair("spread"))
    assert (packed.engine, spread.engine) == ("fast", "flow")
    assert spread.engine_reason == "job 0 and job 1 share links"


def test_an_engine_of_phases_refuses_jobs_that_share_links() -> None:
    with pytest.raises(InputError, match=r"jobs that share no links.*job 0 and job 1, which do"):
        simulate(pair("spread"), "fast")


def test_the_result_is_of_all_jobs() -> None:
    whole = design({**TRAINING, "npus": 8}, {**TRAINING, "npus": 4})
    result = simulate(whole)
    rates = [job.throughput_tokens_per_s or 0.0 for job in result.jobs]
    assert result.throughput_tokens_per_s == pytest.approx(sum(rates))
    assert result.npus == 16
    assert metrics(result)["reserve"] == 4
    assert result.mfu is not None
    assert result.mfu * 16 == pytest.approx(sum(job.npus * (job.mfu or 0.0) for job in result.jobs))
    parts = result.compute_s + result.exposed_communication_s.total + result.bubble_s + result.optimizer_s
    assert parts == pytest.approx(result.iteration_time_s)
    assert result.cost == simulate(design({**TRAINING, "npus": 16})).cost
    assert result.power is not None
    assert result.power.mean < result.power.peak


def test_the_mean_of_the_iterations_after_the_first_counts() -> None:
    whole = pair("spread")
    played = play_jobs(whole, "reference_links")
    timings = time_jobs(whole, [job.share for job in played], [job.iterations for job in played])
    for job, listed in zip(played, timings, strict=True):
        later = [timing.total for timing in listed[1:]]
        assert job.together.total == round(sum(later) / len(later))
    assert result_of_jobs(whole, played, "reference_links").jobs[0].alone_s == played[0].alone.total / 1e12


def slowed(*factors: float) -> list[JobResult]:
    rest = (None, "tokens", None, None, True, 0.0, 0.0, 0.0)
    return [JobResult(f"job {i}", 1, (i,), factor, 1.0, 4, *rest) for i, factor in enumerate(factors)]


def test_fairness_is_one_where_all_are_slowed_alike_and_falls_to_one_of_n() -> None:
    assert fairness(slowed(3.0, 3.0, 3.0)) == pytest.approx(1.0)
    assert fairness(slowed(1.0, 1e9)) == pytest.approx(0.5)
    assert fairness(slowed(1.0, 2.0)) == pytest.approx(1.5**2 / (2 * 1.25))
    assert worst_slowdown(slowed(1.0, 2.0)) == 2.0
    assert (fairness([]), worst_slowdown([])) == (1.0, 1.0)


def test_each_job_has_what_its_training_takes_and_costs() -> None:
    workload = {**TRAINING["workload"], "training_tokens": 1e9}
    job = {**TRAINING, "workload": workload, "npus": 8}
    whole = design({**job, "placement": "packed"}, {**job}).with_("reliability", FAILING)
    result, (share, _) = simulate(whole), shares_of(whole)[0]
    alone = simulate(share.design)
    for told in result.jobs:
        assert told.slowdown == 1.0
        assert told.goodput == pytest.approx(alone.goodput, rel=1e-12)
        assert told.time_to_train_s == pytest.approx(alone.time_to_train_s, rel=1e-12)
        assert told.cost_to_train is not None
    assert sum(told.cost for told in result.jobs) == pytest.approx(result.cost.capital)
    tokens = result.jobs[0].throughput_tokens_per_s
    assert tokens is not None
    goodput = result.jobs[0].goodput
    assert goodput is not None
    assert 0.1 < goodput < 1.0
    assert result.jobs[0].time_to_train_s == pytest.approx(1e9 / tokens / goodput)


def test_a_job_beside_another_trains_for_longer_and_pays_for_its_own_npus_alone() -> None:
    workload = {**TRAINING["workload"], "training_tokens": 1e9}
    job = {**TRAINING, "workload": workload}
    result = simulate(design({**job, "nodes": [0, 4]}, {**GATHER, "nodes": [1, 2, 5, 6]}))
    training, gathering = result.jobs
    assert training.cost == pytest.approx(result.cost.capital / 4)
    assert gathering.cost == pytest.approx(result.cost.capital / 2)
    assert (gathering.goodput, gathering.time_to_train_s, gathering.cost_to_train) == (None, None, None)
    tokens = 8 * 512 / training.iteration_time_s
    assert training.time_to_train_s == pytest.approx(1e9 / tokens / (training.goodput or 1.0))


def test_each_job_has_the_usual_stack_of_its_workload_whatever_the_order() -> None:
    tokens = {"prompt_length": 512, "output_length": 16}
    model = {"base": "llama3-8b", "layers": 4}
    served = {"workload": {"model": model, "global_batch": 8, **tokens}, "parallelism": {"tensor": 2}}
    jobs = [{**TRAINING, "name": "trained", "npus": 8}, {**served, "name": "served", "npus": 8}]
    found = []
    for listed in (jobs, jobs[::-1]):
        whole = design(*listed)
        stacks = {share.name: share.design.software.name for share in shares_of(whole)[0]}
        assert stacks == {"trained": "megatron-core", "served": "vllm"}
        again = load_design(whole.document())
        assert again.key == whole.key
        result = simulate(whole)
        assert "megatron-core: " in result.provenance["software"]
        compared = "vllm: assumed, compared on h100-80gb, h200, b200, gb200, not on a100-80gb"
        assert f"{compared}; graphs replay its kernels (served)" in result.provenance["software"]
        found.append({job.name: (job.alone_s, job.memory_reserved_bytes) for job in result.jobs})
        for share in shares_of(whole)[0]:
            assert found[-1][share.name][0] == simulate(share.design).iteration_time_s
    assert found[0] == found[1]
    named = design(*jobs).with_("software", "deepspeed")
    assert {share.design.software.name for share in shares_of(named)[0]} == {"deepspeed"}


def test_staff_of_a_cluster_is_shared_by_its_jobs() -> None:
    workload = {**TRAINING["workload"], "training_tokens": 1e9}
    job = {**TRAINING, "workload": workload, "npus": 8}
    costs = []
    for staff in ("0 $", "1e6 $"):
        whole = design({**job, "placement": "packed"}, job).with_("cost", {"base": "libra", "staff": staff})
        costs.append(simulate(whole))
    for free, paid in zip(costs[0].jobs, costs[1].jobs, strict=True):
        more = (paid.cost_to_train or 0.0) - (free.cost_to_train or 0.0)
        years = (paid.time_to_train_s or 0.0) / (365 * 86400)
        assert more == pytest.approx(0.5 * 1e6 * years, rel=1e-6)
