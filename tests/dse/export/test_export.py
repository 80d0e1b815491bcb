from __future__ import annotations

import json
from typing import Any

import pytest
from designs_to_export import DENSE, EXPERTS, dense, drawn, refused

from dse.export import TARGETS, export
from dse.export.command_line import Arguments, read_script, script
from dse.export.compare import read_back
from dse.export.megatron_rules import overlaps_sends
from simcore.check.load import design_from
from simcore.design.design import Design
from simcore.design.workload import USUAL
from simcore.document.problem import InputError
from simcore.simulate import simulate

MEGATRON: dict[str, list[Any]] = {
    "tensor": [1, 2, 8],
    "pipeline": [1, 2, 4],
    "context": [1, 2],
    "context_communication": ["ring", "all_to_all"],
    "zero": [0, 1],
    "shard_group": [None, 4, 8],
    "microbatch": [1, 2],
    "interleave": [1, 5],
    "first_stage_layers": [None, 17],
    "recompute": ["none", "selective", "full"],
    "recompute_layers": [None, 2],
    "recompute_modules": [None, ["core_attn", "mlp"]],
    "sequence_parallel": [False, True],
    "tensor_overlap": [False, True],
    "data_overlap": [False, True],
    "flash_attention": [False, True],
    "cross_entropy_fusion": [False, True],
    "bucket": ["25 MB", "100 MB"],
    "precision": ["bf16", "fp16", "fp8", "fp8_block"],
}
TORCHTITAN: dict[str, list[Any]] = {
    "tensor": [1, 2, 8],
    "pipeline": [1, 2, 4],
    "zero": [0, 3],
    "gather": [None, "microbatch", "once", "twice"],
    "shard_group": [None, 8, 16],
    "microbatch": [1, 2],
    "interleave": [1, 2],
    "schedule": ["1f1b", "gpipe", "zbv"],
    "recompute": ["none", "full"],
    "sequence_parallel": [False, True],
    "tensor_overlap": [False, True],
}
DEEPSPEED: dict[str, list[Any]] = {
    "tensor": [1, 2, 8],
    "context": [1, 2],
    "context_communication": ["all_to_all"],
    "zero": [0, 1, 2, 3],
    "microbatch": [1, 2],
    "data_overlap": [False, True],
    "tensor_overlap": [False, True],
    "bucket": ["25 MB", "1 GB"],
    "precision": ["bf16", "fp16"],
}


@pytest.mark.parametrize(
    ("target", "choices", "software"),
    [("megatron", MEGATRON, "megatron-core"), ("torchtitan", TORCHTITAN, "pytorch-fsdp")],
)
def test_a_script_read_back_is_the_design_and_its_arguments_are_the_programs(
    target: str, choices: dict[str, list[Any]], software: str
) -> None:
    whole = 0
    for seed in range(200):
        design = drawn(seed, choices, DENSE, software)
        if design is None or not expressed(design, target):
            continue
        exported = export(design, target)
        assert exported.unsaid == ()
        assert refused(target, exported.text) == []
        back = read_back(design, TARGETS[target], TARGETS[target].read(exported.text))
        there, here = simulate(back, "fast"), simulate(design, "fast")
        assert (there.iteration_time_s, there.memory_bytes) == (here.iteration_time_s, here.memory_bytes)
        whole += 1
    assert whole >= 15


def expressed(design: Design, target: str) -> bool:
    """Whether the program has all of a drawn design."""
    p = design.parallelism
    if target == "megatron":
        return True
    if p.pipeline == 1 and p.schedule != "1f1b":
        return False
    if p.zero == 3:
        return p.gathers in (("twice", "once") if p.pipeline > 1 else ("twice", "microbatch"))
    return bool(p.data_overlap)


