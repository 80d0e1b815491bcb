"""A dimension has one number everywhere: that of its path in the document, the innermost being 0."""

from __future__ import annotations

import re

from dse.explain.explained import explain
from dse.report.page import columns
from dse.report.runs.settings import Setting
from dse.report.sensitivity import short_path as name_step
from simcore.check.load import design_from
from simcore.simulate import simulate

PATH = "cluster.dimensions[1].bandwidth"
DESIGN = design_from(
    {
        "workload": {"model": "llama3-8b", "global_batch": 16, "sequence_length": 2048, "precision": "bf16"},
        "parallelism": {"tensor": 8},
        "cluster": {"npu": "a100-80gb", "fabric": "dgx-a100", "npus": 16},
    }
)


def test_a_path_keeps_its_number_in_steps_in_columns_and_between_runs() -> None:
    assert name_step(PATH) == "dimension 1 bandwidth"
    assert columns.short_path(PATH, [PATH, "cluster.dimensions[0].bandwidth"]) == "bandwidth 1"
    assert Setting(f"space.{PATH}", {}).title == "dimension 1 bandwidth"


def test_an_explanation_and_a_result_count_the_same() -> None:
    explained, result = explain(DESIGN, 20, lambda done, total: None), simulate(DESIGN)
    said = " ".join(part.why for part in explained.parts)
    named = dict(re.findall(r"dimension (\d), (SW\(\d\))", said))
    assert named
    for number, block in named.items():
        use = result.network[int(number)].dimension
        assert use.startswith(f"{number}: switch(")
        assert use.endswith(block.removeprefix("SW"))
