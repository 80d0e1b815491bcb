from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml
from cli_runs import DESIGN, dse, write_design

from dse.cli import main
from simcore import load_design, simulate

RESULT = {
    *("iteration_time_s", "throughput_tokens_per_s", "mfu", "compute_s", "exposed_communication_s", "bubble_s"),
    *("memory_bytes", "memory_capacity_bytes", "fits", "network", "cost", "power_w", "energy_j", "perf_per_cost"),
    *("engine", "npus"),
}


def result(path: Path, capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert main(["simulate", str(path), "--json", *arguments]) == 0
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


def without_progress(err: str) -> str:
    """What is said beside how far it is, as where kernels are compiled first."""
    return "".join(
        line for line in err.splitlines(keepends=True) if not line.startswith(("simulating: ", "simulating ("))
    )


def refused(path: Path, capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["simulate", str(path), *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("dse simulate: ")
    return err


def test_json_is_the_result_of_the_contract_and_nothing_else(tmp_path: Path) -> None:
    path = write_design(tmp_path)
    done = dse("simulate", path, "--json")
    assert (done.returncode, without_progress(done.stderr)) == (0, "")
    document = json.loads(done.stdout)
    assert set(document) >= RESULT
    assert set(document["exposed_communication_s"]) == {"tensor", "data", "pipeline", "expert", "context"}
    assert set(document["memory_bytes"]) == {*("weights", "gradients", "optimizer", "activations", "peak", "reserved")}
    assert set(document["cost"]) == {"network", "npu", "memory", "storage", "other", "total"}
    assert document == json.loads(json.dumps(simulate(load_design(path)).document()))


def test_without_json_the_terminal_shows_time_memory_network_and_cost(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["simulate", str(write_design(tmp_path))]) == 0
    out = capsys.readouterr().out.lower()
    for part in ("iteration", "compute", "bubble", "memory", "network", "cost", "performance per cost"):
        assert part in out


def test_a_design_that_does_not_fit_is_simulated_and_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_design(tmp_path)
    unfused = ("--set", "parallelism.flash_attention=false")
    document = result(path, capsys, *unfused)
    assert document["fits"] is False
    assert document["iteration_time_s"] > 0
    assert main(["simulate", str(path), *unfused]) == 0
    assert "does not fit" in capsys.readouterr().out


PARALLELISM = {"tensor": 8, "pipeline": 8}
SHORT = {"model": "gpt3-175b", "global_batch": 64, "sequence_length": 1024}


@pytest.mark.parametrize(
    ("changes", "edit"),
    [
        (["parallelism.tensor=4"], {"parallelism": {"tensor": 4, "pipeline": 8}}),
        (
            ["parallelism.zero=1", "system.chunks=16"],
            {"parallelism": {**PARALLELISM, "zero": 1}, "system": {"chunks": 16}},
        ),
        (["cost=network-only"], {"cost": "network-only"}),
        (["system.collective=[ring, ring]"], {"system": {"chunks": 8, "collective": ["ring", "ring"]}}),
        (["workload={model: llama3-8b, global_batch: 64}"], {"workload": {"model": "llama3-8b", "global_batch": 64}}),
        (["workload.sequence_length=1024"], {"workload": SHORT}),
        (
            ["cluster.npu.memory.capacity=96 GB", "cluster.dimensions.1.size=16"],
            {"cluster": {**DESIGN["cluster"], "npu": {"base": "a100-80gb", "memory": {"capacity": "96 GB"}}}},
        ),
    ],
)
def test_set_does_what_an_edit_of_the_file_does(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], changes: list[str], edit: dict[str, Any]
) -> None:
    arguments = [part for change in changes for part in ("--set", change)]
    edited = write_design(tmp_path, {**DESIGN, **edit}, "edited.yaml")
    assert result(write_design(tmp_path), capsys, *arguments) == result(edited, capsys)


def test_set_reaches_into_lists_and_reads_units(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_design(tmp_path)
    before = path.read_bytes()
    slow = result(path, capsys)
    fast = result(path, capsys, "--set", "cluster.dimensions[1].bandwidth=400 GB/s")
    assert fast["iteration_time_s"] < slow["iteration_time_s"]
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("foo", "PATH=VALUE"),
        ("=3", "PATH=VALUE"),
        ("", "PATH=VALUE"),
        ("parallelism..zero=1", "PATH=VALUE"),
        ("parallelism.=1", "PATH=VALUE"),
        ("parallelism.zero]=1", "PATH=VALUE"),
        ("cluster.dimensions[7].size=4", "there is no '7'"),
        ("cluster.dimensions[2]=4", "there is no '2'"),
        ("workload.global_batch.size=3", "there is no 'size'"),
        ("[0]=3", "there is no '0'"),
        ("parallelism.tensr=4", "did you mean 'tensor'?"),
        ("parallelsm.tensor=4", "did you mean 'parallelism'?"),
        ("parallelism.zero=", "got None"),
        ("parallelism.zero=many", "'many'"),
        ("parallelism.zero={{", "not YAML"),
        ("parallelism.zero=1: 2", "not YAML"),
        ("parallelism=4", "a mapping"),
        ("parallelism.tensor=3", "multiply to 128"),
        ("cluster.dimensions[1].bandwidth=25", "with its unit"),
        ("cluster.npu=a100", "did you mean 'a100-"),
        ("parallelism.zero={choice: [0, 1]}", "a hole (choice)"),
    ],
)
def test_a_change_that_cannot_be_made_ends_with_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], change: str, said: str
) -> None:
    assert said in refused(write_design(tmp_path), capsys, f"--set={change}").replace("divide", "multiply to")