def test_a_configuration_of_deepspeed_read_back_is_the_design() -> None:
    whole = 0
    for seed in range(120):
        design = drawn(seed, DEEPSPEED, DENSE, "deepspeed")
        if design is None or (design.parallelism.context > 1 and design.parallelism.tensor > 1):
            continue
        exported = export(design, "deepspeed")
        assert {entry.path for entry in exported.unsaid} <= {"parallelism.data_overlap", "workload.gradient_precision"}
        if not exported.unsaid:
            back = read_back(design, TARGETS["deepspeed"], TARGETS["deepspeed"].read(exported.text))
            there, here = simulate(back, "fast"), simulate(design, "fast")
            assert (there.iteration_time_s, there.memory_bytes) == (here.iteration_time_s, here.memory_bytes)
            whole += 1
    assert whole >= 15


_CUT = {"tensor": 4, "sequence_parallel": True}
EXPERTS_OF = {**EXPERTS, "workload": {**EXPERTS["workload"], "precision": "bf16"}}


@pytest.mark.parametrize(
    ("document", "keys", "message"),
    [
        (
            {**DENSE, "workload": {**DENSE["workload"], "precision": "fp8"}},
            {"recompute": "selective", "recompute_modules": ["layernorm"]},
            r"parallelism\.recompute_modules: expected modules that delayed scaling lets be .* got layernorm",
        ),
        (
            EXPERTS_OF,
            {"sequence_parallel": False, "expert_tensor": 2},
            r"sequence_parallel: expected true where experts are",
        ),
        (
            EXPERTS_OF,
            {"expert_overlap": True, "pipeline": 1, "recompute": "selective", "recompute_modules": ["moe"]},
            r"expert_overlap: expected false where experts are recomputed, got true",
        ),
        (
            {**EXPERTS, "workload": {**EXPERTS["workload"], "precision": "fp32"}},
            {"expert_overlap": True, "pipeline": 1},
            r"expert_overlap: expected weights in 16 bits, got fp32",
        ),
        (
            {
                **DENSE,
                "workload": {
                    **DENSE["workload"],
                    "model": {"base": "gpt3-175b", "multi_token_prediction": 1},
                    "sequence_length": 2048,
                },
            },
            {"pipeline": 1},
            r"model: expected rotary positions where layers predict further tokens, got learned positions",
        ),
    ],
)
def test_what_megatron_refuses_is_refused_in_words(
    document: dict[str, Any], keys: dict[str, Any], message: str
) -> None:
    software = {"base": "megatron-core", "fp8": {"recipe": "delayed"}}
    parallelism = {**document["parallelism"], **keys}
    with pytest.raises(InputError, match=message):
        export(design_from({**document, "parallelism": parallelism, "software": software}), "megatron")


def test_positions_reach_to_the_end_of_a_sequence() -> None:
    workload = {"model": "llama2-70b", "global_batch": 512, "sequence_length": 8192, "precision": "bf16"}
    exported = export(design_from({**DENSE, "workload": workload}), "megatron")
    assert "--max-position-embeddings 8192" in exported.text
    assert [entry.path for entry in exported.unsaid] == ["workload.model.sequence_length"]


def test_stages_that_the_ends_leave_uneven_are_laid_out_one_by_one() -> None:
    workload = {"model": "gpt3-175b", "global_batch": 512, "sequence_length": 2048, "precision": "bf16"}
    uneven = export(
        design_from({**DENSE, "workload": workload, "parallelism": {"pipeline": 8, "last_stage_layers": 18}}),
        "megatron",
    )
    assert "--decoder-last-pipeline-num-layers" not in uneven.text
    assert "--pipeline-model-parallel-layout" in uneven.text
    assert uneven.unsaid == ()
    assert "--decoder-first-pipeline-num-layers 17" in export(dense(first_stage_layers=17, pipeline=4), "megatron").text


def test_sends_beside_computation_are_noted_and_a_script_with_batched_ones_is_read() -> None:
    for pipeline, told in ((2, "for two stages it has nothing else"), (4, "--no-overlap-p2p-communication gives")):
        exported = export(dense(pipeline=pipeline, interleave=5), "megatron")
        assert sum(told in note for note in exported.notes) == 1
        batched = exported.text.replace("--micro-batch-size", "--no-overlap-p2p-communication --micro-batch-size")
        target = TARGETS["megatron"]
        assert target.read(batched) == target.read(exported.text)
        assert overlaps_sends(read_script(exported.text)[0])
        assert not overlaps_sends(read_script(batched)[0])
    assert not any("beside computation" in note for note in export(dense(), "megatron").notes)


