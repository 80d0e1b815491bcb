"""A degree that a product gives is not given a second time, and a product of all NPUs leaves none beside it."""

from __future__ import annotations

from typing import Any

import pytest

from dse.space.space import load_space
from simcore.document.problem import InputError

BASE: dict[str, Any] = {
    "workload": {"model": "llama3-8b", "global_batch": 128, "precision": "bf16"},
    "cluster": {"npu": "h100-80gb", "fabric": "dgx-h100", "npus": 64},
    "objectives": {"minimize": ["iteration_time"]},
}
PRODUCTS: tuple[Any, ...] = (64, "npus")


@pytest.mark.parametrize("total", PRODUCTS)
@pytest.mark.parametrize("first", [True, False])
def test_a_degree_beside_a_product_of_it_is_refused(total: Any, first: bool) -> None:
    degrees = {"degrees": {"product": total, "of": ["tensor", "data"]}}
    parallelism = {"tensor": 8, **degrees} if first else {**degrees, "tensor": 8}
    with pytest.raises(InputError) as error:
        load_space({**BASE, "parallelism": parallelism})
    assert (
        "parallelism.tensor: expected it from parallelism.degrees alone, got one of its own as well; "
        "write limits: {tensor: [8, 8]} there"
    ) in str(error.value)


@pytest.mark.parametrize("total", PRODUCTS)
def test_a_degree_that_is_not_in_the_product_stands_beside_it(total: Any) -> None:
    degrees = {"product": total, "of": ["tensor", "data"]}
    assert load_space({**BASE, "parallelism": {"pipeline": 1, "degrees": degrees}}).count() > 1


def test_a_degree_beside_a_product_of_all_npus_is_told_where_it_belongs() -> None:
    degrees = {"product": "npus", "of": ["tensor", "data"]}
    with pytest.raises(InputError) as error:
        load_space({**BASE, "parallelism": {"context": 3, "degrees": degrees}})
    assert [str(problem) for problem in error.value.problems] == [
        "parallelism.context: expected it in the product, which is of all NPUs, got it beside the product; "
        "add context to its 'of', with limits: {context: [3, 3]}"
    ]
    assert load_space({**BASE, "parallelism": {"context": 2, "degrees": {**degrees, "product": 32}}}).count() > 1
