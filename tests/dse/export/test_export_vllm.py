"""Served designs as scripts of `vllm serve`: what they say comes back, what no argument says is named or refused."""

from __future__ import annotations

from typing import Any

import pytest

from dse.export import TARGETS, export
from dse.export.command_line import read_script
from dse.export.compare import read_back
from simcore.check.load import design_from
from simcore.design.design import Design
from simcore.document.problem import InputError


def served(npus: int = 32, model: str = "deepseek-v3", workload: dict[str, Any] | None = None, **more: Any) -> Design:
    return design_from(
        {
            "workload": {
                "model": model,
                "global_batch": 512,
                "prompt_length": 2000,
                "output_length": 500,
                "precision": "fp8_block",
                **(workload or {}),
            },
            "parallelism": more,
            "cluster": {"npu": "h200", "fabric": "dgx-h100", "npus": npus},
            "software": "vllm",
        }
    )


DENSE: dict[str, Any] = {"model": "llama3-70b", "workload": {"precision": "bf16"}}
DESIGNS = {
    "experts over all": served(data=32, expert=32, dispatch="node"),
    "experts over some": served(npus=64, data=64, expert=16, dispatch="rank"),
    "experts cut": served(npus=16, tensor=16),
    "experts whole": served(npus=16, tensor=8, data=2, expert=8, expert_tensor=1),
    "dense": served(npus=8, tensor=4, data=2, **DENSE),
    "dense in stages": served(npus=32, tensor=8, pipeline=2, data=2, **DENSE),
    "narrow cache": served(npus=4, tensor=4, model="llama3-70b", workload={"cache_precision": "fp8"}),
}


@pytest.mark.parametrize("name", DESIGNS)
def test_what_a_script_says_is_the_design(name: str) -> None:
    design = DESIGNS[name]
    exported = export(design, "vllm")
    assert exported.unsaid == ()
    target = TARGETS["vllm"]
    back = read_back(design, target, target.read(exported.text))
    said = {"tensor", "pipeline", "expert", "expert_tensor", "dispatch"}
    assert {key: getattr(back.parallelism, key) for key in said} == {
        key: getattr(design.parallelism, key) for key in said
    }


def test_a_server_of_several_nodes_shares_out_its_copies() -> None:
    said, _ = read_script(export(DESIGNS["experts over all"], "vllm").text)
    assert said.number("--data-parallel-size") == 32
    assert "--data-parallel-size-local=8" in said
    assert "--enable-expert-parallel" in said
    assert said.word("--all2all-backend") == "deepep_high_throughput"
    assert said.number("--max-num-seqs") == 16
    assert said.number("--max-model-len") == 2500
    assert said.number("--max-num-batched-tokens") == 2048
    notes = export(DESIGNS["experts over all"], "vllm").notes
    assert "NODE_RANK counts the nodes of one server; on all of them but the first add --headless" in notes
    assert any(note.startswith("deepep_high_throughput turns CUDA graphs off") for note in notes)


def test_a_model_in_stages_on_two_nodes_is_one_server_and_its_copy_another() -> None:
    exported = export(DESIGNS["dense in stages"], "vllm")
    said, _ = read_script(exported.text)
    assert "--nnodes=2" in said
    assert said.number("--data-parallel-size") == 1
    assert "a server is 16 NPUs: start 2 of them behind one address" in exported.notes


def test_what_servers_of_one_node_need_is_said_and_nothing_of_a_wide_cache() -> None:
    notes = export(served(npus=8, tensor=4, data=2, **DENSE), "vllm").notes
    assert "servers of one node have NPUs (CUDA_VISIBLE_DEVICES) and a port (--port) of their own" in notes
    wide = {"precision": "bf16", "cache_precision": "bf16"}
    assert export(served(npus=8, tensor=8, model="llama3-70b", workload=wide), "vllm").unsaid == ()


def test_a_group_of_experts_is_a_server() -> None:
    exported = export(DESIGNS["experts over some"], "vllm")
    said, _ = read_script(exported.text)
    assert (said.number("--data-parallel-size"), said.word("--all2all-backend")) == (16, "deepep_low_latency")
    assert "a server is 16 NPUs: start 4 of them behind one address" in exported.notes


def test_a_pass_of_prompts_longer_than_the_low_latency_kernels_take_is_told() -> None:
    spread: dict[str, Any] = {**DESIGNS["experts over some"].document()}
    for dispatch, tokens, told in (("rank", 16384, True), ("rank", 256, False), ("node", 16384, False)):
        job = {**spread["parallelism"], "dispatch": dispatch}
        workload = {**spread["workload"], "prompt_length": 256, "prefill_tokens": tokens}
        notes = export(design_from({**spread, "workload": workload, "parallelism": job}), "vllm").notes
        assert any("VLLM_MOE_DP_CHUNK_SIZE" in note for note in notes) == told, (dispatch, tokens)


def test_a_tensor_group_with_whole_experts_is_a_server_of_one_copy() -> None:
    exported = export(DESIGNS["experts whole"], "vllm")
    said, _ = read_script(exported.text)
    assert (said.number("--tensor-parallel-size"), said.number("--data-parallel-size")) == (8, 1)
    assert "--enable-expert-parallel" in said
    assert "--all2all-backend" not in said
    assert "a server is 8 NPUs: start 2 of them behind one address" in exported.notes


def test_experts_cut_over_a_tensor_group_beside_expert_groups_are_refused() -> None:
    with pytest.raises(InputError, match="expert_tensor: expected 1, which is all that vllm has with experts spread"):
        export(served(npus=32, tensor=2, data=16, expert=16), "vllm")


def test_programs_that_train_take_no_served_design_and_vllm_takes_no_training() -> None:
    with pytest.raises(InputError, match="in training, which megatron runs, got kind 'inference'"):
        export(DESIGNS["dense"], "megatron")
    trained = {
        "workload": {"model": "llama3-8b", "global_batch": 8},
        "cluster": {"npu": "h200", "fabric": "dgx-h100", "npus": 8},
    }
    with pytest.raises(InputError, match="expected kind 'inference', which vllm runs, got kind 'transformer'"):
        export(design_from(trained), "vllm")