def test_megatron_says_that_it_refuses_a_tensor_group_larger_than_the_key_value_heads() -> None:
    told = [any("key-value heads on a" in n for n in export(dense(tensor=t), "megatron").notes) for t in (8, 16)]
    assert told == [False, True]


def test_megatron_is_told_to_gather_parameters_beside_the_forward_pass_for_which_the_prediction_waits() -> None:
    told = [any("gather of parameters" in note for note in export(dense(zero=z), "megatron").notes) for z in (0, 1)]
    assert told == [False, True]


def test_megatron_is_told_experts_and_latents() -> None:
    exported = export(design_from(EXPERTS), "megatron")
    assert "--moe-layer-freq '([0]*3+([0]*0+[1])*58+[0]*0)'" in exported.text
    assert "--kv-lora-rank 512" in exported.text
    assert refused("megatron", exported.text) == []
    assert exported.unsaid == ()


@pytest.mark.parametrize("name", ["qwen3-235b-a22b", "gpt-oss-120b", "gpt3-175b", "llama4-scout-109b"])
def test_megatron_is_told_what_a_model_has_beside_its_sizes(name: str) -> None:
    workload = {"model": name, "global_batch": 64, "sequence_length": 2048, "precision": "bf16"}
    exported = export(design_from({**DENSE, "workload": workload, "parallelism": _CUT}), "megatron")
    assert refused("megatron", exported.text) == []
    unsaid = {"workload.model.biases", "workload.model.shared_gate", "workload.model.window.chunked"}
    assert {entry.path for entry in exported.unsaid} <= unsaid


def test_megatron_is_told_its_graphs_and_whose_kernels_move_tokens() -> None:
    cluster = {"npu": "gb200", "fabric": "gb200-nvl72", "npus": 8}
    experts = {"workload": {"model": "qwen3-30b-a3b", "global_batch": 64}, "parallelism": {"expert": 8}}
    text = export(design_from({**experts, "cluster": cluster}), "megatron").text
    assert "--moe-flex-dispatcher-backend hybridep" in text
    assert "--cuda-graph-impl transformer_engine" in text
    assert "--cuda-graph-scope attn moe_router moe_preprocess" in text
    assert refused("megatron", text) == []
    eager = {"base": "megatron-core", "execution": "eager", "exchange": "deepep"}
    text = export(design_from({**experts, "cluster": cluster, "software": eager}), "megatron").text
    assert "--moe-flex-dispatcher-backend deepep" in text
    assert "cuda-graph" not in text


def test_a_layout_that_was_solved_runs_with_no_more_memory_than_it_was_solved_for() -> None:
    workload = {"model": "llama3-8b", "global_batch": 64, "sequence_length": 32768, "precision": "bf16"}
    parallelism = {"tensor": 2, "pipeline": 4, "interleave": 2, "zero": 1, "sequence_parallel": True}
    solved = {"stages": {"solve": True}, "recompute": "solve"}
    cluster = {**DENSE["cluster"], "npus": 16}
    design = design_from({"workload": workload, "parallelism": {**parallelism, **solved}, "cluster": cluster})
    exported = export(design, "megatron")
    back = read_back(design, TARGETS["megatron"], TARGETS["megatron"].read(exported.text))
    there, here = simulate(back, "fast"), simulate(design, "fast")
    assert there.memory_bytes is not None
    assert here.memory_bytes is not None
    assert there.fits
    assert there.memory_bytes.peak <= here.memory_bytes.peak
    assert "parallelism.layers" in {entry.path for entry in exported.unsaid}
    assert "activation-checkpoint:full" in export(design, "torchtitan").text


