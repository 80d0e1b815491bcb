"""Pictures of a cluster that is bought for several workloads: each of them is a design of its own."""

from __future__ import annotations

import pytest
from bought import run, space, two

from dse.report.plots import Options, plot_of
from dse.report.reasons import breakdown
from dse.report.values import read_result
from dse.whatif.subject import Subject, subject_of
from simcore.document.problem import InputError


@pytest.fixture(scope="module")
def subject(tmp_path_factory: pytest.TempPathFactory) -> Subject:
    folder = tmp_path_factory.mktemp("bought") / "run"
    run(space(two()), folder)
    return subject_of(str(folder), bounds=False)


def test_a_breakdown_has_a_row_for_each_workload_of_each_cluster(subject: Subject) -> None:
    assert subject.record is not None
    rows = plot_of("breakdown", [subject]).numbers["rows"]
    parts = [pair for trial in subject.record.front for pair in trial.parts]
    assert [row["name"].split()[1] for row in rows] == [name for name, _ in parts]
    for row, (_, part) in zip(rows, parts, strict=True):
        assert part.metrics is not None
        assert row["parts"] == breakdown(read_result(part.metrics))


@pytest.mark.parametrize("kind", ["front", "heatmap", "bandwidth", "memory", "cost", "scaling", "timeline"])
def test_every_picture_of_a_design_is_there(kind: str, subject: Subject) -> None:
    assert plot_of(kind, [subject]).numbers


def test_what_would_have_to_tune_every_workload_again_is_refused(subject: Subject) -> None:
    for kind, options in (("tornado", Options()), ("heatmap", Options(fill=3))):
        with pytest.raises(InputError, match="search a space of one of them"):
            plot_of(kind, [subject], options)
