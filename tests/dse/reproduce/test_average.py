"""The measure `average`: a value over all combinations of its axes, and against a baseline at each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dse.reproduce.measures import MEASURES
from simcore.document.problem import InputError, Refusal

AVERAGE = MEASURES["average"]
DESIGN = """\
workload: {collective: all_reduce, size: 1 GB}
cluster:
  npu: a100-80gb
  dimensions: [{topology: ring, size: 4, bandwidth: 100 GB/s, latency: 0 ns, tier: node}]
system: {collective: [ring], chunks: 1}
"""
OVER = {
    "size": {f"{size} GB": {"set": {"workload.size": f"{size} GB"}, "given": {"size": size}} for size in (1, 4)},
    "bandwidth": {
        f"{rate}": {"set": {"cluster.dimensions[0].bandwidth": f"{rate} GB/s"}, "given": {"rate": rate}}
        for rate in (50, 100)
    },
}
"""An all-reduce of S on a ring of 4 at B takes 1.5 S / B: 15, 30, 60 and 120 ms."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "ring.yaml").write_text(DESIGN)
    return tmp_path


def run(value: str, **keys: Any) -> dict[str, Any]:
    return {"average": {"of": {"design": "ring.yaml", "engine": "fast"}, "over": OVER, "value": value, **keys}}


def numbers(folder: Path, said: dict[str, Any], changes: dict[str, Any] | None = None) -> dict[str, Any]:
    return AVERAGE.read(folder, said, changes or {}).numbers()


def test_a_value_is_averaged_over_all_combinations(folder: Path) -> None:
    found = numbers(folder, run("1e3 * iteration_time"))
    assert found == pytest.approx({"mean": 56.25, "geomean": 1800**0.5, "least": 15, "most": 120, "count": 4})


def test_numbers_that_alternatives_give_and_names_with_dots_are_known(folder: Path) -> None:
    assert numbers(folder, run("iteration_time * rate / size"))["least"] == pytest.approx(1.5)
    assert numbers(folder, run("cost.total / (cost.npu + cost.network)"))["mean"] == pytest.approx(1)


def test_the_base_of_a_value_is_the_same_place_with_keys_of_its_own(folder: Path) -> None:
    against = {"cluster.dimensions[0].bandwidth": "25 GB/s"}
    found = numbers(folder, run("base.iteration_time / iteration_time", against=against))
    assert (found["least"], found["most"]) == pytest.approx((2, 4))


def test_what_a_row_sets_holds_at_every_place(folder: Path) -> None:
    found = numbers(folder, run("1e3 * iteration_time"), {"cluster.dimensions[0].size": 2})
    assert found["mean"] == pytest.approx(56.25 * 2 / 3)


def test_what_is_remembered_follows_everything_that_the_numbers_depend_on(folder: Path) -> None:
    plain = run("iteration_time")
    others = [run("2 * iteration_time"), run("iteration_time", against={"workload.size": "2 GB"})]
    fewer = {"average": {**plain["average"], "over": {"size": OVER["size"]}}}
    known = [AVERAGE.read(folder, each, {}).identity for each in (plain, *others, fewer)]
    known.append(AVERAGE.read(folder, plain, {"system.chunks": 2}).identity)
    assert len(set(known)) == len(known)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"over": {}}, "over"),
        ({"of": {"picture": "ring.yaml"}}, "one of design, astra, optimize"),
        ({"value": "open('x')"}, "comparisons and paths"),
        ({"value": "time"}, "names of what was measured"),
        ({"among": 3}, "among"),
    ],
)
def test_bad_averages_are_refused(folder: Path, keys: dict[str, Any], message: str) -> None:
    said = run("iteration_time")
    said["average"] |= keys
    with pytest.raises((InputError, Refusal), match=message):
        numbers(folder, said)
