"""What reports say of power: the mean, the most, what it counts, and the cap of a design."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from dse.cli import main
from dse.evaluate.read import read_result
from dse.report.describe import compare, headline
from dse.report.power import describe_draw, describe_power, power_rows
from simcore.check.load import design_from
from simcore.metrics import metrics
from simcore.result import Result
from simcore.simulate import simulate

DESIGN = {
    "workload": {"model": "llama3-8b", "global_batch": 32, "sequence_length": 2048, "precision": "bf16"},
    "parallelism": {"tensor": 2},
    "cluster": {"npu": "h100-80gb", "fabric": "dgx-h100", "npus": 16, "power_cap": "500 W"},
}


@cache
def result() -> Result:
    return simulate(design_from(DESIGN))


def test_a_result_that_was_written_is_read_with_what_it_draws() -> None:
    again = read_result(result().document())
    assert again.power == result().power
    assert metrics(again)["power.peak"] == metrics(result())["power.peak"]


def test_a_result_of_an_earlier_version_has_its_mean_alone() -> None:
    document = {key: value for key, value in result().document().items() if key != "power"}
    old = read_result(document)
    assert old.power is None
    assert metrics(old)["power.peak"] is None
    assert "at most" not in describe_power(old)
    assert describe_draw(old) == ""


def test_the_draw_in_words_says_what_it_counts_and_sums_up() -> None:
    power = result().power
    assert power is not None
    assert power.npus + power.rest == pytest.approx(power.mean)
    text = describe_draw(replace(result(), power=replace(power, mean=2e6, peak=3e6, npus=1e6)))
    assert text == "draws 2 MW, 3 MW at the most, cooling included: 50 % NPUs, the rest hosts and network"
    assert [name for name, _ in power_rows(power)] == [
        *("NPUs", "hosts, network, storage", "at the most", "a rack at the most")
    ]


def test_designs_that_differ_in_their_cap_are_told_apart_by_it() -> None:
    document = design_from(DESIGN).document()
    whole = {**document, "cluster": {key: v for key, v in document["cluster"].items() if key != "power_cap"}}
    assert "capped at 500 W" in headline(document)
    assert "capped" not in headline(whole)
    assert compare([document, whole]).columns == ("power cap",)


def test_simulate_prints_power_and_refuses_a_cap_below_idle(
    tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path_factory.mktemp("power") / "design.yaml"
    file.write_text(
        "workload: {model: llama3-8b, global_batch: 32, sequence_length: 2048, precision: bf16}\n"
        "parallelism: {tensor: 2}\n"
        "cluster: {npu: h100-80gb, fabric: dgx-h100, npus: 16, power_cap: 500 W}\n",
        encoding="utf-8",
    )
    assert main(["simulate", str(file)]) == 0
    told = capsys.readouterr().out
    assert "on average, with cooling" in told
    assert "hosts, network, storage" in told
    assert main(["simulate", str(file), "--set", "cluster.power_cap=100 W"]) == 2
    assert "above the 122 W that h100-80gb draws at idle" in capsys.readouterr().err
