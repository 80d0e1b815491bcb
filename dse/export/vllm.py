"""vLLM: a shell script that serves a model with `vllm serve`.

Arguments as of vLLM's documentation of 2026 (*Parallelism and Scaling*, *Data Parallel Deployment*, *Expert Parallel
Deployment*). A server has tensor x pipeline NPUs for each of its copies of the attention layers; with expert
parallelism its copies share out the experts. What a design has more of is served by more servers, all alike. The
model's checkpoint says in which precision its weights are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dse.export.base import Said, Target
from dse.export.command_line import Arguments, npus_of_node, read_script, script
from dse.export.described import describe
from simcore.design.design import Design
from simcore.document.field import NARROW
from simcore.document.problem import InputError, Problem
from simcore.workload.serving.document import InferenceWorkload

_TENSOR, _PIPELINE, _DATA = "--tensor-parallel-size", "--pipeline-parallel-size", "--data-parallel-size"
_EXPERTS, _EXCHANGE = "--enable-expert-parallel", "--all2all-backend"
_REQUESTS, _LENGTH, _CACHE = "--max-num-seqs", "--max-model-len", "--kv-cache-dtype"
_PASS = "--max-num-batched-tokens"
_MODEL = '"${MODEL:?the folder or the name of a checkpoint}"'
_RANK = "${NODE_RANK:-0}"
_EXCHANGES = {"node": "deepep_high_throughput", "rank": "deepep_low_latency"}
"""Who moves tokens to experts: once a node and on inside it, or to each NPU (DeepEP's two sets of kernels, of CUDA)."""
ROUND = 256
"""Tokens of an NPU that the low-latency kernels take at a time, as vLLM has it."""
_ELSEWHERE = {
    "workload.model": "the checkpoint that MODEL names",
    "workload.precision": "that of the checkpoint",
    "workload.weight_precision": "that of the checkpoint",
    "workload.prompt_length": "requests bring their prompts",
    "workload.output_length": "requests say how much they want",
    "workload.batching": "vLLM's scheduler decides",
    "parallelism.data": "as many servers as it takes",
    "parallelism.microbatch": "vLLM's scheduler decides",
}


class Vllm(Target):
    """vLLM."""

    name = "vllm"
    file = "serve.sh"
    software = ("vllm",)
    workload = "inference"

    def elsewhere(self, design: Design) -> Mapping[str, str]:
        """See `Target.elsewhere`."""
        several = {"workload.global_batch": "those of all servers"} if _servers(design) > 1 else {}
        chosen = {} if _has_kernels(design) else {"parallelism.dispatch": "vLLM chooses the exchange on these NPUs"}
        if design.parallelism.folded:
            chosen = {"parallelism.dispatch": "nothing is exchanged"}
        cache = InferenceWorkload.of(design.workload).cache_precision
        wide = {} if cache in NARROW else {"workload.cache_precision": "that of the checkpoint, or 16 bits"}
        return _ELSEWHERE | several | chosen | wide

    def write(self, design: Design) -> str:
        """See `Target.write`."""
        workload, p = InferenceWorkload.of(design.workload), design.parallelism
        if problems := list(_refusals(design)):
            raise InputError(problems)
        copies, nodes = _copies(design), _nodes(design)
        said = Arguments()
        said.give(_TENSOR, p.tensor)
        said.give(_PIPELINE, p.pipeline)
        said.give(_DATA, copies)
        said.switch(_EXPERTS, p.expert > 1)
        if (way := _exchange(design)) is not None:
            said.give(_EXCHANGE, _EXCHANGES[way])
        said.give(_REQUESTS, -(-workload.global_batch // design.data))
        said.give(_LENGTH, workload.length)
        if workload.batching == "continuous":
            said.give(_PASS, workload.pass_tokens)
        if workload.cache_precision == "fp8":
            said.give(_CACHE, "fp8")
        command = ["vllm", "serve", _MODEL]
        if nodes > 1 and copies > 1:
            here = copies // nodes
            command += [f"--data-parallel-size-local={here}", f'--data-parallel-start-rank="$(({_RANK} * {here}))"']
            command += ['--data-parallel-address="${MASTER_ADDR:-localhost}"']
        elif nodes > 1:
            command += [f"--nnodes={nodes}", f'--node-rank="{_RANK}"', '--master-addr="${MASTER_ADDR:-localhost}"']
        return script(describe(design, self), command, said)

    def read(self, text: str) -> Said:
        """See `Target.read`."""
        said, _ = read_script(text)
        tensor, pipeline, copies = (said.number(flag) or 1 for flag in (_TENSOR, _PIPELINE, _DATA))
        keys: dict[str, Any] = {"tensor": tensor, "pipeline": pipeline, "data": copies}
        if _EXPERTS in said:
            keys |= {"expert": copies} if copies > 1 else {"expert": tensor, "expert_tensor": 1}
            way = next((way for way, name in _EXCHANGES.items() if name == said.word(_EXCHANGE)), None)
            if way is not None:
                keys["dispatch"] = way
        workload: dict[str, Any] = {"global_batch": (said.number(_REQUESTS) or 1) * copies}
        if _PASS in said:
            workload["prefill_tokens"] = said.number(_PASS)
        if _CACHE in said:
            workload["cache_precision"] = said.word(_CACHE)
        return Said(keys, workload)

    def notes(self, design: Design) -> Iterator[str]:
        """See `Target.notes`."""
        workload = InferenceWorkload.of(design.workload)
        held = workload.weight_precision or workload.precision
        yield f"MODEL is a checkpoint of {workload.model.name or 'the model'} with weights in {held}"
        if (servers := _servers(design)) > 1:
            yield f"a server is {design.cluster.npus // servers:,} NPUs: start {servers:,} of them behind one address"
            if design.cluster.npus // servers < npus_of_node(design):
                yield "servers of one node have NPUs (CUDA_VISIBLE_DEVICES) and a port (--port) of their own"
        if _nodes(design) > 1:
            yield "NODE_RANK counts the nodes of one server; on all of them but the first add --headless"
        if _without_graphs(design):
            yield (
                f"{_EXCHANGES['node']} turns CUDA graphs off, as is predicted: {_EXCHANGES['rank']} has them, for NPUs "
                "that decode alone"
            )
        if _reads_in_rounds(design):
            yield (
                f"{_EXCHANGES['rank']} takes {ROUND} tokens of an NPU at a time (VLLM_MOE_DP_CHUNK_SIZE): a pass that "
                f"reads {workload.pass_tokens:,} takes rounds, which the prediction does not count; read prompts on "
                f"NPUs of their own, or with {_EXCHANGES['node']}"
            )
        if workload.batching == "static":
            yield "requests that come one by one join a batch that runs: the prediction begins all of them together"


def _without_graphs(design: Design) -> bool:
    """Whether the kernels that move tokens to experts are those that vLLM starts no graphs beside."""
    return _exchange(design) == "node" and design.software.execution == "graph"


def _reads_in_rounds(design: Design) -> bool:
    """Whether prompts go through kernels that are made for few tokens."""
    workload = InferenceWorkload.of(design.workload)
    return _exchange(design) == "rank" and workload.batching == "continuous" and workload.pass_tokens > ROUND


def _exchange(design: Design) -> str | None:
    """How tokens move to experts (`parallelism.dispatch`); None where none do, or vLLM chooses the kernels for it."""
    moves = _copies(design) > 1 and _has_kernels(design)
    return design.parallelism.dispatch or "rank" if moves else None


def _has_kernels(design: Design) -> bool:
    """Whether the kernels that move tokens to experts run on a design's NPUs."""
    return design.cluster.npu.platform == "cuda"


def _copies(design: Design) -> int:
    """Copies of the attention layers in a server: as many as share the experts, or one whose tensor group does."""
    return 1 if design.parallelism.folded else design.parallelism.expert


def _servers(design: Design) -> int:
    return design.data // _copies(design)


def _nodes(design: Design) -> int:
    """Nodes of one server."""
    p = design.parallelism
    return -(-p.tensor * p.pipeline * _copies(design) // npus_of_node(design))


def _refusals(design: Design) -> Iterator[Problem]:
    """What no argument of vLLM starts, with what to change."""
    p, fix, copies = design.parallelism, "choose another design", _copies(design)
    if p.context > 1:
        yield Problem(("parallelism", "context"), "1: a prompt is prefilled by one copy", str(p.context), fix)
    if p.expert > 1 and p.folds > 1:
        expected = "1 beside expert: its expert groups take in the tensor groups, and hold whole experts"
        yield Problem(("parallelism", "tensor"), expected, str(p.tensor), fix)
    cache = InferenceWorkload.of(design.workload).cache_precision
    if cache in NARROW and cache != "fp8":
        yield Problem(("workload", "cache_precision"), "fp8, 16 bits, or nothing", f"{cache}", fix)
    if copies > 1 and copies % _nodes(design):
        expected = f"whole nodes of copies: {copies} of them are on {_nodes(design)} nodes"
        yield Problem(("parallelism", "expert"), expected, str(p.expert), fix)
