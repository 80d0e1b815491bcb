"""What is wrong with a design document is said all at once, each problem with its line, and never with a traceback."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml
from designs import dimension, npu, training
from hypothesis import given, settings
from hypothesis import strategies as st

from dse.space.hole import KINDS_OF_HOLE
from simcore.check.load import HOLES, SPACE_KEYS, design_from, load_design
from simcore.document.problem import InputError, Problem, format_path

BROKEN = """
workload: {model: gpt3-175, global_batch: 64, sequence_lenght: 2048}
parallelism:
  tensor: 3
  pipeline: 2
  zero: 4
  recompute: sometimes
cluster:
  npu: a100-80gb
  dimensions:
    - {topology: switch, size: 8, bandwidth: 300, latency: 700 ns}
    - topology: tours
      size: 2
      bandwidth: 25 GB
      latency: 1.7 us
system:
  chunk: 64
  collective: [ring]
cost: librra
"""


def found(text: str, tmp_path: Path) -> list[Problem]:
    path = tmp_path / "design.yaml"
    path.write_text(text)
    with pytest.raises(InputError) as error:
        load_design(path)
    assert error.value.source == str(path)
    assert str(error.value).startswith(f"{path}: {len(error.value.problems)} problem")
    return error.value.problems


def refused(document: dict[str, Any]) -> str:
    with pytest.raises(InputError) as error:
        design_from(document)
    return str(error.value)


def test_all_problems_are_reported_at_once_each_with_its_line(tmp_path: Path) -> None:
    problems = {format_path(problem.path): problem for problem in found(BROKEN, tmp_path)}
    lines = {place: problem.line for place, problem in problems.items()}
    expected = {
        "workload.model": 2,
        "workload.sequence_lenght": 2,
        "parallelism.zero": 6,
        "parallelism.recompute": 7,
        "cluster.dimensions[0].bandwidth": 11,
        "cluster.dimensions[1].topology": 12,
        "cluster.dimensions[1].bandwidth": 14,
        "system.chunk": 17,
        "cost": 19,
    }
    assert expected.items() <= lines.items()
    assert problems["workload.model"].fix == "did you mean 'gpt3-175b'?"
    assert problems["workload.sequence_lenght"].fix == "did you mean 'sequence_length'?"
    assert problems["system.chunk"].fix == "did you mean 'chunks'?"
    assert problems["cost"].fix == "did you mean 'libra'?"
    assert "without one" in problems["cluster.dimensions[0].bandwidth"].found
    assert problems["cluster.dimensions[1].bandwidth"].found == "a size ('25 GB')"
    # Problems of form do not hide those of meaning.
    assert lines["system.collective"] == 18
    assert lines["parallelism"] == 3


def test_problems_are_listed_in_the_order_of_their_lines(tmp_path: Path) -> None:
    lines = [problem.line for problem in found(BROKEN, tmp_path)]
    assert None not in lines
    assert lines == sorted(line for line in lines if line is not None)


def test_every_required_key_is_asked_for(tmp_path: Path) -> None:
    places = {format_path(problem.path) for problem in found("parallelism: {}\n", tmp_path)}
    assert places == {"workload", "cluster"}
    places = {format_path(problem.path) for problem in found("workload: {}\ncluster: {dimensions: [{}]}\n", tmp_path)}
    assert places >= {
        "workload.model",
        "workload.global_batch",
        "cluster.npu",
        *(f"cluster.dimensions[0].{key}" for key in ("topology", "size", "bandwidth", "latency")),
    }


def test_a_hole_in_a_design_is_named_and_sent_to_optimize(tmp_path: Path) -> None:
    text = """
workload: {model: gpt3-175b, global_batch: 64}
parallelism: {tensor: {choice: [1, 2]}, zero: {range: [0, 3]}}
cluster:
  npu: a100-80gb
  dimensions: [{topology: switch, size: 8, bandwidth: {choice: [1 GB/s]}, latency: 1 us}]