def test_every_bad_change_is_told_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    err = refused(write_design(tmp_path), capsys, "--set", "foo", "--set", "workload.global_batch.size=3")
    assert "2 problems" in err


@pytest.mark.parametrize(
    ("hole", "kind"),
    [
        ({"choice": [1, 2]}, "choice"),
        ({"range": [1, 2]}, "range"),
        ({"powers_of_two": [1, 2]}, "powers_of_two"),
        ({"expr": "1 + 1"}, "expr"),
    ],
)
def test_a_hole_in_a_design_is_told_with_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], hole: dict[str, Any], kind: str
) -> None:
    path = write_design(tmp_path, {**DESIGN, "parallelism": {"tensor": 8, "zero": hole}})
    line = path.read_text().splitlines().index("  zero:") + 1
    assert f"line {line}: parallelism.zero: expected a value, got a hole ({kind})" in refused(path, capsys)


def test_a_space_given_as_a_design_is_told_to_be_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_design(tmp_path, {**DESIGN, "objectives": {"minimize": ["mfu"]}, "study": {}})
    err = refused(path, capsys)
    assert "2 problems" in err
    assert "use it with dse optimize" in err


@pytest.mark.parametrize("engine", ["fst", "no.such:engine", "json:nothing", "json:__name__", ":", ""])
def test_an_unknown_engine_ends_with_2(tmp_path: Path, capsys: pytest.CaptureFixture[str], engine: str) -> None:
    assert "--engine" in refused(write_design(tmp_path), capsys, "--engine", engine)


@pytest.mark.parametrize("workload", [None, {"collective": "all_reduce", "size": "1 MiB"}])
def test_a_trace_is_valid_for_chrome_and_changes_no_number(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], workload: Any
) -> None:
    document: dict[str, Any] = dict(DESIGN)
    if workload is not None:
        document["workload"] = workload
        del document["parallelism"]
    path = write_design(tmp_path, document)
    traced = result(path, capsys, "--trace", str(tmp_path / "trace.json"))
    assert traced == result(path, capsys)
    trace = json.loads((tmp_path / "trace.json").read_text())
    spans = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    assert spans
    last = traced["iteration_time_s"] * 1e6
    for span in spans:
        assert isinstance(span["name"], str)
        assert isinstance(span["pid"], int)
        assert "tid" in span
        assert 0 <= span["ts"] <= span["ts"] + span["dur"] <= last * (1 + 1e-9)
    assert max(span["ts"] + span["dur"] for span in spans) > 0.5 * last


def test_blocks_of_a_stage_do_not_overlap_in_the_trace(tmp_path: Path) -> None:
    path = write_design(tmp_path)
    assert main(["simulate", str(path), "--trace", str(tmp_path / "trace.json")]) == 0
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    blocks: dict[int, list[tuple[float, float]]] = {}
    for event in events:
        if event["ph"] == "X" and event["tid"] == "blocks":
            blocks.setdefault(event["pid"], []).append((event["ts"], event["ts"] + event["dur"]))
    assert len(blocks) == 8
    for spans in blocks.values():
        spans.sort()
        assert all(end <= begin + 1e-6 for (_, end), (begin, _) in pairwise(spans))


def test_a_trace_that_cannot_be_written_is_an_error_without_a_traceback(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["simulate", str(write_design(tmp_path)), "--trace", str(tmp_path / "no" / "trace.json")]) in (1, 2)
    assert capsys.readouterr().err.startswith("dse simulate: ")


def test_many_problems_of_a_design_are_told_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = yaml.safe_load(yaml.safe_dump(DESIGN))
    document["cluster"]["npu"] = "a100-81gb"
    document["cluster"]["dimensions"][0]["latency"] = 7
    document["parallelism"]["tensr"] = 3
    document["system"]["collective"] = ["ring"]
    err = refused(write_design(tmp_path, document), capsys)
    for part in ("cluster.npu", "cluster.dimensions[0].latency", "parallelism.tensr", "system.collective"):
        assert part in err


@pytest.mark.parametrize("engine", ["flow", "auto"])
def test_a_trace_of_shared_links_is_what_the_flow_engine_played(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], engine: str
) -> None:
    document: dict[str, Any] = {
        "workload": {
            "model": {"hidden": 256, "layers": 4, "heads": 8, "vocabulary": 500, "sequence_length": 64},
            "global_batch": 64,
        },
        "parallelism": {"pipeline": 4, "data": 4},
        "cluster": {
            "npu": "a100-80gb",
            "dimensions": [{"topology": "ring", "size": 16, "bandwidth": "1 GB/s", "latency": "1 us", "tier": "node"}],
            "placement": ["pipeline", "tensor", "context", "data"],
        },
    }
    path, trace = write_design(tmp_path, document), tmp_path / "trace.json"
    assert main(["simulate", str(path), "--engine", engine, "--trace", str(trace), "--json"]) == 0
    out, err = capsys.readouterr()
    played = json.loads(out)
    assert (played["engine"], without_progress(err)) == ("flow", "")
    spans = [event for event in json.loads(trace.read_text())["traceEvents"] if event["ph"] == "X"]
    flows = [span for span in spans if span["tid"] == "dimension 0: ring(16)"]
    assert max(span["ts"] + span["dur"] for span in spans) == pytest.approx(1e6 * played["iteration_time_s"], rel=1e-9)
    assert min(span["args"]["pace"] for span in flows) < 1.0
    sums = [sum(span["dur"] for span in flows if span["pid"] == stage) for stage in range(4)]
    assert played["network"][0]["busy_s"] * 1e6 in [pytest.approx(each, rel=1e-9) for each in sums]
