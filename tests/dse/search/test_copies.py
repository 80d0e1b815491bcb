"""Copies of a design on more NPUs, each with the same share of the batch."""

from __future__ import annotations

from typing import Any

import numpy as np
import yaml

from dse.search.guided.candidates import Candidate, Candidates
from dse.search.guided.copies import CopiedDesigns
from dse.space.space import Space, space_from
from simcore.document.text import parse_document

SPACE: dict[str, Any] = {
    "workload": {
        "model": "llama2-7b",
        "global_batch": {"powers_of_two": [16, 64]},
        "sequence_length": 4096,
        "precision": "bf16",
    },
    "parallelism": {
        "degrees": {"product": "npus", "of": ["tensor", "pipeline", "data"], "limits": {"tensor": [1, 8]}},
        "microbatch": {"choice": [1, 2]},
        "zero": 1,
    },
    "cluster": {"npu": "h100-80gb", "fabric": "dgx-h100", "npus": {"choice": [8, 16, 32, 128]}},
    "objectives": {"maximize": ["throughput"], "minimize": ["cost.total"]},
}


def space_of(**sections: Any) -> Space:
    return space_from(parse_document(yaml.safe_dump({**SPACE, **sections}, sort_keys=False), "space"), "copied")


def drawn(candidates: Candidates, npus: int, batch: int) -> Candidate:
    while True:
        found = candidates.make_random()
        document = {} if found is None else found.filled.document
        if found is not None and document["cluster"]["npus"] == npus and document["workload"]["global_batch"] == batch:
            return found


def test_each_copy_has_the_same_share_of_the_batch_and_is_made_once() -> None:
    candidates = Candidates(space_of(), np.random.default_rng(0))
    one = drawn(candidates, 8, 16)
    copies = CopiedDesigns(candidates)
    found = [copy.filled for copy in copies.make_of([one]) if copy is not None]
    before = one.filled.params
    times = [copy.document["cluster"]["npus"] // 8 for copy in found]
    assert set(times) <= {2, 4}  # a batch for sixteen copies is none of the space's
    assert times
    for copy, count in zip(found, times, strict=True):
        changed = {path for path, value in copy.params.items() if before[path] != value}
        assert changed == {"cluster.npus", "parallelism.data", "workload.global_batch"}
        assert copy.params["parallelism.data"] == before["parallelism.data"] * count
        assert copy.params["workload.global_batch"] == 16 * count
    assert [*copies.make_of([one])] == []


def test_without_an_open_number_of_npus_there_are_none() -> None:
    cluster = {**SPACE["cluster"], "npus": 8}
    candidates = Candidates(space_of(cluster=cluster), np.random.default_rng(0))
    assert [*CopiedDesigns(candidates).make_of([drawn(candidates, 8, 16)])] == []
