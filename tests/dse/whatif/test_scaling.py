"""A design on fewer and more NPUs: lone jobs, and microbatches that follow from the batch."""

from __future__ import annotations

from typing import Any

import pytest

from dse.whatif.scaling import scale_design
from simcore.check.load import design_from
from simcore.document.problem import InputError

CLUSTER = {"fabric": "dgx-h100", "npu": "h100-80gb"}
TRAINED: dict[str, Any] = {"model": {"base": "llama3-8b", "layers": 4}, "global_batch": 64, "sequence_length": 2048}
RECOMMENDER: dict[str, Any] = {"model": "dlrm-mlperf", "global_batch": 65536, "precision": "fp16"}


def test_the_one_job_of_a_list_is_scaled_as_its_own_design() -> None:
    listed = {"jobs": [{"workload": TRAINED, "npus": 32}], "cluster": {**CLUSTER, "npus": 64}}
    alone = {"workload": TRAINED, "cluster": {**CLUSTER, "npus": 32}}
    assert scale_design(listed, "weak", [16, 32]) == scale_design(alone, "weak", [16, 32])
    with pytest.raises(InputError, match="a design of one job, got 2 jobs"):
        scale_design({**listed, "jobs": [{"workload": TRAINED, "npus": 32}] * 2}, "weak")


def test_the_microbatch_of_a_recommender_follows_from_its_batch_on_any_number_of_npus() -> None:
    document = design_from({"workload": RECOMMENDER, "cluster": {**CLUSTER, "npus": 32}}).document()
    assert document["parallelism"]["microbatch"] == 2048
    found = scale_design(document, "strong", [16, 32, 64])
    assert [size.why for size in found] == ["", "", ""]
    direct = scale_design({"workload": RECOMMENDER, "cluster": {**CLUSTER, "npus": 64}}, "strong", [64])
    assert found[2] == direct[0]
