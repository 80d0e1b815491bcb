"""Bad spaces: each problem is told with its line and path, all of them at once, and never as a crash."""

from __future__ import annotations

import copy
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path as FilePath
from typing import Any

import pytest
import yaml
from tiny_spaces import TINY, at_most, tiny

from dse.space.expression import Expression, make_lookup
from dse.space.space import load_space, space_from
from simcore.document.problem import InputError, Refusal, format_path
from simcore.document.text import parse_document


def written(folder: FilePath, text: str | bytes) -> FilePath:
    path = folder / "space.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def refused(folder: FilePath, text: str | bytes) -> InputError:
    with pytest.raises(InputError) as caught:
        load_space(written(folder, text))
    assert str(folder / "space.yaml") in str(caught.value)
    return caught.value


def line_of(text: str, part: str) -> int:
    return text[: text.index(part)].count("\n") + 1


CHANGES = [
    # what stands in the file, what stands there instead, path, what the message says
    ("  zero:", "  zeor:", "parallelism.zeor", ["a known key", "did you mean 'zero'?"]),
    ("system:", "sytem:", "sytem", ["a known key", "did you mean 'system'?"]),
    ("      size: 2", "      sise: 2", "cluster.dimensions[1].sise", ["a known key", "did you mean 'size'?"]),
    ("  zero:", "  software: deepspeed\n  zero:", "parallelism.software", ["a known key", "at the top of the"]),
    ("system:", "microbatch: 1\nsystem:", "microbatch", ["a known key", "it stands in 'parallelism'"]),
    ("bandwidth: 25 GB/s", "bandwidth: 25", "cluster.dimensions[1].bandwidth", ["a bandwidth with its unit", "25"]),
    ("latency: 1.7 us", "latency: 1.7 GB", "cluster.dimensions[1].latency", ["a time such as", "a size ('1.7 GB')"]),
    ("100 GB/s, 200 GB/s", "100 GB/s, 200 GB", "cluster.dimensions[0].bandwidth.choice[1]", ["a bandwidth", "a size"]),
    ("- v100-32gb", "- v100-32gbb", "cluster.npu.choice[1]", ["'v100-32gbb'", "did you mean 'v100-32gb'?"]),
    ("- h100-80gb", "- h100-90gb", "cluster.npu.choice[2]", ["'h100-90gb'", "did you mean 'h100-80gb'?"]),
    ("cost: libra", "cost: libre", "cost", ["'libre'", "did you mean 'libra'?"]),
    ("product: 8,", "product: 16,", "parallelism", ["degrees whose product is the 8 NPUs", "16"]),
    ("[ring, ring]", "[ring, ring, ring]", "system.collective", ["one algorithm for each of the 2 dimensions", "3"]),
    ("[ring, ring]", "[ring, rong]", "system.collective[1]", ["'rong'", "did you mean 'ring'?"]),
    ("choice: [0, 1]", "choice: []", "parallelism.zero.choice", ["at least one alternative"]),
    ("choice: [0, 1]", "choice: [0, 4]", "parallelism.zero.choice[1]", ["at most 3", "4"]),
    ("sampler: auto", "sampler: nsga", "study.sampler", ["one of auto, exact, guided", "did you mean 'nsga"]),
    ("trials: 40", "trials: 0", "study.trials", ["greater than 0"]),
    ("trials: 40", "trails: 40", "study.trails", ["a known key", "did you mean 'trials'?"]),
    ("seed: 0", "seed: -1", "study.seed", ["greater than or equal to 0"]),
    ("[iteration_time, cost.total]", "[iteration_tme]", "objectives.minimize[0]", ["a metric", "'iteration_time'?"]),
    ("[iteration_time, cost.total]", "[iteration_tme * 2]", "objectives.minimize[0]", ["mean 'iteration_time'?"]),
    ("[iteration_time, cost.total]", "[mfu <= 3]", "objectives.minimize[0]", ["a number", "under 'constraints'"]),
    ("[iteration_time, cost.total]", "[2 + 2]", "objectives.minimize[0]", ["names a metric"]),
    ("[iteration_time, cost.total]", "[mfu +]", "objectives.minimize[0]", ["an expression such as", "'mfu +'"]),
    ("[iteration_time, cost.total]", "[mfu / 0]", "objectives.minimize", ["a divisor other than 0", "'mfu / 0'"]),
    ("[iteration_time, cost.total]", "[parallelism.x * 2]", "objectives.minimize", ["a path of the document"]),
    ("[iteration_time, cost.total]", "[time_to_train * 2]", "objectives.minimize", ["training_tokens"]),
    ("[iteration_time, cost.total]", "[mfu, mfu]", "objectives.minimize[1]", ["each metric once"]),
    ("[iteration_time, cost.total]", "[]", "objectives.minimize", ["at least one"]),
    ("[iteration_time, cost.total]", "[[mfu]]", "objectives.minimize[0]", ["a metric"]),
    ("[iteration_time, cost.total]", "{mfu: 1}", "objectives.minimize[0]", ["a metric"]),
    ("  minimize:", "  minimise:", "objectives.minimise", ["minimize or maximize", "did you mean 'minimize'?"]),
    ("constraints: [fits]", "constraints: fits", "constraints", ["a list of conditions"]),
    ("constraints: [fits]", "constraints: [3 <= 4]", "constraints[0]", ["names a metric or a value", "3 <= 4"]),
    ("constraints: [fits]", "constraints: [3]", "constraints[0]", ["a condition in text"]),
    ("constraints: [fits]", "constraints: [fits, fitz]", "constraints[1]", ["'fitz'", "did you mean 'fits'?"]),
    ("constraints: [fits]", "constraints: ['power <= 80 kWt']", "constraints[0]", ["known unit", "mean 'kW'?"]),
    ("constraints: [fits]", "constraints: ['cost.total <= 8 M']", "constraints[0]", ["known unit", "mean 'M$'?"]),
    ("constraints: [fits]", "constraints: ['memory.peak <= 8 G']", "constraints[0]", ["known unit", "mean 'GB'?"]),
    ("constraints: [fits]", "constraints: ['power <= 80 GiB']", "constraints[0]", ["units of one kind", "W and B"]),
    ("[iteration_time, cost.total]", "[power + 2 s]", "objectives.minimize[0]", ["units of one kind", "W and s"]),
    ("constraints: [fits]", "constraints: ['power.real() <= 1']", "constraints[0]", ["min max"]),
    ("constraints: [fits]", "constraints: ['parallelism.tensr <= 4']", "constraints[0]", ["parallelism.tensr"]),
    ("constraints: [fits]", "constraints: ['cluster.dimensions[5].size <= 4']", "constraints[0]", ["dimensions[5]"]),
    ("constraints: [fits]", "constraints: [tensor <= 4]", "constraints[0]", ["did you mean 'parallelism.tensor'?"]),
    ("constraints: [fits]", "constraints: [memory <= 80 GB]", "constraints[0]", ["did you mean 'memory.peak'?"]),
    ("constraints: [fits]", "constraints: [parallelism.tensr <= 4]", "constraints[0]", ["mean 'parallelism.tensor'?"]),
    ("constraints: [fits]", "constraints: [workload.precision <= 4]", "constraints[0]", ["numbers", "'fp16' beside 4"]),
    ("constraints: [fits]", "constraints: [workload.precision == 4]", "constraints[0]", ["numbers", "'fp16' beside 4"]),
    ("seed: 0", "gap: 2", "study.gap", ["less than 1"]),
    ("constraints: [fits]", "constraints: ['cost.total / 0 <= 4']", "constraints[0]", ["a divisor other than 0"]),
    ("constraints: [fits]", "constraints: [\"memory.peak <= '80 GiB'\"]", "constraints[0]", ["number"]),
    ("recompute: none", "recompute: {expr: zero.x}", "parallelism.recompute", ["a path of the document", "zero.x"]),
    ("recompute: none", "recompute: {expr: 1 // 0}", "parallelism.recompute", ["a divisor other than 0"]),
    ("chunks: 4", "chunks: {range: [9, 1]}", "system.chunks.range", ["the least end first"]),
    ("chunks: 4", "chunks: {powers_of_two: [3, 8]}", "system.chunks.powers_of_two", ["powers of two"]),
    ("global_batch: 16", "global_batch: sixteen", "workload.global_batch", ["whole number", "'sixteen'"]),
    ("global_batch: 16", "global_batch: 8k", "workload.global_batch", ["whole number", "write 8000"]),
    ("precision: fp16", "sequence_length: 128k", "workload.sequence_length", ["write 131072 or 128000"]),
    ("precision: fp16", "training_tokens: 1.5T", "workload.training_tokens", ["a number", "write 1.5e12"]),
    ("precision: fp16", "precision: fp17", "workload.precision", ["one of", "'fp17'", "did you mean 'fp16'?"]),
    ("  zero:", "  tp: 4\n  zero:", "parallelism.tp", ["a known key", "did you mean 'tensor'?"]),
    ("precision: fp16", "tokens: 1e12", "workload.tokens", ["a known key", "did you mean 'training_tokens'?"]),
    ("recompute: none", "recompute: [none, full]", "parallelism.recompute", ["is written {choice: [none, full]}"]),
    ("- {topology: switch", "- {topology: swich", "cluster.dimensions[0].topology", ["did you mean 'switch'?"]),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "path", "said"), CHANGES)