@pytest.mark.parametrize("runs_so", [True, False])
def test_stages_that_recompute_their_first_layers_run_as_they_are(runs_so: bool) -> None:
    """Four stages of 20 layers: five of each are recomputed, and in the second case six of the first one."""
    again = "0-4,20-24,40-44,60-64" if runs_so else "0-5,20-24,40-44,60-64"
    rest = "5-19,25-39,45-59,65-79" if runs_so else "6-19,25-39,45-59,65-79"
    layers = [{"layers": again, "recompute": "full"}, {"layers": rest, "recompute": "none"}]
    exported = export(dense(layers=layers), "megatron")
    assert "--recompute-num-layers 5" in exported.text or not runs_so
    said = {entry.path for entry in exported.unsaid} & {"parallelism.layers", "parallelism.recompute"}
    assert (said == set()) is runs_so
    assert any(note.startswith("each stage recomputes as many") for note in exported.notes) is not runs_so
    alike = dense(recompute="full", recompute_layers=5)
    assert (simulate(dense(layers=layers)).iteration_time_s == simulate(alike).iteration_time_s) is runs_so


@pytest.mark.parametrize("target", [name for name, target in TARGETS.items() if target.workload == USUAL])
def test_layers_with_degrees_of_their_own_are_refused(target: str) -> None:
    design = dense(pipeline=1, layers=[{"layers": "0-3", "tensor": 16}, {"layers": "4-79"}])
    with pytest.raises(InputError, match=r"parallelism\.layers: expected the degrees of the section in all layers"):
        export(design, target)


def test_what_a_program_has_no_word_for_is_named() -> None:
    design = dense(schedule="zero_bubble", zero=0, context_overlap=False, context=2)
    left = {entry.path for entry in export(design, "megatron").unsaid}
    assert left == {"parallelism.schedule", "parallelism.context_overlap"}
    assert "parallelism.zero" in {entry.path for entry in export(dense(), "torchtitan").unsaid}
    assert "parallelism.sequence_parallel" in {entry.path for entry in export(dense(pipeline=1), "deepspeed").unsaid}


def test_what_experts_do_that_the_training_script_builds_is_named_where_it_is_not_the_usual() -> None:
    def left(**parallelism: Any) -> set[str]:
        document = {
            "workload": {"model": "mixtral-8x7b", "global_batch": 64, "precision": "bf16"},
            "parallelism": {"data": 32, "expert": 8, "zero": 1, **parallelism},
            "cluster": {"npu": "a100-80gb", "fabric": "dgx-a100", "npus": 32},
            "software": "deepspeed",
        }
        found = {entry.path for entry in export(design_from(document), "deepspeed").unsaid}
        return found & {"parallelism.dispatch", "parallelism.expert_overlap"}

    assert left() == set()
    assert left(dispatch="node") == {"parallelism.dispatch"}
    assert left(expert_overlap=True) == {"parallelism.expert_overlap"}


def test_groups_that_take_the_ranks_in_another_order_are_named() -> None:
    for placement, known in (
        (["tensor", "context", "pipeline", "data"], True),
        (["data", "tensor", "pipeline"], False),
    ):
        design = dense(context=1).with_("cluster.placement", [*placement, *({"context"} - set(placement))])
        exported = export(design, "megatron")
        assert ("--use-tp-pp-dp-mapping" in exported.text) is known
        assert [entry.path for entry in exported.unsaid] == ([] if known else ["cluster.placement"])


def test_a_stack_that_another_program_has_is_noted() -> None:
    assert "software 'deepspeed'" in export(dense("deepspeed"), "megatron").notes[0]


