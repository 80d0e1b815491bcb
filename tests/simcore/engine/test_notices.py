"""What a result says beside its numbers: every kind is gathered from designs, read back and shown."""

from __future__ import annotations

import pytest

from dse.cli.result_table import print_result
from dse.evaluate.read import read_result
from dse.evaluate.record import TrialRecord
from dse.report.assumptions import describe_notices
from simcore.check.load import design_from
from simcore.engine.notices import notices_of
from simcore.result import NOTICES
from simcore.simulate import simulate

REDUCING = {"in_network": True, "trees": 1}
MODEL = {"hidden": 256, "layers": 2, "heads": 8, "vocabulary": 1000, "sequence_length": 128}
DOCUMENT = {
    "workload": {"model": MODEL, "global_batch": 16, "precision": "fp8"},
    "parallelism": {"tensor": 2},
    "cluster": {
        "npu": "h100-80gb",
        "dimensions": [{"topology": "switch", "size": 8, "bandwidth": "450 GB/s", "latency": "1 us", **REDUCING}],
    },
}


def test_every_kind_is_gathered_read_back_and_shown(capsys: pytest.CaptureFixture[str]) -> None:
    design = design_from(DOCUMENT)
    result = simulate(design)
    assert list(notices_of("fast", design)) == list(NOTICES)
    assert all(getattr(result, kind) for kind in NOTICES)
    document = result.document()
    assert read_result(document) == result
    trial = TrialRecord(0, "feasible", {}, {}, {}, DOCUMENT, document)
    said = list(describe_notices(trial))
    print_result(result)
    shown = capsys.readouterr().out
    for words in NOTICES.values():
        assert any(text.startswith(f"{words}: ") for text in said)
        assert f"\n{words}\n" in shown


def test_jobs_that_say_the_same_say_it_once() -> None:
    design = design_from(DOCUMENT)
    assert notices_of("fast", design, design) == notices_of("fast", design)


@pytest.mark.parametrize(
    ("topology", "engine", "said"), [("ring", "flow", 1), ("ring", "reference_links", 0), ("switch", "flow", 0)]
)
def test_flat_rings_on_links_that_others_use_are_said_not_to_share_them(topology: str, engine: str, said: int) -> None:
    links = {"bandwidth": "25 GB/s", "latency": "1 us"}
    dimensions = [{"topology": "switch", "size": 2, **links}, {"topology": topology, "size": 4, **links}]
    document = {
        "workload": {"model": MODEL, "global_batch": 8},
        "parallelism": {"pipeline": 2},
        "cluster": {"npu": "h100-80gb", "dimensions": dimensions},
        "system": {"collective": ["flat_ring", "flat_ring"], "chunks": 1},
    }
    told = simulate(design_from(document), engine).not_modelled
    assert sum("flat rings" in text for text in told) == said