def test_a_mistake_is_told_with_its_line_its_path_and_what_was_expected(
    tmp_path: FilePath, old: str, new: str, path: str, said: list[str]
) -> None:
    assert TINY.count(old) >= 1
    text = TINY.replace(old, new, 1)
    error = refused(tmp_path, text)
    told = {format_path(problem.path): problem for problem in error.problems}
    assert path in told, str(error)
    at = "parallelism:" if path == "parallelism" else new.strip()
    assert told[path].line == line_of(text, at), str(error)
    for part in said:
        assert part in str(told[path])


def test_all_mistakes_of_a_file_are_told_at_once_in_the_order_of_lines(tmp_path: FilePath) -> None:
    changes = {
        "global_batch: 16": "global_batch: sixteen",
        "  zero:": "  zeor:",
        "- h100-80gb": "- h100-90gb",
        "bandwidth: 25 GB/s": "bandwidth: 25",
        "[ring, ring]": "[ring, rong]",
        "[iteration_time, cost.total]": "[iteration_time, cost.totl]",
        "constraints: [fits]": "constraints: [fits, 'x <= 3']",
        "sampler: auto": "sampler: atuo",
    }
    text = TINY
    for old, new in changes.items():
        text = text.replace(old, new, 1)
    error = refused(tmp_path, text)
    lines = [problem.line for problem in error.problems]
    assert lines == sorted(line for line in lines if line is not None)
    assert set(lines) == {line_of(text, new.strip()) for new in changes.values()}


