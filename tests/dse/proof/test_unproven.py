"""What is proven by phases is not said of engines that play messages, nor of anybody else's."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from tiny_spaces import space, tiny

from dse.cli import main
from dse.evaluate.evaluate import Evaluator
from dse.proof import certificate
from dse.proof.certificate import natural_objectives, proven_bounds, unproven_notice
from dse.proof.parts import is_proven_of
from dse.run.drive import optimize
from dse.run.record import load_record
from dse.run.settings import Settings
from dse.space.space import space_from
from simcore.bounds.design import bound
from simcore.check.load import design_from
from simcore.document.problem import InputError
from simcore.document.text import parse_document
from simcore.engine.registry import BUILT_IN, PROVABLE
from simcore.simulate import simulate

UNPROVABLE = [*(name for name in BUILT_IN if name not in PROVABLE), "tiny_spaces:cheap"]


def clos(size: int, leaf: int, **more: Any) -> dict[str, Any]:
    return {"topology": "clos", "size": size, "leaf": leaf, "routing": "ecmp", "latency": "1 us", "tier": "pod"} | more


FASTER = {
    "packets": {
        "workload": {"collective": "all_to_all", "size": "4 MiB"},
        "cluster": {"npu": "a100-80gb", "dimensions": [clos(4, 2, bandwidth="10 GB/s")]},
        "system": {"collective": ["halving_doubling"], "chunks": 1},
    },
    "reference_links": {
        "workload": {"collective": "all_reduce", "size": "64 KiB"},
        "cluster": {
            "npu": "a100-80gb",
            "dimensions": [
                {"topology": "ring", "size": 2, "bandwidth": "100 GB/s", "latency": "500 ns", "tier": "node"},
                clos(8, 2, bandwidth="25 GB/s", oversubscription=2),
            ],
        },
        "system": {"collective": ["direct", "ring"], "chunks": 8},
    },
}
"""Designs that are faster than the bounds of their phases."""


@pytest.mark.parametrize("engine", FASTER)
def test_messages_may_be_faster_than_the_bounds_of_phases(engine: str) -> None:
    design = design_from(FASTER[engine])
    least = bound(design)["iteration_time"]
    assert least is not None
    assert simulate(design, engine).iteration_time_s < least <= simulate(design, "flow").iteration_time_s
    assert not is_proven_of(engine, ["iteration_time"])


@pytest.mark.parametrize("engine", UNPROVABLE)
def test_of_messages_no_time_is_proven_but_the_cost_is(engine: str) -> None:
    given = space()
    proven = proven_bounds(given, engine)
    by_phases = proven_bounds(given, "fast")
    assert proven["cost.total"] == by_phases["cost.total"]
    assert proven["cost.total"] is not None
    if engine in BUILT_IN:
        assert 0 < (proven["iteration_time"] or 0.0) < (by_phases["iteration_time"] or 0.0)
        assert "of iteration_time only what the FLOPs take" in unproven_notice(given, engine)
    else:
        assert proven["iteration_time"] is None
        assert "nothing is proven of iteration_time." in unproven_notice(given, engine)
    assert not any(unproven_notice(given, other) for other in PROVABLE)


@pytest.mark.parametrize("engine", UNPROVABLE)
def test_a_bound_on_time_excludes_no_cluster_where_it_does_not_hold(engine: str) -> None:
    plain, tight = space(), space(constraints=["fits", "iteration_time <= 1 us"])
    assert proven_bounds(tight, "fast")["cost.total"] is None
    assert proven_bounds(tight, engine)["cost.total"] == proven_bounds(plain, engine)["cost.total"]


@pytest.mark.parametrize("engine", sorted({*UNPROVABLE} & {*BUILT_IN}))
def test_what_is_proven_of_messages_is_met_by_every_design(engine: str) -> None:
    given = space(parallelism={"degrees": {"product": 8, "of": ["tensor", "pipeline", "data"]}})
    given = replace(given, objectives=natural_objectives(["iteration_time", "energy", "throughput", "cost_per_token"]))
    proven = proven_bounds(given, engine)
    assert all(proven.values())
    judge, simulated = Evaluator(given.objectives, given.constraints, engine), 0
    for filled in islice(given.enumerate(), 0, None, 7):
        outcome = judge(filled.document)
        simulated += outcome.state == "feasible"
        for objective in given.objectives if outcome.state == "feasible" else ():
            worse = objective.sign * (outcome.values[objective.name] - (proven[objective.name] or 0.0))
            assert worse >= 0, objective.name
    assert simulated >= 5


def test_of_a_collective_nothing_is_computed_so_nothing_of_its_time_is_proven() -> None:
    given = space_from(
        parse_document(
            yaml.safe_dump(FASTER["packets"] | {"objectives": {"minimize": ["iteration_time", "cost.total"]}})
        ),
        "collective",
    )
    assert proven_bounds(given, "packets")["iteration_time"] in (None, 0.0)


@pytest.mark.parametrize("engine", UNPROVABLE)
def test_an_expression_with_a_time_has_the_bound_of_the_time(engine: str) -> None:
    given = space(objectives={"minimize": ["iteration_time * cost.total", "cost.total / npus"]})
    proven = proven_bounds(given, engine)
    product = [proven_bounds(space(), engine)[name] for name in ("iteration_time", "cost.total")]
    if engine in BUILT_IN:
        assert proven["iteration_time * cost.total"] == pytest.approx(np.prod([value or 0.0 for value in product]))
    else:
        assert proven["iteration_time * cost.total"] is None
    assert proven["cost.total / npus"] == proven_bounds(given, "fast")["cost.total / npus"]


def test_reports_say_what_is_proven_of_messages(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    optimize(space(), Settings("random", 4, 0, engine="tiny_spaces:cheap"), tmp_path / "run", resume=False)
    record = load_record(tmp_path / "run")
    assert record.bounds["iteration_time"] is None
    assert record.bounds["cost.total"] is not None
    assert main(["report", str(tmp_path / "run")]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "nothing is proven of iteration_time" in out
    assert "no proven bound" in out
    page = (tmp_path / "run" / "report.html").read_text()
    assert "nothing is proven of iteration_time" in page


def test_a_gap_cannot_be_watched_where_nothing_is_proven(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no proven bound of iteration_time"):
        optimize(space(), Settings("random", 4, 0, engine="tiny_spaces:cheap", gap=0.1), tmp_path / "run", resume=False)


def test_more_jobs_than_are_bounded_one_by_one_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not unproven_notice(space(), "fast")
    monkeypatch.setattr(certificate, "MOST_JOBS", 1)
    assert re.search(r"leave [\d,]+ combinations open, and at most 1 are bounded", unproven_notice(space(), "fast"))
    cost = space(tiny(objectives={"minimize": ["cost.total"]}))
    assert not unproven_notice(cost, "fast")


def test_of_more_served_designs_than_are_bounded_one_by_one_the_peak_alone_is_proven(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    workload = {
        "model": {**tiny()["workload"]["model"], "position": "rotary"},
        "global_batch": 32,
        "prompt_length": 64,
        "output_length": 9,
    }
    parallelism = {"degrees": {"product": 8, "of": ["tensor", "data"]}, "microbatch": {"choice": [1, 4]}}
    served = space(tiny(workload=workload, parallelism=parallelism))
    close = proven_bounds(served, "fast")
    assert not unproven_notice(served, "fast")
    monkeypatch.setattr("dse.proof.least_served.MOST_SERVED", 1)
    monkeypatch.setattr(certificate, "MOST_SERVED", 1)
    assert re.search(
        r"space leaves [\d,]+ combinations open, and at most 1 are bounded", unproven_notice(served, "fast")
    )
    loose = proven_bounds(served, "fast")
    assert loose["cost.total"] == close["cost.total"]
    assert close["iteration_time"] is not None
    assert loose["iteration_time"] is not None
    assert 0 < loose["iteration_time"] < close["iteration_time"]
