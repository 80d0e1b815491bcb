"""`dse trace`: its doors, from the command line. What it makes is tested in tests/simcore/traces."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from dse.cli import main
from simcore.astra.files.chakra import Attribute, NodeType, TensorInfo, TraceNode, int_attribute, write_trace
from simcore.astra.files.nanoseconds import Clock, nanosecond_node

RECORDED = Path(__file__).parents[1] / "simcore" / "traces" / "data"
TEXT = Path(__file__).parents[1] / "simcore" / "astra" / "data" / "text_workloads" / "gpt3.txt"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the recorded run as the current folder."""
    for path in RECORDED.glob("*.gz"):
        shutil.copy(path, tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path


def run(*arguments: str) -> int:
    try:
        return main(["trace", *arguments])
    except SystemExit as end:
        return int(end.code or 0)


def problems_told(err: str) -> list[str]:
    """The lines that count problems; on a busy machine lines of progress stand before them."""
    return [line for line in err.splitlines() if line.startswith("dse trace: ") and "problem" in line]


def convert(*more: str) -> int:
    return run("convert", "host.{rank}.json.gz", "--timeline", "kineto.{rank}.json.gz", "--out", "out/run", *more)


def change(name: str, edit: Any) -> None:
    document = json.loads(gzip.decompress(Path(name).read_bytes()))
    edit(document)
    Path(name).write_bytes(gzip.compress(json.dumps(document).encode()))


def test_a_recording_is_converted_shown_and_shared(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert convert() == 0
    assert "wrote 2 ranks" in capsys.readouterr().err
    assert run("show", "out/run", "--json", "--graphml", "g.graphml", "--perfetto", "p.json") == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["collectives"]["reduce_scatter"] == {"count": 2, "bytes": 32768}
    assert summary["anomalies"] == []
    assert (folder / "g.graphml").stat().st_size > 0
    assert json.loads((folder / "p.json").read_text())["traceEvents"]
    assert run("generate", "out/run", "--out", "shared") == 0
    assert b"aten" in (folder / "out/run.0.et").read_bytes()
    assert b"aten" not in (folder / "shared.0.et").read_bytes()


def test_the_summary_keeps_to_80_columns(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert convert() == 0
    assert run("show", "out/run") == 0
    out = capsys.readouterr().out
    assert "reduce scatter" in out
    assert max(map(len, out.splitlines())) <= 80


def test_flops_are_summed_and_times_in_their_place_are_not(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    counted = [(int_attribute("num_ops", flops),) for flops in (1_500_000_000_000, 10**12)]
    nodes = [TraceNode(place, "gemm", NodeType.COMP, attributes=each) for place, each in enumerate(counted)]
    timed = nanosecond_node(2, "timed", 10**15, (), Clock())
    write_trace(folder / "one.et", [*nodes, timed])
    assert run("show", "one.et", "--json") == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["flops"] == summary["per_rank"][0]["flops"] == 2_500_000_000_000
    assert run("show", "one.et") == 0
    assert "3 compute, 2.5 TFLOP" in capsys.readouterr().out


def test_a_design_that_astra_sim_lacks_is_refused_with_what_to_write(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "design.yaml").write_text(
        "workload: {model: llama3-8b, global_batch: 8, sequence_length: 1024, precision: bf16}\n"
        "parallelism: {pipeline: 4, data: 2, schedule: zero_bubble}\n"
        "cluster: {npu: h100-80gb, fabric: dgx-h100, npus: 8}\n"
    )
    assert run("convert", "design.yaml", "--out", "out/design") == 2
    problems = [line for line in capsys.readouterr().err.splitlines() if "expected" in line]
    assert any("'zero_bubble'; schedule: 1f1b" in line for line in problems)
    assert all("; " in line.partition("got")[2] for line in problems)


def test_text_is_converted_with_the_sizes_of_a_network(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("convert", str(TEXT), "--dimensions", "4,2", "--out", "out/text") == 0
    assert "wrote 8 ranks" in capsys.readouterr().err
    assert len(list((folder / "out").iterdir())) == 8


def cut(name: str) -> None:
    path = Path(name)
    path.write_bytes(gzip.compress(gzip.decompress(path.read_bytes())[:-5000]))


def rename_call(document: Any) -> None:
    next(n for n in document["nodes"] if n["name"] == "c10d::allreduce_")["name"] = "c10d::allmumble_"


def turn_in_a_circle(document: Any) -> None:
    call = next(n for n in document["nodes"] if n["name"] == "c10d::allreduce_")
    parent = next(n for n in document["nodes"] if n["id"] == call["ctrl_deps"])
    parent["ctrl_deps"] = call["id"]


def of_another_run(document: Any) -> None:
    for event in document["traceEvents"]:
        event["args"].pop("Record function id", None)


def with_a_group_of_one(document: Any) -> None:
    node = next(n for n in document["nodes"] if n["name"] == "## process_group:init ##")
    listed = json.loads(node["inputs"]["values"][0])
    node["inputs"]["values"] = [json.dumps([*listed, {"pg_name": "5", "ranks": [0], "group_size": 1}])]


BAD = [
    (lambda: change("host.0.json.gz", with_a_group_of_one), "expected the name of its process group, got none, and"),
    (
        lambda: cut("host.0.json.gz"),
        "host.0.json.gz: expected an execution trace of PyTorch, got no JSON, or cut short",
    ),
    (lambda: cut("kineto.1.json.gz"), "kineto.1.json.gz: expected a timeline of Kineto (Chrome trace), got no JSON"),
    (
        lambda: Path("host.1.json.gz").write_bytes(Path("host.1.json.gz").read_bytes()[:9000]),
        "expected an execution trace of PyTorch, got a gzip file that is cut short or damaged",
    ),
    (lambda: Path("host.1.json.gz").unlink(), "expected a file of each of 2 ranks, got none of rank 1"),
    (lambda: Path("kineto.0.json.gz").unlink(), "expected a file of each of 2 ranks, got none of rank 0"),
    (lambda: change("host.0.json.gz", rename_call), "got the unknown operator 'c10d::allmumble_'"),
    (lambda: change("host.0.json.gz", turn_in_a_circle), "expected callers without a circle"),
    (lambda: change("host.1.json.gz", lambda d: d.update(schema="9")), "expected schema 1.0.2-chakra.0.0.4 to"),
    (lambda: change("kineto.1.json.gz", of_another_run), "expected a timeline of the same run as host.1.json.gz"),
    (
        lambda: shutil.copy("kineto.1.json.gz", "kineto.0.json.gz"),
        "expected the timeline of rank 0, got that of rank 1",
    ),
    (lambda: shutil.copy("kineto.0.json.gz", "host.0.json.gz"), "got a timeline of Kineto"),
]


@pytest.mark.parametrize(("spoil", "message"), BAD, ids=[message[:60] for _, message in BAD])
def test_a_bad_recording_is_one_message_and_nothing_is_written(
    folder: Path, capsys: pytest.CaptureFixture[str], spoil: Any, message: str
) -> None:
    spoil()
    assert convert() == 2
    err = capsys.readouterr().err
    assert message in err
    assert problems_told(err) == ["dse trace: trace: 1 problem"]
    assert not (folder / "out").exists()


def test_the_group_of_collectives_that_name_none_can_be_said(folder: Path) -> None:
    change("host.0.json.gz", with_a_group_of_one)
    assert convert("--group", "0") == 0
    assert not (folder / "out/run.comm_groups.json").exists()


def test_an_execution_trace_without_its_timeline_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("convert", "host.{rank}.json.gz", "--out", "out/run") == 2
    assert "expected the Kineto timeline of the same run, got none" in capsys.readouterr().err
    assert not (folder / "out").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("convert", "nothing.{rank}.json", "--timeline", "x.json", "--out", "o"), "files of this pattern, got none"),
        (("convert", "run.xyz", "--out", "o"), "got a name of no known ending"),
        (("convert", "missing.txt", "--dimensions", "8", "--out", "o"), "missing.txt: expected"),
        (("convert", "missing.yaml", "--out", "o"), "missing.yaml"),
        (("show", "nothing"), "expected a prefix of traces, or one .et file, got no such files"),
        (("generate", "drawn.yaml", "--out", "o"), "collectives[0].group: expected a divisor of 8 ranks, got 3"),
        (("convert", "run.txt", "--dimensions", "8,x", "--out", "o"), "expected sizes of at least 2"),
    ],
)
def test_other_doors_refuse_with_one_message(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], message: str
) -> None:
    (folder / "drawn.yaml").write_text(
        "traces: {ranks: 8, operators: 5, compute: 1 ms, "
        "collectives: [{collective: all_reduce, share: 0.5, size: 1 MiB, group: 3}]}"
    )
    assert run(*arguments) == 2
    err = capsys.readouterr().err
    assert message in err
    assert "Traceback" not in err
    assert not list(folder.glob("o*"))


def test_a_trace_that_is_cut_short_or_lacks_a_rank_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert convert() == 0
    path = folder / "out" / "run.1.et"
    whole = path.read_bytes()
    path.write_bytes(whole[:-10])
    assert run("show", "out/run") == 2
    assert "cut short" in capsys.readouterr().err
    path.rename(folder / "out" / "run.2.et")
    assert run("generate", "out/run", "--out", "o") == 2
    assert "run.1.et: expected a trace of each of 3 ranks, got none of this" in capsys.readouterr().err


def test_traces_are_not_mixed_with_those_of_more_ranks_that_lie_there(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("convert", str(TEXT), "--dimensions", "4", "--out", "out/run") == 0
    assert convert() == 2
    assert "run.2.et: expected traces of 2 ranks only, got a file of another rank" in capsys.readouterr().err


def collective(*attributes: Attribute) -> TraceNode:
    return TraceNode(7, "all", NodeType.COMM_COLL, attributes=attributes)


SIZE = int_attribute("comm_size", 4096)
ODD_NODES = [
    (collective(SIZE), "expected a comm_type of all_reduce, reduce,"),
    (collective(SIZE, int_attribute("comm_type", -1)), "got the unknown operator -1 (node 7, 'all')"),
    (collective(SIZE, int_attribute("comm_type", 77)), "got the unknown operator 77 (node 7, 'all')"),
    (collective(int_attribute("comm_type", 0)), "expected a whole number of at least 0 as comm_size, got none"),
    (
        collective(int_attribute("comm_type", 0), Attribute("comm_size", float("nan"), "double")),
        "expected a whole number of at least 0 as comm_size, got nan",
    ),
    (TraceNode(7, "to", NodeType.COMM_SEND, attributes=(SIZE,)), "at least 0 as comm_dst, got none (node 7, 'to')"),
    (TraceNode(7, "what", NodeType.INVALID), "expected an operator of a known kind, got none (node 7, 'what')"),
    (TraceNode(7, "load", NodeType.MEM_LOAD), "at least 0 as tensor_size, got none (node 7, 'load')"),
    (
        TraceNode(7, "gemm", NodeType.COMP, attributes=(int_attribute("num_ops", -5),)),
        "expected a whole number of at least 0 as num_ops, got -5 (node 7, 'gemm')",
    ),
]


@pytest.mark.parametrize(("node", "message"), ODD_NODES, ids=[message[:60] for _, message in ODD_NODES])
@pytest.mark.parametrize("verb", ["show", "generate"])
def test_a_node_that_does_not_say_what_it_is_is_one_problem(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    verb: str,
    node: TraceNode,
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    write_trace(tmp_path / "bad.0.et", [node])
    assert run(verb, "bad", *(("--out", "o") if verb == "generate" else ())) == 2
    err = capsys.readouterr().err
    assert message in err
    assert problems_told(err) == ["dse trace: trace: 1 problem"]
    assert not list(tmp_path.glob("o*"))


def send(to: int) -> TraceNode:
    return TraceNode(0, "to", NodeType.COMM_SEND, attributes=(SIZE, int_attribute("comm_dst", to)))


def without_the_last(folder: Path) -> str:
    write_trace(folder / "t.0.et", [], ranks=2)
    return "t.1.et: expected a trace of each of 2 ranks, got none of this, of which t.0.et speaks"


def with_a_message_to_the_missing(folder: Path) -> str:
    write_trace(folder / "t.0.et", [send(2)])
    return "t.1.et: expected a trace of each of 3 ranks, got none of this and 1 more, of which t.0.et speaks"


def with_a_group_of_the_missing(folder: Path) -> str:
    write_trace(folder / "t.0.et", [])
    (folder / "t.comm_groups.json").write_text('{"1": [0, 1]}')
    return "t.1.et: expected a trace of each of 2 ranks, got none of this, of which group 1 speaks"


def with_process_groups(folder: Path) -> str:
    listed = TensorInfo("['" + json.dumps([{"pg_name": "0", "ranks": [0, 1]}]) + "']")
    write_trace(folder / "t.0.et", [TraceNode(0, "groups", NodeType.METADATA, inputs=listed)])
    return "t.1.et: expected a trace of each of 2 ranks, got none of this, of which t.0.et speaks"


def mixed_with_another_run(folder: Path) -> str:
    write_trace(folder / "t.0.et", [], ranks=1)
    write_trace(folder / "t.1.et", [], ranks=2)
    return "t.0.et: expected one of 2 ranks, as there are here, got one of 1; traces of different runs may be mixed"


@pytest.mark.parametrize(
    "spoil",
    [
        without_the_last,
        with_a_message_to_the_missing,
        with_a_group_of_the_missing,
        with_process_groups,
        mixed_with_another_run,
    ],
)
@pytest.mark.parametrize("verb", ["show", "generate"])
def test_a_rank_that_others_speak_of_must_be_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], verb: str, spoil: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    message = spoil(tmp_path)
    assert run(verb, "t", *(("--out", "o") if verb == "generate" else ())) == 2
    err = capsys.readouterr().err
    assert message in err
    assert problems_told(err) == ["dse trace: trace: 1 problem"]


@pytest.mark.parametrize("named", [False, True])
def test_files_that_do_not_say_how_many_ranks_they_are_are_said_to_count_as_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], named: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    for rank in range(3):
        write_trace(tmp_path / f"t.{rank}.et", [send(2)] if named and rank == 0 else [])
    note = "note: nothing in the files says of how many ranks they are: the 3 here count as all"
    for verb in (("show", "t"), ("generate", "t", "--out", "o")):
        assert run(*verb) == 0
        assert (note in capsys.readouterr().err) is not named


def test_a_trace_that_ends_between_two_nodes_is_cut_short(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nodes = [TraceNode(place, "gemm", NodeType.COMP) for place in range(3)]
    write_trace(folder / "whole.et", nodes, ranks=1)
    write_trace(folder / "less.et", nodes[:2], ranks=1)
    kept = len((folder / "less.et").read_bytes())
    (folder / "cut.et").write_bytes((folder / "whole.et").read_bytes()[:kept])
    assert run("show", "cut.et") == 2
    assert "expected the 3 nodes it says it has, got 2; cut short" in capsys.readouterr().err


def test_so_many_passes_that_no_trace_holds_them_are_refused_at_once(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ("convert", str(TEXT), "--dimensions", "4,2", "--out", "o", "--num-passes")
    assert run(*asked, "999999999") == 2
    err = capsys.readouterr().err
    assert "expected at most 1,000,000 nodes, got 999,999,999 passes of" in err
    assert "--num-passes 6849" in err
    assert not list(folder.glob("o*"))
    assert run(*asked, "3") == 0
    assert "wrote 8 ranks" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("ALLMUMBLE", "got 'ALLMUMBLE'; ASTRA-sim takes it for NONE"),
        ("allreduce", "got 'allreduce'; ASTRA-sim takes it for NONE"),
        ("4096", "got '4096'; is a figure missing before it?"),
    ],
)
def test_an_unknown_word_of_a_text_workload_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str], word: str, message: str
) -> None:
    (folder / "odd.txt").write_text(TEXT.read_text().replace("ALLREDUCE", word, 1))
    assert run("convert", "odd.txt", "--dimensions", "4,2", "--out", "o") == 2
    err = capsys.readouterr().err
    assert "expected one of NONE, ALLREDUCE, ALLTOALL, ALLGATHER, REDUCESCATTER, " + message in err
    assert problems_told(err) == ["dse trace: trace: 1 problem"]
