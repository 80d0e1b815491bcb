"""Kinds of things whose numbers stand in the catalogue's files: models, NPUs, fabrics, prices and so on.

The summary of an entry is read from the entry as an object, so that defaults and units are those that simulations use.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dse.catalogue.base import Entry, Kind
from dse.report.aspects import short_name
from dse.report.units import format_brief, format_with_unit
from simcore import catalog
from simcore.catalog.preset import preset
from simcore.cost.sold import listed
from simcore.design.curve import Curve
from simcore.design.library import Library
from simcore.design.node import Node
from simcore.design.npu import Npu
from simcore.design.part import Part
from simcore.design.prices import PriceList
from simcore.design.reliability import Reliability
from simcore.design.software import Software
from simcore.network import TOPOLOGIES
from simcore.reliability.counts import Counts, failure_rate
from simcore.workload.layer_table.document import LayerTable
from simcore.workload.layer_table.program import rows_of
from simcore.workload.recommender.document import Recommender
from simcore.workload.transformer.counts import active_parameters, model_parameters
from simcore.workload.transformer.model import Transformer

_COUNTS = ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "k"))
_RATES = ((1e15, "PFLOP/s"), (1e12, "TFLOP/s"))
_ASSUMED = re.compile(r"\bassumed\b", re.IGNORECASE)

_OF_MODELS = (
    "Parameters are those of matrices with one embedding: an output matrix of its own adds vocabulary x hidden. "
    "workload.model takes networks and recommenders too."
)
_OF_NPUS = (
    "Dense 16-bit rate, memory, power. Numbers from: kernels, iterations measured on this device; kernels of another "
    "one of its generation; the data sheet alone, with assumed efficiencies."
)
_OF_FABRICS = (
    "Dimensions innermost first, n: as many as the NPUs need; SW switch, FC fully connected; bandwidth per NPU. Node "
    "measured: its library's collectives were."
)

_OF_NODES = (
    "NPUs of a node; the network that joins them without NICs, with the largest domain; NICs of a node. A cluster is "
    "made of the node that its NPU is sold in, unless it names one (cluster.node)."
)

Told = tuple[str, str]
"""What matters of an entry, and what its numbers rest on."""


@dataclass(frozen=True)
class PresetKind(Kind):
    """A section of the catalogue."""

    name: str
    what: str
    path: str
    example: str
    """How a document says an entry, with `NAME` for it."""
    tell: Callable[[str], Told]
    note: str = ""

    def names(self) -> list[str]:
        """See `Kind.names`."""
        return list(catalog.section(self.name))

    def entry(self, name: str) -> Entry:
        """See `Kind.entry`."""
        given = catalog.entry(self.name, name)
        values = {key: _by_name(value) for key, value in given.items() if key not in ("name", "source", "sources")}
        sources = dict(given.get("sources", {})) | ({"source": given["source"]} if given.get("source") else {})
        written = self.example.replace("NAME", name)
        summary, basis = self.tell(name)
        return Entry(self.name, name, summary, basis, written, catalog.origin(self.name, name), values, sources)


def _by_name(value: Any) -> Any:
    """A value of an entry, where other entries stand in it their names."""
    if isinstance(value, dict):
        return value["name"] if "name" in value and "source" in "".join(value) else _by_name_each(value)
    return [_by_name(inner) for inner in value] if isinstance(value, list) else value


def _by_name_each(value: dict[str, Any]) -> dict[str, Any]:
    return {key: _by_name(inner) for key, inner in value.items()}


def _count(number: float) -> str:
    factor, letter = next((step for step in _COUNTS if number >= step[0]), (1.0, ""))
    return f"{number / factor:.3g} {letter}".strip()


def _basis(source: str) -> str:
    return "partly assumed" if _ASSUMED.search(source) else "published"


def _tell_model(name: str) -> Told:
    model = preset(Transformer, "models", name)
    total, moe = model_parameters(model), model.mixture_of_experts
    shape = f"{model.layers} layers of {model.hidden:,}"
    if moe is None:
        return f"{_count(total)} parameters, {shape}", _basis(model.source)
    size = f"{_count(total)} parameters, {_count(active_parameters(model))} active"
    return f"{size}; {shape}, {moe.top_k} of {moe.experts} experts", _basis(model.source)


def _tell_network(name: str) -> Told:
    table = preset(LayerTable, "networks", name)
    rows = rows_of(table)
    flops = sum(row.flops for row in rows)
    size = f"{_count(sum(row.parameters for row in rows))} parameters"
    return f"{size}, {len(rows)} layers, {format_brief(flops / 1e9)} GFLOP forward a sample", _basis(table.source)


def _tell_recommender(name: str) -> Told:
    model = preset(Recommender, "recommenders", name)
    tables = f"{model.tables} tables of {_count(model.rows)} rows x {model.embedding}"
    return f"{tables}, {_count(model.dense_parameters)} parameters in MLPs, {model.interaction}", _basis(model.source)


def _tell_npu(name: str) -> Told:
    npu = preset(Npu, "npus", name)
    precision = next(str(p) for p in ("bf16", "fp16", "fp32") if p in npu.peak)
    factor, unit = _RATES[0] if npu.rate(precision) >= 1e15 else _RATES[1]
    rate = f"{npu.rate(precision) / factor:.3g} {unit} {precision}"
    memory = f"{npu.memory.capacity / 2**30:.3g} GiB, {npu.memory.bandwidth / 1e12:.3g} TB/s"
    return f"{rate}, {memory}, {npu.power.max:.4g} W", _of_npu(npu)


def _of_npu(npu: Npu) -> str:
    if npu.curve is None:
        return "data sheet"
    stacks = (preset(Software, "software", name) for name in catalog.section("software"))
    own = npu.sources.get("sustained", "").startswith("fitted on iterations of this device")
    fitted = own or any(npu.name in stack.measured_on for stack in stacks)
    if npu.name not in npu.curve.measured_on:
        return "iterations" if fitted else "generation"
    return "kernels, iterations" if fitted else "kernels"


def _tell_fabric(name: str) -> Told:
    fabric = catalog.entry("fabrics", name)
    blocks = [
        f"{short_name(TOPOLOGIES, dimension['topology'])}({dimension.get('size', 'n')}) {_bandwidth(dimension)}"
        for dimension in fabric["dimensions"]
    ]
    inside = f", domain of {fabric['domain']:,}" if "domain" in fabric else ""
    measured = any("library" in dimension for dimension in fabric["dimensions"])
    rest = _basis_like(name)
    return f"{' + '.join(blocks)}{inside}", f"node measured, {rest}" if measured else rest


def _basis_like(name: str) -> str:
    """What the numbers of a fabric rest on: its own source, and those of the fabrics that it names."""
    source = str(catalog.entry("fabrics", name).get("source", ""))
    named = [other for other in catalog.section("fabrics") if other != name and re.search(rf"\bas {other}\b", source)]
    sources = [source, *(str(catalog.entry("fabrics", other).get("source", "")) for other in named)]
    return _basis(" ".join(sources))


def _bandwidth(dimension: dict[str, Any]) -> str:
    nics = dimension.get("nics")
    return str(dimension.get("bandwidth") or (f"{nics} NICs" if nics else "at a bandwidth to be given"))


def _tell_node(name: str) -> Told:
    node = preset(Node, "nodes", name)
    inside = node.scale_up
    rates = " or ".join(format_with_unit(rate, "B/s") for rate in inside.bandwidth)
    nics = [f"{listed(n.count)} x {format_with_unit(n.rate, 'B/s')}" for n in node.nics]
    joined = f"{short_name(TOPOLOGIES, inside.topology[0])}({max(inside.domains)}) {rates}"
    text = f"{node.size} x {', '.join(node.npu)}, {joined}; NICs {'; '.join(nics) or 'none'}"
    assumed = [key for key, source in node.sources.items() if _ASSUMED.search(source)]
    return text, f"assumed: {', '.join(assumed)}" if assumed else "published"


def _tell_part(name: str) -> Told:
    part = preset(Part, "parts", name)
    medium = (part.medium or "").replace("_", "-")
    said = [f"{medium} {part.kind.replace('_', ' ').replace('nic', 'NIC')}".strip()]
    said += [f"with {part.ports} ports"] if part.ports > 1 else []
    said += [f"of {format_with_unit(part.rate, 'B/s')}"] if part.rate else []
    said += [f"up to {part.reach:g} m"] if part.reach else []
    watts = f"{part.power.typical:g} W, {part.power.max:g} W at the most"
    return f"{' '.join(said)}; {watts if part.power.max else 'draws nothing'}", _basis(part.source)


def _tell_prices(name: str) -> Told:
    prices = preset(PriceList, "prices", name)
    assumed = [key for key, source in prices.sources.items() if _ASSUMED.search(source)]
    if prices.by_parts:
        each = [*prices.nodes.values(), *prices.parts.values()]
        guessed = sum(bool(_ASSUMED.search(price.source)) for price in each)
        text = f"by the piece: {len(prices.nodes)} nodes, {len(prices.parts)} parts, each with a range"
        return text, f"{guessed} of {len(each)} prices assumed"
    npus = "NPUs are free" if prices.free_npus else f"{len(prices.npu)} NPUs"
    tiers = ", ".join(str(tier) for tier in prices.network)
    text = f"{npus}; network by tier ({tiers})"
    return text, f"assumed: {', '.join(assumed)}" if assumed else "published"


def _tell_curve(name: str) -> Told:
    curve = preset(Curve, "curves", name)
    best = curve.product("bf16").limit
    text = f"products of {', '.join(map(str, curve.products))}: up to {100 * best:.3g} % of the peak in bf16"
    return text, f"kernels of {', '.join(curve.measured_on)}" if curve.measured_on else "fitted or assumed, see sources"


def _tell_software(name: str) -> Told:
    software = preset(Software, "software", name)
    launch = format_with_unit(software.launch_seconds, "s")
    text = f"{software.execution or 'eager'}, {launch} a launch, {software.elementwise:g} x element-wise traffic"
    if software.on.npus:
        text += f"; on {', '.join(software.on.npus)}: {software.on.execution}, {software.on.exchange}"
    return text, f"iterations on {', '.join(software.measured_on)}" if software.measured_on else "assumed"


def _tell_library(name: str) -> Told:
    library = preset(Library, "libraries", name)
    kernel = library.all_reduce
    text = f"{library.algorithm or 'usual algorithm'}"
    if kernel is not None and kernel.memory is not None:
        text += f"; all-reduce: launch {format_with_unit(kernel.launch, 's')}, passes memory at "
        text += format_with_unit(kernel.memory, "B/s")
    return text, "measured collectives"


def _tell_reliability(name: str) -> Told:
    found = preset(Reliability, "reliability", name)
    if not found.fails:
        return "nothing fails", "no failures"
    hours = 1.0 / (3600.0 * failure_rate(found.mtbf, Counts(npu=8, node=1, nic=8, link=8)))
    text = f"a node of 8 NPUs and 8 NICs stops its job every {hours:,.0f} h"
    return text, "mtbf published, repair and spares assumed"


_MODEL = "workload: {model: NAME, global_batch: 512}"

PRESETS: tuple[Kind, ...] = (
    PresetKind("models", "transformers, dense and with experts", "workload.model", _MODEL, _tell_model, _OF_MODELS),
    PresetKind("networks", "other networks, as tables of layers", "workload.model", _MODEL, _tell_network),
    PresetKind("recommenders", "recommendation models", "workload.model", _MODEL, _tell_recommender),
    PresetKind("npus", "accelerators", "cluster.npu", "cluster:\n  npu: NAME", _tell_npu, _OF_NPUS),
    PresetKind(
        "fabrics",
        "networks of machines as they are sold",
        "cluster.fabric",
        "cluster:\n  fabric: NAME\n  npus: 512",
        _tell_fabric,
        _OF_FABRICS,
    ),
    PresetKind(
        "nodes",
        "servers and trays as they are sold, and what NPUs can be ordered with",
        "cluster.node",
        "cluster:\n  npu: a100-80gb\n  node: NAME\n  fabric: dgx-a100\n  npus: 512",
        _tell_node,
        _OF_NODES,
    ),
    PresetKind("software", "software stacks", "software", "software: NAME", _tell_software),
    PresetKind("prices", "price lists", "cost", "cost: NAME", _tell_prices),
    PresetKind(
        "parts",
        "NICs, switches, transceivers, cables and more",
        "cost.parts",
        "cost:\n  base: street-2025\n  parts:\n"
        "    NAME: {price: 900 $, low: 600 $, high: 1200 $, date: '2026', source: an offer}",
        _tell_part,
        "A dimension names its switches (cluster.dimensions[i].switch); dse bom says what a design is built of.",
    ),
    PresetKind(
        "reliability",
        "what fails, and what that costs a job",
        "reliability",
        "reliability: NAME",
        _tell_reliability,
        "For jobs that are trained: goodput, time_to_train, cost_to_train. none: nothing fails.",
    ),
    PresetKind(
        "curves",
        "how near a generation of NPUs comes to its data sheet",
        "cluster.npu.curve",
        "cluster:\n  npu: {base: a100-80gb, curve: NAME}",
        _tell_curve,
    ),
    PresetKind(
        "libraries",
        "libraries of collectives",
        "cluster.dimensions[i].library",
        "cluster:\n  dimensions:\n"
        "    - {topology: switch, size: 8, bandwidth: 300 GB/s, latency: 879 ns, tier: node, library: NAME}",
        _tell_library,
    ),
)
