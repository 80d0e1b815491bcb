"""Records two processes that train a small transformer with PyTorch on CPUs, and trims what they wrote.

    python record.py FOLDER

needs PyTorch with gloo; see README.md beside this file.
"""

from __future__ import annotations

import gzip
import json
import os
import sys
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import torch.multiprocessing as processes
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel
from torch.profiler import ExecutionTraceObserver, ProfilerActivity, profile

WORLD, WIDTH, HEADS, TOKENS, BATCH = 2, 64, 4, 16, 2


class Block(nn.Module):
    """One layer of a transformer."""

    def __init__(self) -> None:
        super().__init__()
        self.norms = nn.ModuleList([nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)])
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        heads = self.qkv(self.norms[0](x)).view(BATCH, TOKENS, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        mixed = nn.functional.scaled_dot_product_attention(*heads).transpose(1, 2).reshape(BATCH, TOKENS, WIDTH)
        x = x + self.out(mixed)
        return x + self.down(nn.functional.gelu(self.up(self.norms[1](x))))


def step(model: nn.Module, optimizer: torch.optim.Optimizer, rank: int) -> None:
    """One iteration: data parallel, then a gather, a scatter, a sum and a message, so that there is one of each."""
    y = model(torch.randn(BATCH, TOKENS, WIDTH))
    gathered = torch.empty(WORLD * y.numel())
    dist.all_gather_into_tensor(gathered, y.detach().reshape(-1))
    dist.reduce_scatter_tensor(torch.empty(y.numel()), gathered)
    loss = y.square().mean()
    loss.backward()
    total = loss.detach().clone()
    dist.all_reduce(total)
    message = torch.zeros(256)
    if rank == 0:
        dist.send(message, 1)
    else:
        dist.recv(message, 0)
    optimizer.step()
    optimizer.zero_grad()


def run(rank: int, folder: str) -> None:
    """One process."""
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29611")
    dist.init_process_group("gloo", rank=rank, world_size=WORLD)
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = DistributedDataParallel(nn.Sequential(Block(), Block()), bucket_cap_mb=0.2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(3):
        step(model, optimizer, rank)
    dist.barrier()
    observer = ExecutionTraceObserver().register_callback(f"{folder}/host.{rank}.json")
    with profile(activities=[ProfilerActivity.CPU], execution_trace_observer=observer) as profiler:
        step(model, optimizer, rank)
    profiler.export_chrome_trace(f"{folder}/kineto.{rank}.json")
    dist.destroy_process_group()


def trim(folder: Path) -> None:
    """Keep what a converter may read; drop shapes and strides, flows, names of hosts and files."""
    for rank in range(WORLD):
        path = folder / f"host.{rank}.json"
        host = json.loads(path.read_text())
        for node in host["nodes"]:
            for side in ("inputs", "outputs"):
                node[side] = {key: node[side][key] for key in ("values", "types")}
            kept = ("rf_id", "op_schema", "pg_name", "collective_name")
            node["attrs"] = [entry for entry in node["attrs"] if entry["name"] in kept and entry["value"] != ""]
        _replace(path, host)
        path = folder / f"kineto.{rank}.json"
        timeline = json.loads(path.read_text())
        events = [event for event in timeline["traceEvents"] if event["ph"] == "X" and event["cat"] != "Trace"]
        _replace(path, {"distributedInfo": timeline["distributedInfo"], "traceEvents": events})


def _replace(path: Path, document: dict[str, Any]) -> None:
    packed = gzip.compress(json.dumps(document, separators=(",", ":")).encode(), 9, mtime=0)
    path.with_name(path.name + ".gz").write_bytes(packed)
    path.unlink()


if __name__ == "__main__":
    processes.spawn(run, args=(sys.argv[1],), nprocs=WORLD)
    trim(Path(sys.argv[1]))