@pytest.mark.parametrize(
    ("target", "document", "message"),
    [
        (
            "megatron",
            {**DENSE, "workload": {"collective": "all_reduce", "size": "1 GiB"}, "parallelism": {}},
            "training",
        ),
        (
            "torchtitan",
            {**DENSE, "workload": {**DENSE["workload"], "model": "llama2-70b", "sequence_length": 4096}},
            "one of TorchTitan's",
        ),
        ("torchtitan", {**DENSE, "parallelism": {"pipeline": 4, "schedule": "v-min", "interleave": 2}}, "gpipe, zbv"),
        ("deepspeed", {**DENSE, "parallelism": {"pipeline": 4, "zero": 3}}, "0 or 1 with a pipeline"),
        ("deepspeed", {**DENSE, "parallelism": {"context": 8, "zero": 1}}, r"1, or context_communication: all_to_all"),
        (
            "deepspeed",
            {**DENSE, "parallelism": {"context": 4, "tensor": 2, "context_communication": "all_to_all"}},
            r"context: expected 1 beside tensor groups or a pipeline: .*, got 4 beside tensor 2",
        ),
        (
            "deepspeed",
            {**DENSE, "workload": {**DENSE["workload"], "model": "mixtral-8x7b"}, "parallelism": {"zero": 3}},
            "0 to 2 with experts",
        ),
        (
            "megatron",
            {**DENSE, "cluster": {"npu": "tpu-v5p", "fabric": "tpu-v5p-pod", "npus": 512}},
            "an NPU that megatron runs on, got tpu-v5p; .* such as maxtext",
        ),
    ],
)
def test_what_a_program_cannot_run_is_refused(target: str, document: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        export(design_from(document), target)


def test_torchtitan_knows_a_model_by_its_sizes() -> None:
    model = {"base": "llama3-70b", "name": "from-a-file", "tied": False, "sequence_length": 131072}
    workload = {**DENSE["workload"], "model": model}
    assert "--config llama3_70b" in export(design_from({**DENSE, "workload": workload}), "torchtitan").text


@pytest.mark.parametrize(("model", "pipeline", "npus"), [("llama3-70b", 3, 24), ("llama3-405b", 16, 128)])
def test_torchtitan_is_told_layers_that_do_not_divide(model: str, pipeline: int, npus: int) -> None:
    workload = {**DENSE["workload"], "model": model, "precision": "fp8" if "405b" in model else "bf16"}
    parallelism = {"tensor": 8, "pipeline": pipeline, "sequence_parallel": True}
    cluster = {**DENSE["cluster"], "npus": npus}
    document = {"workload": workload, "parallelism": parallelism, "cluster": cluster, "software": "pytorch-fsdp"}
    assert export(design_from(document), "torchtitan").unsaid == ()


def test_a_key_beside_one_that_the_training_script_has_is_named() -> None:
    keys = {"sequence_parallel": False, "data_overlap": False, "recompute": "full", "recompute_layers": 3}
    exported = export(dense("deepspeed", **keys), "deepspeed")
    assert [entry.path for entry in exported.unsaid] == ["parallelism.recompute_layers"]
    assert any("flash_attention" in note for note in exported.notes)


def written_for_deepspeed(**parallelism: Any) -> dict[str, Any]:
    keys = {"tensor": 1, "pipeline": 1, "sequence_parallel": False, **parallelism}
    config: dict[str, Any] = json.loads(export(dense("deepspeed", **keys), "deepspeed").text)
    return config


@pytest.mark.parametrize(
    ("keys", "groups"),
    [
        ({}, 256),
        ({"pipeline": 4}, 64),
        ({"pipeline": 4, "tensor": 2}, 32),
        ({"context": 8, "context_communication": "all_to_all"}, 32),
    ],
)
def test_deepspeed_finds_as_many_groups_as_its_batch_is_of(keys: dict[str, Any], groups: int) -> None:
    config = written_for_deepspeed(**keys)
    step = config["train_micro_batch_size_per_gpu"] * config["gradient_accumulation_steps"]
    assert step * config.get("data_parallel_size", groups) == 512
    assert config.get("train_batch_size", 512) == step * groups
    assert config.get("sequence_parallel_size", 1) == keys.get("context", 1)
    assert "tensor_parallel" not in config
    runtime = pytest.importorskip("deepspeed.runtime.config", reason="DeepSpeed's own parser is not installed")
    runtime.DeepSpeedConfig(config | {"train_batch_size": step})  # of one NPU


def test_deepspeeds_own_tensor_groups_have_no_size_of_the_batch_that_counts_them() -> None:
    config = written_for_deepspeed(tensor=4)
    assert config["tensor_parallel"]["autotp_size"] == 4
    assert "train_batch_size" not in config
    assert config["data_parallel_size"] * config["gradient_accumulation_steps"] == 512
    design = dense("deepspeed", tensor=4, pipeline=1, sequence_parallel=False, data_overlap=False)
    assert export(design, "deepspeed").unsaid == ()
    assert any("train_batch_size is left out" in note for note in export(design, "deepspeed").notes)


def test_tensor_groups_beside_a_pipeline_are_the_training_scripts_in_deepspeed() -> None:
    exported = export(dense("deepspeed", tensor=4, pipeline=4, data_overlap=False), "deepspeed")
    assert exported.unsaid == ()
    assert any(note.startswith("parallelism.tensor (4)") for note in exported.notes)
    assert any(note.startswith("parallelism.sequence_parallel (True)") for note in exported.notes)


@pytest.mark.parametrize(
    ("keys", "overlaps"),
    [
        ({"zero": 0}, False),
        ({"zero": 1}, False),
        ({"zero": 1, "gradient_precision": "fp16"}, True),
        ({"zero": 1, "gradient_precision": "fp16", "pipeline": 2}, False),
        ({"zero": 2}, True),
    ],
)
def test_only_deepspeeds_zero_optimizers_reduce_beside_computation(keys: dict[str, Any], overlaps: bool) -> None:
    gradients = keys.pop("gradient_precision", "fp32")
    workload = {**DENSE["workload"], "gradient_precision": gradients}
    exported = export(design_from({**DENSE, "workload": workload, "parallelism": keys}), "deepspeed")
    assert json.loads(exported.text)["zero_optimization"]["overlap_comm"] is overlaps
    left = {entry.path for entry in exported.unsaid}
    assert ("parallelism.data_overlap" in left) is not overlaps
    assert ("workload.gradient_precision" in left) is (keys["zero"] == 0)  # it refuses to sum wider than the weights


def test_torchtitan_parses_its_arguments() -> None:
    manager = pytest.importorskip("torchtitan.config.manager", reason="TorchTitan's own parser is not installed")
    said, bare = read_script(export(dense("pytorch-fsdp", zero=3, recompute="full"), "torchtitan").text)
    words = [word for word in said.words() if "=" not in word]
    config = manager.ConfigManager().parse_args([*words[words.index("--module") :], bare[-1]])
    assert config.parallelism.tensor_parallel_degree == 8
    assert config.training.global_batch_size == 512


@pytest.mark.parametrize(("precision", "said"), [("fp8", True), ("bf16", False)])
def test_eight_bits_are_a_converter_of_torchtitans_configuration(precision: str, said: bool) -> None:
    design = design_from({**DENSE, "workload": {**DENSE["workload"], "precision": precision}})
    exported = export(design, "torchtitan")
    assert not any(entry.path == "workload.precision" for entry in exported.unsaid)
    notes = list(TARGETS["torchtitan"].notes(design))
    assert any(note.startswith("workload.precision (fp8): a converter") for note in notes) == said


def test_a_comment_of_a_script_is_one_line_whatever_is_in_it() -> None:
    text = script(["a\ntouch pwned\r\n#", "b\u2028c"], ["true"], Arguments())
    assert text.splitlines()[:3] == ["#!/usr/bin/env bash", "# a touch pwned #", "# b c"]
    assert [line for line in text.split("\n") if line and not line.startswith("#")] == ["exec true \\", '  "$@"']


@pytest.mark.parametrize("where", ["npu", "software", "model"])
def test_a_name_that_would_be_a_command_is_refused(where: str) -> None:
    name = "h100\ntouch pwned\n#"
    its: dict[str, Any] = {
        "workload": {"model": "llama3-8b", "global_batch": 8},
        "cluster": {"npu": "h100-80gb", "fabric": "dgx-h100", "npus": 8},
        "software": "megatron-core",
    }
    if where == "npu":
        its["cluster"]["npu"] = {"base": "h100-80gb", "name": name}
    elif where == "software":
        its["software"] = {"base": "megatron-core", "name": name}
    else:
        its["workload"]["model"] = {"base": "llama3-8b", "name": name}
    with pytest.raises(InputError, match="name: expected a line of text, without control characters"):
        design_from(its)
