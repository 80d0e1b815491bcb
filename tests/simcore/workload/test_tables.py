"""Tables of layers against published counts, ASTRA-sim's own workload files, closed forms, and themselves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from designs import dimension, npu
from hypothesis import given
from hypothesis import strategies as st

from simcore.catalog.preset import preset
from simcore.check.load import design_from
from simcore.design.design import Design
from simcore.design.parallelism import Parallelism
from simcore.design.software import usual_software
from simcore.memory.plan import program_of
from simcore.program import Compute, Start
from simcore.simulate import simulate
from simcore.workload.layer_table.document import Layer, LayerTable
from simcore.workload.layer_table.program import Row, rows_of, stage_rows
from simcore.workload.transformer.document import TransformerWorkload
from simcore.workload.transformer.layer import layer_parameters
from simcore.workload.transformer.layers import Shapes
from simcore.workload.transformer.model import Transformer

DATA = Path(__file__).parent / "data"


def rows(name: str) -> list[Row]:
    table: LayerTable = preset(LayerTable, "networks", name)
    return [*rows_of(table)]


def design(layers: Any, npus: int = 8, batch: int = 64, **parallelism: Any) -> Design:
    return design_from(
        {
            "workload": {"layers": layers, "global_batch": batch, "gradient_precision": "fp16"},
            "parallelism": parallelism,
            "cluster": {"npu": "a100-80gb", "fabric": "dgx-a100", "npus": npus},
        }
    )


@pytest.mark.parametrize(
    ("name", "parameters", "multiplications"),
    [
        # Parameters: the exact counts of torchvision's models; 25.6, 60.2 and 138.4 M in the papers. Multiplications of
        # one sample: torchvision publishes 4.09, 11.51 and 15.47 G.
        ("resnet-50", 25_557_032, 4.09e9),
        ("resnet-152", 60_192_808, 11.51e9),
        ("vgg-16", 138_357_544, 15.47e9),
    ],
)
def test_convolutional_networks_have_the_published_size(name: str, parameters: int, multiplications: float) -> None:
    listed = rows(name)
    assert sum(row.parameters for row in listed) == parameters
    assert sum(row.flops for row in listed) / 2 == pytest.approx(multiplications, rel=2e-3)


@pytest.mark.parametrize(
    ("name", "millions", "tolerance"),
    [
        ("gnmt-8", 278, 0.02),  # Shazeer et al. 2017, arXiv 1701.06538, on the model of Wu et al. 2016
        ("gnmt-4", 160, 0.01),  # MLPerf training's GNMT v2
    ],
)
def test_translation_models_have_the_published_size(name: str, millions: float, tolerance: float) -> None:
    assert sum(row.parameters for row in rows(name)) / 1e6 == pytest.approx(millions, rel=tolerance)


def reduced_bytes(file: str) -> dict[str, int]:
    """Bytes of gradients that ASTRA-sim's text workload reduces, by layer."""
    lines = [line.split() for line in (DATA / file).read_text().splitlines()[2:]]
    return {line[0]: int(line[10]) for line in lines if line and line[9] == "ALLREDUCE"}


def test_resnet_50_reduces_the_bytes_of_the_astra_sim_workload_layer_by_layer() -> None:
    theirs = list(reduced_bytes("Resnet50_DataParallel.txt").values())
    # fp32, without batch normalisation and the bias of the last layer; theirs has a stage's shortcut first.
    ours = [4 * (row.product[2] * row.product[3]) for row in rows("resnet-50") if row.product is not None]
    assert sorted(ours) == sorted(theirs)
    assert len(ours) == 54


def test_vgg_16_reduces_the_bytes_of_the_astra_sim_workload_layer_by_layer() -> None:
    theirs = list(reduced_bytes("vgg16.txt").values())
    assert [2 * row.parameters for row in rows("vgg-16") if row.product is not None] == theirs


def test_gpt_3_reduces_the_bytes_of_the_astra_sim_workload() -> None:
    theirs = reduced_bytes("gpt3.txt")
    layer = sum(theirs[name] for name in ("Q1", "K1", "V1", "concat1", "X1W1b1", "X1W2b2"))
    gpt3 = preset(Transformer, "models", "gpt3-175b")
    shapes = Shapes(TransformerWorkload(model=gpt3, global_batch=1), Parallelism(tensor=16), usual_software())
    vectors = 13 * gpt3.hidden / 16  # biases and norms, which theirs leaves out
    assert layer == 2 * (sum(layer_parameters(shapes)) - vectors)


def test_the_gradients_that_data_parallel_npus_reduce_are_all_parameters_once() -> None:
    reduced = [
        operator.size
        for segment in program_of(design("resnet-50", bucket="1 MB")).parts[0].last_backward
        for operator in segment.operators
        if isinstance(operator, Start)
    ]
    assert sum(reduced) == pytest.approx(2 * 25_557_032)
    assert all(size >= 1e6 for size in reduced[:-1])