objectives: {minimize: [iteration_time]}
"""
    problems = found(text, tmp_path)
    holes = {format_path(problem.path): problem.line for problem in problems if "a hole" in problem.found}
    assert holes == {"parallelism.tensor": 3, "parallelism.zero": 3, "cluster.dimensions[0].bandwidth": 6}
    assert all("dse optimize" in problem.fix for problem in problems if problem.path in (("objectives",),))
    assert any(problem.path == ("objectives",) and problem.line == 7 for problem in problems)


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("workload", "precision"), "fp12", "one of fp32, fp16, bf16, fp8"),
        (("workload", "global_batch"), 0, "workload.global_batch"),
        (("workload", "global_batch"), -4, "workload.global_batch"),
        (("workload", "global_batch"), 1.5, "workload.global_batch"),
        (("workload", "model"), 5, "workload.model"),
        (("workload", "model"), {"hidden": 8}, "workload.model.layers"),
        (("parallelism", "tensor"), 0, "parallelism.tensor"),
        (("parallelism", "tensor"), None, "parallelism.tensor"),
        (("parallelism", "zero"), -1, "parallelism.zero"),
        (("parallelism", "schedule"), "1f2b", "did you mean '1f1b'?"),
        (("parallelism", "bucket"), 25, "parallelism.bucket: expected a size with its unit"),
        (("parallelism", "bucket"), "25 MB/s", "got a bandwidth ('25 MB/s')"),
        (("parallelism",), "all", "a mapping of keys to values"),
        (("cluster", "npu"), "a100", "did you mean 'a100-40gb' or 'a100-80gb' or 'a100-pcie-80gb'?"),
        (("cluster", "npu"), {"peak": {}}, "cluster.npu.memory"),
        (("cluster", "npu", "peak"), {"fp12": "1 TFLOP/s"}, "fp12"),
        (("cluster", "npus"), 8, "it stands beside 'fabric'; beside 'dimensions' their sizes say"),
        (("cluster", "dimensions"), [], "cluster.dimensions"),
        (("cluster", "dimensions"), {}, "cluster.dimensions"),
        (("cluster", "dimensions", 0, "size"), 2.5, "cluster.dimensions[0].size"),
        (("cluster", "dimensions", 0, "tier"), "rack", "one of chiplet, package, node, pod"),
        (("cluster", "dimensions", 0, "oversubscription"), 0.5, "cluster.dimensions[0].oversubscription"),
        (("cluster", "dimensions", 0, "efficiency"), 0, "cluster.dimensions[0].efficiency"),
        (("system", "chunks"), 0, "system.chunks"),
        (("system", "intra_dimension"), "filo", "did you mean"),
        (("system", "active_chunks"), "some", "system.active_chunks"),
        (("system", "active_chunks"), 0, "system.active_chunks"),
        (("cost",), {"network": {}, "pue": 0.5}, "cost.pue"),
        (("cost",), 5, "cost"),
    ],
)
def test_each_value_out_of_form_is_refused_at_its_place(path: tuple[Any, ...], value: object, message: str) -> None:
    document: Any = training({}, [dimension(size=8)])
    inner = document
    for part in path[:-1]:
        inner = inner[part]
    inner[path[-1]] = value
    assert message in refused(document)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("workload", "global_batch"), "64"),
        (("parallelism", "tensor"), "1"),
        (("parallelism", "sequence_parallel"), "on"),
        (("system", "chunks"), "64"),
        (("cluster", "dimensions", 0, "size"), "8"),
        (("cluster", "dimensions", 0, "efficiency"), "0.5"),
    ],
)
def test_text_where_a_number_or_a_truth_is_meant_is_refused(path: tuple[Any, ...], value: str) -> None:
    document: Any = training({}, [dimension(size=8)])
    inner = document
    for part in path[:-1]:
        inner = inner[part]
    inner[path[-1]] = value
    assert format_path(path) in refused(document)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("peak",), {"fp16": "0 TFLOP/s"}),
        (("peak",), {"fp16": "-1 TFLOP/s"}),
        (("memory",), {"capacity": "80 GB", "bandwidth": "0 GB/s"}),
        (("memory",), {"capacity": "-80 GB", "bandwidth": "1 TB/s"}),
        (("overhead",), "-4 us"),
        (("gemm",), {"half": "-1 GFLOP"}),
        (("power",), {"max": "-400 W", "idle": "100 W"}),
        (("price",), "-5 $"),
    ],
)
def test_an_npu_that_cannot_exist_is_refused(path: tuple[str, ...], value: object) -> None:
    document = training({}, [dimension(size=8)], accelerator=npu(**{path[0]: value}))
    assert "cluster.npu" in refused(document)


@pytest.mark.parametrize("size", ["0 B", "-1 GiB"])
def test_a_collective_of_no_bytes_is_refused(size: str) -> None:
    document = {
        "workload": {"collective": "all_reduce", "size": size},
        "cluster": {"npu": npu(), "dimensions": [dimension(size=8)]},
    }
    assert "workload.size" in refused(document)


def test_a_bucket_below_no_bytes_is_refused() -> None:
    assert "parallelism.bucket" in refused(training({"bucket": "-1 MB"}, [dimension(size=8)]))


LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 10),
    st.floats(allow_nan=True),
    st.sampled_from(["", "8", "1 GB", "ring", "all_reduce", "a100-80gb", "libra", "-1 us", "1e3 GB/s"]),
    st.lists(st.integers(), max_size=2),
    st.dictionaries(st.sampled_from(["choice", "size", "x"]), st.integers(), max_size=2),
)


def _paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(inner for key, entry in items for inner in _paths(entry, (*path, key)))]


_WHOLE = training({"tensor": 2, "pipeline": 2}, [dimension(size=8), dimension("ring", 2)], system={"chunks": 4})
_PATHS = [path for path in _paths(_WHOLE) if path]


@settings(max_examples=300)
@given(st.lists(st.tuples(st.sampled_from(_PATHS), LEAVES), min_size=1, max_size=3))
def test_whatever_stands_at_any_place_is_a_design_or_an_input_error(changes: list[tuple[tuple[Any, ...], Any]]) -> None:
    document: Any = copy.deepcopy(_WHOLE)
    for path, value in changes:
        inner = document
        try:
            for part in path[:-1]:
                inner = inner[part]
            inner[path[-1]] = value
        except (KeyError, IndexError, TypeError):
            continue
    try:
        design_from(document)
    except InputError as error:
        assert error.problems  # noqa: PT017
        assert all(problem.expected and problem.found for problem in error.problems)  # noqa: PT017


@pytest.mark.parametrize("workload", [{"trace": "nothing", "ranks": [8]}, {"layers": "nothing.csv", "global_batch": 8}])
def test_a_file_that_is_not_there_is_one_problem(workload: dict[str, Any], tmp_path: Path) -> None:
    dimension = {"topology": "ring", "size": 8, "bandwidth": "50 GB/s", "latency": "1 us"}
    cluster = {"npu": "h100-80gb", "dimensions": [dimension]}
    document = {"workload": {**workload, "precision": "bf16"}, "parallelism": {"tensor": 3}, "cluster": cluster}
    (tmp_path / "design.yaml").write_text(yaml.safe_dump(document))
    with pytest.raises(InputError) as refused:
        load_design(tmp_path / "design.yaml")
    assert len(refused.value.problems) == 1
    assert "nothing" in str(refused.value)


def test_an_unknown_key_of_a_workload_is_answered_with_those_of_its_kind() -> None:
    served = {"model": "llama3-8b", "global_batch": 8, "prompt_length": 512, "output_length": 64}
    cluster = {"npu": npu(), "dimensions": [dimension()]}
    said = refused({"workload": {**served, "sequence_length": 4096}, "cluster": cluster})
    assert "got 'sequence_length'; known keys: model, global_batch, prompt_length, output_length, " in said
    assert "sequence_length, " not in said.partition("known keys")[2]


def test_a_comma_in_a_number_is_told_as_the_end_of_an_entry(tmp_path: Path) -> None:
    workload = "workload: {model: llama3-8b, global_batch: 1,024, precision: bf16}"
    (problem,) = found(f"{workload}\ncluster: {{npu: h100-80gb, fabric: dgx-h100, npus: 8}}", tmp_path)
    assert problem.fix == "a comma in a number begins another entry: write 1024, not 1,024"


@pytest.mark.parametrize("key", SPACE_KEYS)
def test_a_key_of_a_space_is_none_of_a_design(key: str) -> None:
    with pytest.raises(InputError) as refused:
        design_from({**training({"data": 8}, [dimension("switch", 8)]), key: []})
    assert [str(problem) for problem in refused.value.problems] == [
        f"{key}: expected a design, got '{key}', a key of a space; use it with dse optimize"
    ]


def test_the_holes_that_a_design_may_not_have_are_those_of_a_space() -> None:
    assert sorted(HOLES) == sorted(KINDS_OF_HOLE)


def test_a_model_that_is_not_known_takes_the_blame_for_what_only_another_one_would_not_do(tmp_path: Path) -> None:
    text = """
    workload: {model: qwen3-235b, global_batch: 64, sequence_length: 4096}
    parallelism: {tensor: 7, expert: 4}
    cluster: {npu: h100-80gb, fabric: dgx-h100, npus: 56}
    """
    (problem, *others) = found(text, tmp_path)
    assert format_path(problem.path) == "workload.model"
    assert {format_path(other.path) for other in others} <= {"parallelism", "parallelism.microbatch"}


def test_a_device_that_is_spelled_out_is_told_all_that_it_lacks_at_once() -> None:
    memory = {"capacity": "32 GiB", "bandwith": "880 GB/s"}
    mine = {"name": "mine", "peak": {"fp16": "190 TFLOP/s"}, "memory": memory}
    told = refused(training({}, [dimension(size=8)], accelerator=mine))
    assert "cluster.npu.power: expected this required key, got nothing; add 'power' with 'max' and 'idle'" in told
    assert "got 'bandwith'; did you mean 'bandwidth'?" in told
    assert "4 problems" in told


def test_a_device_without_power_and_price_is_told_both() -> None:
    mine = npu()
    del mine["power"], mine["price"]
    told = refused(training({}, [dimension(size=8)], accelerator=mine) | {"cost": "libra"})
    assert "cluster.npu.power: expected this required key" in told
    assert "expected an NPU priced in 'libra', got 'round'" in told


def test_a_price_without_a_unit_is_not_also_a_price_that_lacks() -> None:
    told = refused(training({}, [dimension(size=8)], accelerator=npu(price=8000)) | {"cost": "libra"})
    assert "cluster.npu.price: expected an amount of money with its unit" in told
    assert "priced in" not in told
