"""Kinds of measured kernels: the columns of their tables, and the operators that the simulator prices them as."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from simcore.compute import Roofline
from simcore.document.field import BYTES, NARROW
from simcore.document.problem import Refusal
from simcore.program import Compute

PRECISIONS = {"bfloat16": "bf16", "float16": "fp16", "float32": "fp32"}
"""Other names of precisions in tables."""
WIDE = 2.0
"""Bytes of what enters a cast and leaves a product."""

Cells = Mapping[str, str]


@dataclass(frozen=True)
class Kernel(ABC):
    """A measured kernel."""

    name: ClassVar[str]
    columns: ClassVar[frozenset[str]]
    """Columns that its table has beside `device` and `time_us`."""

    device: str
    precision: str
    seconds: float
    """Measured time [s]."""
    line: int
    """Line of the table."""

    @classmethod
    @abstractmethod
    def read(cls, cells: Cells, line: int) -> Kernel:
        """The kernel of a row. Raises `ValueError`, or `Refusal` where the model has no words for it."""

    @property
    @abstractmethod
    def shape(self) -> tuple[float | str, ...]:
        """What tells it from others of its device and precision."""

    @property
    def group(self) -> dict[str, str]:
        """What errors are grouped by."""
        return {"device": self.device, "precision": self.precision}

    @abstractmethod
    def predict(self, times: Roofline) -> float:
        """Predicted time [s], of an NPU with a curve at the kernel's precision."""


def precision_of(cells: Cells) -> str:
    """The precision of a row, by the project's name."""
    found = cells["precision"].strip().lower()
    return PRECISIONS.get(found, found)


def product(batch: float, m: float, n: float, k: float, precision: str, result: float = WIDE) -> Compute:
    """The operator of `batch` products [m,k]x[k,n], each number of whose results moves `result` bytes."""
    moved = batch * (BYTES[precision] * (m * k + k * n) + result * m * n)
    return Compute("product", "gemm", 2.0 * batch * m * n * k, moved, shape=(batch, m, n, k))


def moves(moved: float) -> Compute:
    """The operator that moves so many bytes."""
    return Compute("moves", "memory", 0.0, moved)


@dataclass(frozen=True)
class Product(Kernel):
    """A matrix product; in fewer than 16 bits with the cast of its first matrix, as it was measured."""

    name = "gemm"
    columns = frozenset({"precision", "m", "n", "k"})
    m: float
    n: float
    k: float

    @classmethod
    def read(cls, cells: Cells, line: int) -> Product:
        """See `Kernel.read`."""
        m, n, k = (float(cells[name]) for name in ("m", "n", "k"))
        return cls(cells["device"], precision_of(cells), read_time(cells), line, m, n, k)

    @property
    def shape(self) -> tuple[float | str, ...]:
        """See `Kernel.shape`."""
        return self.m, self.n, self.k

    @property
    def operator(self) -> Compute:
        """The product alone."""
        return product(1.0, self.m, self.n, self.k, self.precision)

    def predict(self, times: Roofline) -> float:
        """See `Kernel.predict`."""
        cast = times.cast_seconds(self.m * self.k, self.precision) if self.precision in NARROW else 0.0
        return times.seconds(self.operator) + cast


@dataclass(frozen=True)
class GroupedProduct(Kernel):
    """Products of as many weights, each with as many rows: forward, or one of the two of its backward pass."""

    name = "grouped_gemm"
    columns = frozenset({"precision", "groups", "m_per_group", "n", "k", "stage"})
    groups: float
    m: float
    n: float
    k: float
    stage: str
    accumulate: bool

    @classmethod
    def read(cls, cells: Cells, line: int) -> GroupedProduct:
        """See `Kernel.read`."""
        groups, m, n, k = (float(cells[name]) for name in ("groups", "m_per_group", "n", "k"))
        if cells["stage"] not in ("fwd", "bwd_grad_act", "bwd_grad_w"):
            raise Refusal("stage fwd, bwd_grad_act or bwd_grad_w", f"'{cells['stage']}'")
        accumulate = cells.get("accumulate", "").strip().lower() == "true"
        read = read_time(cells)
        return cls(cells["device"], precision_of(cells), read, line, groups, m, n, k, cells["stage"], accumulate)

    @property
    def shape(self) -> tuple[float | str, ...]:
        """See `Kernel.shape`."""
        return self.groups, self.m, self.n, self.k, self.stage, str(self.accumulate)

    @property
    def group(self) -> dict[str, str]:
        """See `Kernel.group`."""
        return {**super().group, "stage": self.stage}

    def predict(self, times: Roofline) -> float:
        """See `Kernel.predict`; a gradient that is added up in fp32 is read and written."""
        m, n, k = {
            "fwd": (self.m, self.n, self.k),
            "bwd_grad_act": (self.m, self.k, self.n),
            "bwd_grad_w": (self.k, self.n, self.m),
        }[self.stage]
        result = 2 * BYTES["fp32"] if self.accumulate else WIDE
        return times.seconds(product(self.groups, m, n, k, self.precision, result))