def test_a_convolution_is_the_product_of_its_windows() -> None:
    layer = Layer(kind="conv", height=9, width=12, channels=6, filters=4, kernel=(1, 3), stride=2, groups=2)
    row = rows_of(LayerTable(layers=(layer,)))[0]
    assert row.product == (2, 5 * 6, 2, 9)
    assert (row.parameters, row.input, row.output, row.kept) == (9 * 4, 9 * 12 * 6, 5 * 6 * 4, 9 * 12 * 6)
    padded = Layer(kind="conv", height=9, width=9, channels=1, filters=1, kernel=3, stride=2, padding=0)
    assert (padded.output_height, padded.output_width) == (4, 4)


def test_a_repeated_application_shares_its_parameters_and_a_repeated_row_does_not() -> None:
    gemm = {"m": 1, "n": 8, "k": 8}
    times, repeat = (rows_of(LayerTable(layers=(Layer(**gemm, **{key: 5}),))) for key in ("times", "repeat"))
    assert sum(row.parameters for row in times) == 64
    assert sum(row.parameters for row in repeat) == 5 * 64
    assert sum(row.flops for row in times) == sum(row.flops for row in repeat) == 5 * 2 * 64
    assert times[-1].output == 5 * repeat[-1].output  # of all steps of a sequence


def test_a_table_takes_the_time_of_its_products() -> None:
    alone = design_from(
        {
            "workload": {"layers": [{"m": 30, "n": 5120, "k": 2560}], "global_batch": 32},
            "cluster": {"npu": npu(), "dimensions": [dimension(size=1)]},
        }
    )
    result = simulate(alone)
    assert result.compute_s == pytest.approx(3 * 2 * 32 * 30 * 5120 * 2560 / 100e12, rel=1e-9)
    assert result.mfu == pytest.approx(result.compute_s / result.iteration_time_s)
    assert result.throughput_counts == "samples"
    assert result.throughput_tokens_per_s == pytest.approx(32 / result.iteration_time_s)


def test_tensor_parallelism_splits_products_and_parameters_and_gathers_outputs() -> None:
    layers = [{"m": 1, "n": 512, "k": 256}, {"m": 1, "n": 128, "k": 512}]
    part = program_of(design(layers, npus=4, tensor=4, batch=8)).parts[0]
    assert part.parameters == (512 * 256 + 128 * 512) / 4
    forward = [op for segment in part.forward for op in segment.operators]
    backward = [op for segment in part.backward for op in segment.operators]
    assert [op.size for op in forward if isinstance(op, Start)] == [8 * 512 * 2 / 4, 8 * 128 * 2 / 4]
    assert [(op.kind, op.size) for op in backward if isinstance(op, Start)] == [("all_reduce", 8 * 512 * 2)]
    assert sum(op.flops for op in forward if isinstance(op, Compute)) == 2 * 8 * (512 * 256 + 128 * 512) / 4


@given(st.lists(st.integers(1, 50), min_size=1, max_size=9), st.integers(1, 9))
def test_stages_are_the_split_whose_largest_part_is_least(sizes: list[int], stages: int) -> None:
    stages = min(stages, len(sizes))
    listed = rows_of(LayerTable(layers=tuple(Layer(m=1, n=size, k=1) for size in sizes)))
    split = stage_rows(listed, stages)
    assert [row for stage in split for row in stage] == [*listed]
    assert all(split)

    def best(first: int, parts: int) -> int:
        if parts == 1:
            return sum(sizes[first:])
        ends = range(first + 1, len(sizes) - parts + 2)
        return min(max(sum(sizes[first:end]), best(end, parts - 1)) for end in ends)

    assert max(sum(row.flops for row in stage) for stage in split) == 2 * best(0, stages)


def test_stages_send_what_their_last_row_gives() -> None:
    layers = [{"m": 1, "n": 100, "k": 10}, {"m": 1, "n": 7, "k": 100}, {"m": 1, "n": 100, "k": 7}]
    program = program_of(design(layers, npus=8, batch=32, pipeline=2, data=4, microbatch=2))
    assert program.sends == (2 * 2 * 100.0, 2 * 2 * 100.0)
    assert (program.sent_bytes(0, 1), program.sent_bytes(1, -1)) == (400.0, 400.0)
    result = simulate(design(layers, npus=8, batch=32, pipeline=2, data=4, microbatch=2))
    assert result.bubble_s > 0
    assert result.exposed_communication_s.pipeline > 0


def test_the_whole_local_batch_is_one_microbatch_unless_said_otherwise() -> None:
    assert design("vgg-16", npus=8, batch=64).microbatches == 1
    assert design("vgg-16", npus=8, batch=64, microbatch=2).microbatches == 4
    assert design("vgg-16", npus=8, batch=64).document()["parallelism"]["microbatch"] == 8
    assert design("vgg-16").key == design_from(design("vgg-16").document()).key


def test_a_table_keeps_its_own_name() -> None:
    table = {"name": "mine", "layers": [{"name": "all", "m": 3548, "n": 2048, "k": 2048}]}
    assert design(table).document()["workload"]["layers"] == table
    assert design_from(design(table).document()).key == design(table).key


def test_a_model_by_name_or_spelled_out_is_the_same_design() -> None:
    by_model = design_from(
        {
            "workload": {"model": "resnet-50", "global_batch": 64, "gradient_precision": "fp16"},
            "cluster": {"npu": "a100-80gb", "fabric": "dgx-a100", "npus": 8},
        }
    )
    assert by_model == design("resnet-50")
    assert by_model.document()["workload"]["layers"] == "resnet-50"