def test_mistakes_beside_a_hole_that_cannot_be_read_are_told_with_it(tmp_path: FilePath) -> None:
    dimensions = [
        {"topology": "switch", "size": 8, "latency": "1 us"},
        {"topology": "swich", "size": 2, "latency": 5, "tier": "pod"},
    ]
    space = {
        "workload": {"model": "llama3-8b", "global_batch": 64, "precision": "bf17"},
        "parallelism": {"degrees": {"product": 16, "of": ["tensro", "data"]}, "zero": {"choice": [1, 5]}},
        "cluster": {
            "npu": "h100-80gb",
            "bandwidth": {"split": "200 GB/s", "stp": "25 GB/s"},  # so dimensions lack theirs, which is no mistake
            "dimensions": dimensions,
        },
        "objectives": {"minimize": ["iteration_time"]},
    }
    error = refused(tmp_path, yaml.safe_dump(space))
    assert sorted({format_path(problem.path) for problem in error.problems}) == [
        "cluster.bandwidth.split",
        "cluster.bandwidth.stp",
        "cluster.dimensions[1].latency",
        "cluster.dimensions[1].topology",
        "parallelism.degrees.product",
        "parallelism.zero.choice[1]",
        "workload.precision",
    ]
    assert "did you mean 'tensor'?" in str(error)


def test_the_same_mistake_in_many_combinations_is_told_once(tmp_path: FilePath) -> None:
    error = refused(tmp_path, TINY.replace("bandwidth: 25 GB/s", "bandwidth: {range: [1 us, 2 us]}", 1))
    assert len(error.problems) == 1, str(error)


def test_a_wrong_alternative_inside_an_alternative_is_found_before_the_search(tmp_path: FilePath) -> None:
    old = "    - topology: switch\n      size: 2\n      bandwidth: 25 GB/s\n"
    new = "    - topology: switch\n      size: 2\n      bandwidth: {choice: [25 GB/s, {choice: [50 GB/s, 75 us]}]}\n"
    error = refused(tmp_path, TINY.replace(old, new))
    paths = [format_path(problem.path) for problem in error.problems]
    assert paths == ["cluster.dimensions[1].bandwidth.choice[1].choice[1]"]


def test_a_split_that_is_too_small_for_one_of_the_shapes_is_told(tmp_path: FilePath) -> None:
    cluster = {
        "npu": "a100-80gb",
        "bandwidth": {"split": "75 GB/s", "step": "50 GB/s"},
        "dimensions": [{"topology": "switch", "size": size, "latency": "1 us"} for size in (4, 2)],
    }
    error = refused(tmp_path, yaml.safe_dump(tiny(cluster=cluster)))
    assert "at least 2 steps of 50 GB/s, got 75 GB/s" in str(error)
    assert error.problems[0].path[:1] == ("cluster",)


