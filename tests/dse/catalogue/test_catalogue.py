"""`dse catalogue`: all kinds, all names, every number with its source, and errors that list what there is."""

from __future__ import annotations

import json

import pytest
import yaml

from dse.catalogue import KINDS, find_entry, find_kind
from dse.cli import main
from simcore import catalog
from simcore.catalog.preset import preset
from simcore.design.npu import Npu
from simcore.document.problem import InputError
from simcore.metrics import METRICS


@pytest.mark.parametrize("section", catalog.SECTIONS)
def test_every_section_of_the_catalogue_is_a_kind_with_all_of_its_entries(section: str) -> None:
    assert KINDS[section].names() == list(catalog.section(section))


@pytest.mark.parametrize("kind", list(KINDS))
def test_every_entry_says_what_matters_of_it(kind: str) -> None:
    for name in KINDS[kind].names():
        entry = find_entry(KINDS[kind], name)
        assert (entry.name, entry.kind) == (name, kind)
        assert len(entry.summary) > 5, name
        assert "\n" not in entry.summary, name
        assert kind in ("metrics", "workloads") or name in entry.written


@pytest.mark.parametrize("kind", catalog.SECTIONS)
def test_every_entry_with_numbers_has_sources_and_says_what_they_rest_on(kind: str) -> None:
    for name in KINDS[kind].names():
        entry = find_entry(KINDS[kind], name)
        assert entry.sources, name
        assert entry.basis, name


def test_how_a_design_says_an_entry_is_yaml_with_the_name_at_its_path() -> None:
    assert yaml.safe_load(KINDS["npus"].entry("h100-80gb").written) == {"cluster": {"npu": "h100-80gb"}}
    schedule = yaml.safe_load(KINDS["schedules"].entry("1f1b").written)
    assert schedule == {"parallelism": {"schedule": "1f1b"}}


def test_what_rests_on_measurements_of_a_device_is_told_from_what_rests_on_its_data_sheet() -> None:
    basis = {name: KINDS["npus"].entry(name).basis for name in ("h100-80gb", "h200", "mi300x")}
    assert basis == {"h100-80gb": "kernels, iterations", "h200": "generation", "mi300x": "data sheet"}


def test_the_command_lists_kinds_then_names_then_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["catalogue", "--json"]) == 0
    kinds = {row["kind"]: row["count"] for row in json.loads(capsys.readouterr().out)["kinds"]}
    assert kinds["npus"] == len(catalog.section("npus"))
    assert kinds["metrics"] == len(METRICS)

    assert main(["catalogue", "npus", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert set(listed) == {"kind", "what", "path", "entries"}
    assert [set(entry) for entry in listed["entries"]] == [{"name", "summary", "basis", "package"}] * kinds["npus"]

    assert main(["catalogue", "npus", "a100-80gb", "--json"]) == 0
    one = json.loads(capsys.readouterr().out)
    assert set(one) == {*("kind", "name", "summary", "basis", "package"), *("written", "values", "sources", "text")}
    assert Npu.model_validate(one["values"] | {"name": "a100-80gb", "sources": one["sources"]}) == preset(
        Npu, "npus", "a100-80gb"
    )


def test_the_screen_shows_each_number_with_its_source(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["catalogue", "a100-80gb"]) == 0
    shown = capsys.readouterr().out
    assert "bandwidth: 2039 GB/s" in shown
    assert "memory: NVIDIA A100 datasheet" in shown


def test_a_kind_is_found_by_its_singular_and_an_entry_by_its_name_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert find_kind("npu") is KINDS["npus"]
    assert find_kind("topology") is KINDS["topologies"]
    assert main(["catalogue", "gpt3-175b"]) == 0
    assert "175 B parameters" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["zzz"], "kinds: models, networks, recommenders, npus"),
        (["modls"], "did you mean 'models'?"),
        (["ring"], "it is one of topologies and of collectives: dse catalogue topologies ring"),
        (["npus", "h100"], "did you mean 'h100"),
        (["prices", "zzz"], "known: libra, network-only"),
        (["npus", "gpt3-175b"], "dse catalogue models gpt3-175b"),
    ],
)
def test_what_is_not_there_ends_with_status_2_and_says_what_is(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["catalogue", *arguments]) == 2
    captured = capsys.readouterr()
    assert said in captured.err
    assert captured.out == ""


def test_an_unknown_entry_names_every_one_where_they_are_few() -> None:
    with pytest.raises(InputError, match="known: fifo, lifo, scf, priority, preemptive"):
        find_entry(KINDS["intra_dimension"], "zzz")