@dataclass(frozen=True)
class Attention(Kernel):
    """Fused attention of whole sequences, forward or backward."""

    name = "attention"
    columns = frozenset({"precision", "batch", "heads", "kv_heads", "head_dim", "seq", "causal", "pass"})
    batch: float
    heads: float
    kv_heads: float
    query: float
    value: float
    sequence: float
    causal: bool
    backward: bool

    @classmethod
    def read(cls, cells: Cells, line: int) -> Attention:
        """See `Kernel.read`."""
        batch, heads, kv_heads, query, sequence = (
            float(cells[name]) for name in ("batch", "heads", "kv_heads", "head_dim", "seq")
        )
        value = float(cells.get("v_head_dim") or query)
        causal, backward = cells["causal"].strip().lower() == "true", cells["pass"] == "backward"
        head = (cells["device"], precision_of(cells), read_time(cells), line)
        return cls(*head, batch, heads, kv_heads, query, value, sequence, causal, backward)

    @property
    def shape(self) -> tuple[float | str, ...]:
        """See `Kernel.shape`."""
        sizes = (self.batch, self.heads, self.kv_heads, self.query, self.sequence)
        return (*sizes, str(self.causal), str(self.backward))

    @property
    def group(self) -> dict[str, str]:
        """See `Kernel.group`."""
        direction = "backward" if self.backward else "forward"
        return {**super().group, "pass": direction, "causal": "true" if self.causal else "false"}

    @property
    def seen(self) -> float:
        """Keys that a query sees on average."""
        return self.sequence / 2 if self.causal else self.sequence

    @property
    def operator(self) -> Compute:
        """The fused kernel; the backward pass reads what the forward pass moves twice over."""
        heads, s, seen = self.batch * self.heads, self.sequence, self.seen
        scores, weighted = (heads, s, seen, self.query), (heads, s, self.value, seen)
        moved = WIDE * self.batch * s * (self.heads + self.kv_heads) * (self.query + self.value)
        fused: tuple[tuple[float, float, float, float], ...] = (scores, weighted)
        if self.backward:
            fused = (scores, (heads, s, seen, self.value), (heads, seen, self.value, s))
            fused += ((heads, s, self.query, seen), (heads, seen, self.query, s))
            moved *= 2
        flops = 2 * sum(batch * m * n * k for batch, m, n, k in fused)
        return Compute("attention", "flash", flops, moved, fused=fused)

    def predict(self, times: Roofline) -> float:
        """See `Kernel.predict`."""
        return times.seconds(self.operator)


@dataclass(frozen=True)
class Cast(Kernel):
    """A cast of an m x k matrix from bf16 to fp8, with a scale that is given, or with those of its rows."""

    name = "casts"
    columns = frozenset({"kind", "m", "k"})
    m: float
    k: float
    kind: str

    @classmethod
    def read(cls, cells: Cells, line: int) -> Cast:
        """See `Kernel.read`."""
        kind = cells["kind"]
        if kind not in ("static per tensor", "dynamic per token"):
            raise Refusal("casts 'static per tensor' or 'dynamic per token'", f"'{kind}'")
        return cls(cells["device"], "bf16", read_time(cells), line, float(cells["m"]), float(cells["k"]), kind)

    @property
    def shape(self) -> tuple[float | str, ...]:
        """See `Kernel.shape`."""
        return self.m, self.k

    @property
    def group(self) -> dict[str, str]:
        """See `Kernel.group`."""
        return {"device": self.device, "precision": "fp8", "kind": self.kind}

    @property
    def moved(self) -> float:
        """Bytes: each number is read and written; it is read once more where its row's scale is computed first."""
        read = WIDE if self.kind == "static per tensor" else 2 * WIDE
        return self.m * self.k * (read + BYTES["fp8"])

    def predict(self, times: Roofline) -> float:
        """See `Kernel.predict`."""
        return times.seconds(moves(self.moved))


@dataclass(frozen=True)
class Experts(Kernel):
    """The experts of one rank: two products with a gate between, routing and permutation, evenly routed."""

    name = "moe"
    columns = frozenset({"precision", "tokens", "hidden", "inter", "experts", "topk", "tp", "ep"})
    rows: float
    """Copies of tokens that the rank's experts take."""
    tokens: float
    hidden: float
    width: float
    experts: float

    @classmethod
    def read(cls, cells: Cells, line: int) -> Experts:
        """See `Kernel.read`."""
        distribution = cells.get("distribution", "balanced")
        if distribution != "balanced":
            raise Refusal("balanced routing", distribution)
        tokens, hidden, inter, experts, topk, tp, ep = (
            float(cells[name]) for name in ("tokens", "hidden", "inter", "experts", "topk", "tp", "ep")
        )
        head = (cells["device"], precision_of(cells), read_time(cells), line)
        return cls(*head, tokens * topk / ep, tokens, hidden, inter / tp, experts / ep)

    @property
    def shape(self) -> tuple[float | str, ...]:
        """See `Kernel.shape`."""
        return self.rows, self.tokens, self.hidden, self.width, self.experts

    def predict(self, times: Roofline) -> float:
        """See `Kernel.predict`: experts without a token do nothing, the others have equally many."""
        active = max(1.0, min(self.experts, self.rows))
        each = self.rows / active
        operators = (
            product(active, each, 2 * self.width, self.hidden, self.precision),
            moves(WIDE * 3 * self.rows * self.width),
            product(active, each, self.hidden, self.width, self.precision),
            moves(WIDE * 2 * self.rows * self.hidden),
        )
        casts = 0.0
        if self.precision in NARROW:
            casts = times.cast_seconds(self.tokens * self.hidden, self.precision)
            casts += times.cast_seconds(self.rows * self.width, self.precision)
        return sum(times.seconds(operator) for operator in operators) + casts


def read_time(cells: Cells) -> float:
    """The measured time of a row [s]. Raises `ValueError` for none."""
    seconds = float(cells["time_us"]) * 1e-6
    if not seconds > 0:
        raise Refusal("a time above 0", cells["time_us"])
    return seconds


KINDS: tuple[type[Kernel], ...] = (GroupedProduct, Attention, Experts, Cast, Product)
"""The more particular first."""