def test_a_list_of_algorithms_that_matches_only_some_of_the_shapes_is_told(tmp_path: FilePath) -> None:
    one = {"topology": "switch", "size": 8, "bandwidth": "1 GB/s", "latency": "1 us"}
    cluster = {"npu": "a100-80gb", "dimensions": {"choice": [[{**one, "size": 4}, {**one, "size": 2}], [one]]}}
    error = refused(tmp_path, yaml.safe_dump(tiny(cluster=cluster)))
    assert "one algorithm for each of the 1 dimensions, got 2" in str(error)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("workload: [1, 2", "text that is not YAML"),
        ("a: b: c", "text that is not YAML"),
        ("\t- x", "text that is not YAML"),
        ("a: *nowhere", "text that is not YAML"),
        ("", "an empty file"),
        ("# only a comment\n", "an empty file"),
        ("- a\n- b\n", "a list"),
        ("just text", "a str"),
        ("a: 1\n---\nb: 2\n", "text that is not YAML"),
        ("? [a, b]\n: 3\n", "text that is not YAML"),
        (b"\xff\xfe\x00\x01" * 100, "bytes that are not text"),
        (b"a: \x00\x01\n", "text that is not YAML"),
        (TINY.encode("utf-16"), "bytes that are not text"),
    ],
)
def test_a_file_that_is_no_yaml_mapping_is_refused(tmp_path: FilePath, text: str | bytes, said: str) -> None:
    assert said in str(refused(tmp_path, text))


@pytest.mark.parametrize("number", [".inf", "-.inf", ".nan"])
def test_a_number_that_is_not_finite_is_refused_at_its_place(tmp_path: FilePath, number: str) -> None:
    text = TINY.replace("chunks: 4", f"chunks: {number}")
    error = refused(tmp_path, text)
    assert [format_path(problem.path) for problem in error.problems] == ["system.chunks"]


def test_a_duplicate_key_is_told_with_both_lines(tmp_path: FilePath) -> None:
    text = TINY.replace("  chunks: 4\n", "  chunks: 4\n  chunks: 8\n")
    (problem,) = refused(tmp_path, text).problems
    assert format_path(problem.path) == "system.chunks"
    assert problem.line == line_of(text, "chunks: 8")
    assert f"first on line {line_of(text, 'chunks: 4')}" in str(problem)


@pytest.mark.parametrize("key", ["~", "true", "1.5", "3", "''", "{a: 1}"])
def test_a_key_that_is_no_name_is_refused(tmp_path: FilePath, key: str) -> None:
    refused(tmp_path, TINY + f"{key}: 3\n")


def test_a_missing_file_and_a_folder_are_no_spaces(tmp_path: FilePath) -> None:
    for path in (tmp_path / "nothing.yaml", tmp_path):
        with pytest.raises(InputError, match="expected a readable file"):
            load_space(path)


BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 12)
)
HOSTILE = {
    "an alias bomb": BOMB,
    "lists in lists without end": "a: " + "[" * 100_000,
    "a hundred thousand nested lists": "a: " + "[" * 100_000 + "]" * 100_000,
    "mappings in mappings": "{a: " * 3000 + "1" + "}" * 3000,
    "an alias of itself": "a: &a [*a]",
    "a product of a huge number": TINY.replace("product: 8", "product: 1000000000000"),
    "an expression that fills the memory": TINY.replace("recompute: none", "recompute: {expr: \"'a' * 9000000000\"}"),
    "a number of many digits": TINY.replace("chunks: 4", "chunks: " + "9" * 5000),
}


def limited() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
    resource.setrlimit(resource.RLIMIT_CPU, (15, 15))


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_file_is_refused_in_little_time_and_memory(tmp_path: FilePath, text: str) -> None:
    path = written(tmp_path, text)
    command = [sys.executable, "-m", "dse", "space", str(path), "--count"]
    done = subprocess.run(command, capture_output=True, text=True, preexec_fn=limited, check=False)
    assert done.returncode == 2, done.stderr[-500:]
    assert "Traceback" not in done.stderr


def test_a_large_file_is_read(tmp_path: FilePath) -> None:
    alternatives = ", ".join(f"{i} GB/s" for i in range(1, 501))
    path = written(tmp_path, TINY.replace("bandwidth: 25 GB/s", f"bandwidth: {{choice: [{alternatives}]}}"))
    assert load_space(path).count() == 120 * 500


