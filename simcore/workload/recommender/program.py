"""A recommendation model as a Program: embedding tables spread over all NPUs, MLPs data parallel (arXiv 1906.00091).

An NPU looks up, in its share of the tables, the rows that the global batch wants, and an all-to-all brings every NPU
the pooled vectors of its own samples: b x tables x width numbers for a local batch of b. It runs while the bottom MLP
does. Backward, the gradients of the vectors go the other way while the bottom MLP's backward runs, and are added into
the tables at once (sparse, row-wise Adagrad: one fp32 number a row). Tables are taken to be spread evenly.

Which rows are wanted goes to the owners of the tables by an all-to-all of its own, b x tables x pooling indices of 64
bits. It is sent for the next microbatch while this one is in the top MLP and goes backward, as TorchRec's pipelined
training does (Ivchenko et al. 2022, TrainPipelineSparseDist); what does not end by then is waited for.
"""

from __future__ import annotations

from dataclasses import dataclass

from simcore.design.design import Design
from simcore.document.field import BYTES
from simcore.program import Category, Compute, Operator, Program, Start, Wait, Waits
from simcore.workload.recommender.document import Recommender, RecommenderWorkload
from simcore.workload.training import ModelUnit, Trainer
from simcore.workload.transformer.layers import backwards

INDEX = 8
"""Bytes of the number of a row."""
ROW_STATE = 4
"""Bytes of optimizer state of a row of a table (row-wise Adagrad)."""


@dataclass(frozen=True)
class _Builder:
    model: Recommender
    npus: int
    batch: int
    """Samples of a microbatch on one NPU."""
    width: float
    """Bytes of one number."""

    @property
    def pooled(self) -> float:
        """Bytes of the embeddings of one NPU's samples."""
        return float(self.batch * self.model.tables * self.model.embedding * self.width)

    def _send(self, size: float, waits: Waits) -> tuple[Operator, ...]:
        """Start an all-to-all between the owners of the tables and those of the samples."""
        return (Start("all_to_all", "expert", size, waits),) if self.npus > 1 else ()

    def _await(self, waits: Waits) -> tuple[Operator, ...]:
        """Wait for it."""
        return (Wait(waits, Category.EXPERT),) if self.npus > 1 else ()

    def exchange(self) -> tuple[Operator, ...]:
        """Start the exchange of pooled vectors, or of their gradients."""
        return self._send(self.pooled, Waits.EXCHANGE)

    def product(self, name: str, m: int, n: int, k: int, batch: int = 1) -> Compute:
        """`batch` products [m,k]x[k,n]."""
        moved = float(batch * (m * k + k * n + m * n) * self.width)
        return Compute(name, "gemm", 2.0 * batch * m * n * k, moved, shape=(batch, m, n, k))

    def layers(self, name: str, layers: list[tuple[int, int]]) -> list[ModelUnit]:
        """The layers of an MLP."""
        units = []
        for number, (inputs, outputs) in enumerate(layers, 1):
            forward = (self.product(f"{name}-{number}", self.batch, outputs, inputs),)
            parameters = float(self.model.layer_parameters(inputs, outputs))
            units.append(ModelUnit(f"{name}-{number}", forward, backwards(forward), parameters))
        return units

    def interaction(self) -> ModelUnit:
        """Products of all pairs of vectors, or their concatenation."""
        model, vectors = self.model, self.model.tables + 1
        forward: tuple[Operator, ...]
        if model.interaction == "dot":
            forward = (self.product("interaction", vectors, vectors, model.embedding, self.batch),)
        else:
            forward = (Compute("interaction", "memory", 0.0, 2.0 * self.batch * model.interacted * self.width),)
        ahead = (*self._await(Waits.EXCHANGE), *self._send(INDEX * self._lookups, Waits.OVERLAP))
        return ModelUnit("interaction", (*ahead, *forward), (*backwards(forward), *self.exchange()))

    def units(self) -> list[ModelUnit]:
        """All units in the order of the forward pass; the tables are updated at the end of the backward pass."""
        rows = self.pooled * self.model.pooling
        lookup = Compute("lookup", "memory", 0.0, rows + self.pooled)
        # Reads the gradient of each pooled vector; reads and writes its rows and their states.
        update = Compute("table-update", "memory", 0.0, self.pooled + 2 * rows + 2 * ROW_STATE * self._lookups)
        backward = (*self._await(Waits.EXCHANGE), update, *self._await(Waits.OVERLAP))
        tables = ModelUnit("tables", (lookup, *self.exchange()), backward)
        bottom, top = self.layers("bottom", self.model.bottom_layers), self.layers("top", self.model.top_layers)
        return [tables, *bottom, self.interaction(), *top]

    @property
    def _lookups(self) -> float:
        return float(self.batch * self.model.tables * self.model.pooling)

    @property
    def tables(self) -> float:
        """Bytes of an NPU's share of the tables and their states."""
        return self.model.rows * (self.model.embedding * self.width + ROW_STATE) / self.npus

    @property
    def kept(self) -> float:
        """Bytes of a microbatch from its forward to its backward: the inputs of the layers and of the interaction."""
        inputs = sum(inputs for inputs, _ in (*self.model.bottom_layers, *self.model.top_layers))
        return float(self.batch * (inputs + self.model.embedding) * self.width) + self.pooled


def forward_flops(model: Recommender) -> float:
    """FLOPs of one sample forward, in products."""
    layers = sum(2.0 * inputs * outputs for inputs, outputs in (*model.bottom_layers, *model.top_layers))
    vectors = model.tables + 1
    return layers + (2.0 * vectors * vectors * model.embedding if model.interaction == "dot" else 0.0)


def recommender_flops(workload: RecommenderWorkload) -> float:
    """FLOPs of an iteration, in products."""
    return 3 * workload.global_batch * forward_flops(workload.model)


def recommender_program(design: Design) -> Program:
    """The Program of a design that trains a recommendation model."""
    workload = RecommenderWorkload.of(design.workload)
    model = workload.model
    builder = _Builder(model, design.cluster.npus, design.microbatch, BYTES[workload.precision])
    trainer = Trainer(design)
    widest = max((model.interacted, *model.bottom, *model.top))
    working = 2.0 * builder.batch * widest * builder.width + 2 * builder.pooled
    part = trainer.part(builder.units(), builder.kept, working, resident=builder.tables)
    return Program(
        parts=(part,),
        part_of=(0,),
        stages=1,
        chunks=1,
        microbatches=design.microbatches,
        schedule="1f1b",
        send_bytes=0.0,
        final=(trainer.final(part.parameters),),
        model_flops=recommender_flops(workload),
        tokens=workload.global_batch,
        counts="samples",
    )
