"""`{base: NAME, …}`: an entry of the catalogue with some of its keys changed."""

from __future__ import annotations

from typing import Any

import pytest
from designs import dimension, training

from simcore.catalog.preset import preset
from simcore.check.load import design_from
from simcore.design.design import Design
from simcore.document.problem import InputError
from simcore.workload.transformer.document import TransformerWorkload
from simcore.workload.transformer.model import Transformer


def varied(model: Any, npu: Any = None) -> Design:
    return design_from(training({}, [dimension()], workload={"model": model}, accelerator=npu))


def model_of(design: Design) -> Any:
    assert isinstance(design.workload, TransformerWorkload)
    return design.workload.model


def test_what_is_not_changed_is_that_of_the_entry() -> None:
    found = model_of(varied({"base": "llama3-70b", "layers": 12}))
    assert found == preset(Transformer, "models", "llama3-70b").model_copy(update={"layers": 12})


def test_mappings_in_an_entry_are_changed_key_by_key() -> None:
    found = model_of(varied({"base": "deepseek-v3", "layers": 4, "mixture_of_experts": {"dense_layers": 1}}))
    assert (found.mixture_of_experts.dense_layers, found.mixture_of_experts.experts) == (1, 256)


def test_a_varied_design_is_written_whole_and_reads_back_equal() -> None:
    design = varied({"base": "llama3-70b", "layers": 12, "gated": False}, {"base": "a100-80gb", "overhead": "1 us"})
    again = design_from(design.document())
    assert again.key == design.key
    assert model_of(again) == model_of(design)
    assert again.cluster.npu == design.cluster.npu
    assert design.cluster.npu.overhead == 1e-6


def test_an_entry_that_nothing_changes_is_written_by_its_name() -> None:
    assert varied({"base": "llama3-8b"}).document()["workload"]["model"] == "llama3-8b"


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (
            {"base": "llama3-7b"},
            "workload.model.base: expected a model of the catalogue or one spelled out, got 'llama3-7b'",
        ),
        ({"base": 3}, "workload.model: expected the name of an entry of the catalogue as 'base', got 3"),
        ({"base": "llama3-8b", "layer": 3}, "workload.model.layer: expected a known key, got 'layer'"),
        ({"base": "llama3-8b", "layers": 0}, "workload.model.layers: expected greater than 0"),
    ],
)
def test_a_bad_variation_says_where(model: Any, message: str) -> None:
    with pytest.raises(InputError) as error:
        varied(model)
    assert message in str(error.value)