WRONG: list[Any] = [
    None,
    True,
    0,
    -1,
    1.5,
    10**30,
    float("inf"),
    float("nan"),
    "",
    "x",
    "1 GB/s",
    "-3 GB/s",
    "0 s",
    [],
    {},
    [[]],
    [None],
    {"": 1},
    {"x": {"y": None}},
    {"choice": []},
    {"choice": [None, {}]},
    {"choice": {"choice": [1]}},
    {"range": [1, 2]},
    {"range": [1, None]},
    {"range": ["1 GB/s", "1 us"]},
    {"range": [1, 2], "step": "1 us"},
    {"powers_of_two": [1, True]},
    {"product": 4, "of": ["x"]},
    {"product": 4, "of": ["tensor", []]},
    {"split": "100 GB/s", "step": "10 GB/s"},
    {"split": None, "step": "10 GB/s"},
    {"expr": ""},
    {"expr": "parallelism.zero"},
    {"expr": "1 / 0"},
]


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from places(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from places(inner, (*path, index))


def with_value(document: dict[str, Any], path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    out = copy.deepcopy(document)
    inner: Any = out
    for part in path[:-1]:
        inner = inner[part]
    inner[path[-1]] = value
    return out


@pytest.mark.parametrize("path", [path for path in places(tiny()) if path], ids=format_path)
def test_whatever_stands_at_a_place_is_read_or_refused_and_never_crashes(path: tuple[Any, ...]) -> None:
    crashes = []
    for wrong in WRONG:
        document = with_value(tiny(), path, wrong)
        try:
            text = yaml.safe_dump(document, sort_keys=False)
            with at_most(5):
                loaded = space_from(parse_document(text), "fuzz")
        except pytest.fail.Exception as error:
            crashes.append(f"{wrong!r}: {error}")
        except InputError:
            continue
        except Exception as error:
            crashes.append(f"{wrong!r}: {type(error).__name__}: {error}")
        else:
            assert loaded.objectives, f"{wrong!r} leaves nothing to optimise"
    assert not crashes, "\n".join(crashes)


def test_a_sampler_is_checked_beside_other_mistakes_of_the_study(tmp_path: FilePath) -> None:
    told = refused(tmp_path, TINY.replace("sampler: auto, trials: 40", "sampler: gided, trials: 0"))
    assert {format_path(problem.path) for problem in told.problems} == {"study.trials", "study.sampler"}


def test_every_budget_that_is_too_small_is_named(tmp_path: FilePath) -> None:
    split = "cluster:\n  bandwidth: {split: {choice: [100 GB/s, 0 GB/s, -5 GB/s]}, step: 10 GB/s}\n"
    told = refused(tmp_path, TINY.replace("cluster:\n", split))
    assert "got '0 GB/s', '-5 GB/s'" in str(told)


def test_workloads_without_anything_decided_are_told_so(tmp_path: FilePath) -> None:
    document = yaml.safe_load(TINY)
    document["workloads"] = [{"workload": document.pop("workload")}]
    document["study"]["decide"] = []
    (problem,) = refused(tmp_path, yaml.safe_dump(document)).problems
    assert (format_path(problem.path), problem.found) == ("study.decide", "nothing")


@pytest.mark.parametrize("cost", ["street-2025", {"choice": ["libra", "street-2025"]}, {"base": "street-2025"}])
def test_a_list_of_parts_prices_no_split_of_free_bandwidths(tmp_path: FilePath, cost: Any) -> None:
    shared = {"split": "400 GB/s", "step": "50 GB/s"}
    dimensions = [
        {key: value for key, value in d.items() if key != "bandwidth"} for d in tiny()["cluster"]["dimensions"]
    ]
    cluster = {"npu": "a100-80gb", "bandwidth": shared, "dimensions": dimensions}
    error = refused(tmp_path, yaml.safe_dump(tiny(cost=cost, cluster=cluster)))
    assert "cluster.bandwidth: expected NICs, which a list of parts prices, got a split of free bandwidths" in str(
        error
    )


def test_a_divisor_of_words_that_is_0_is_told_with_its_words() -> None:
    expression = Expression("1 / (parallelism.recompute == 'full')")
    with pytest.raises(Refusal, match=r"0 for .*parallelism.recompute is none"):
        expression.value(make_lookup({"parallelism": {"recompute": "none"}}))
