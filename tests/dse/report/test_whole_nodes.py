"""What whole nodes come to: NPUs that are bought and not used, spares among them, and a node with nothing beside it."""

from __future__ import annotations

from typing import Any

import report_studies as studies

from dse.evaluate.record import StudyRecord, TrialRecord
from dse.report.assumptions import describe_assumptions
from dse.report.summary import summarize
from simcore.check.load import design_from
from simcore.simulate import simulate


def trial(number: int, npu: str, size: int, nodes: int, cost: float = 1.0, **more: Any) -> TrialRecord:
    inner = {"topology": "switch", "size": size, "bandwidth": "900 GB/s", "latency": "1 us", "tier": "node"}
    outer = {"topology": "switch", "size": nodes, "bandwidth": "50 GB/s", "latency": "5 us", "tier": "pod"}
    design = design_from(
        {
            "workload": {"model": "megatron-22b", "global_batch": 1024, "precision": "bf16"},
            "parallelism": {"tensor": 8, "zero": 1, "sequence_parallel": True, "recompute": "full"},
            "cluster": {"npu": npu, "dimensions": [inner, outer] if nodes > 1 else [inner]},
            "cost": "street-2025",
            **more,
        }
    )
    result = simulate(design)
    values = {"iteration_time": result.iteration_time_s, "cost.total": cost}
    return TrialRecord(number, "feasible", values, {}, {}, design=design.document(), metrics=result.document())


def prices(record: StudyRecord, own: TrialRecord) -> str:
    (line,) = (line for line in describe_assumptions(record, summarize(record), own) if line.startswith("Prices"))
    return line


def test_spares_are_among_the_npus_of_racks_that_a_job_does_not_use() -> None:
    own = trial(1, "gb200", 64, 8, reliability={"base": "llama3", "spares": 0.05})
    told = "They pay for 64 more NPUs, which the nodes have and the job does not use, 28 of them its spares."
    assert told in prices(studies.record([own]), own)
    none = trial(1, "gb200", 64, 8, reliability={"base": "llama3", "spares": 0})
    assert "which the nodes have and the job does not use." in prices(studies.record([none]), none)


def test_a_single_node_has_nothing_beside_it_wherever_it_is_on_the_front() -> None:
    one, two = trial(1, "b200", 8, 1), trial(2, "b200", 8, 2, cost=2.0)
    record = studies.record([one, two])
    assert {t.number for t in record.front} == {1, 2}
    assert "A single node is priced without storage, network and management; two have them." in prices(record, one)
    told = "The single node of trial 1 is priced without storage, network and management, which more nodes have."
    assert told in prices(record, two)
    assert "single node" not in prices(studies.record([two]), two)
