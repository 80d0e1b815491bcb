"""Write `docs/catalogue.md`, what a document may name, with sources: `python docs/write_catalogue.py`.

Every number is read from the entries of `simcore/catalog`; quantities are written as there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from simcore import catalog
from simcore.document.ranges import is_ranged, range_of

HEAD = """\
# Catalogue

What a document may name, and where its numbers were read. `python docs/write_catalogue.py` writes this page from
`simcore/catalog/*.yaml`, which has the whole entries. *Assumed* means that no source was found. An entry can be varied
in place (`npu: {base: h100-80gb, sustained: 0.85}`) or spelled out ([reference](reference.md)).

- [Models](#models), [tables of layers](#tables-of-layers), [recommenders](#recommenders)
- [NPUs](#npus), [curves](#curves): how near a generation comes to its data sheet
- [Fabrics](#fabrics), [libraries](#libraries): networks of machines, and what NCCL adds to their links
- [Nodes](#nodes): servers and trays as they are sold ([what can be ordered](orderable.md))
- [Software](#software): software stacks
- [Parts](#parts): NICs, switches, transceivers, cables and more ([bill of materials](bill.md))
- [Prices](#prices)
"""
MODELS = ("name", "hidden", "layers", "heads", "kv heads", "sequence", "vocabulary", "experts", "source")
NPUS = ("name", "year", "16-bit peak", "memory", "bandwidth", "power", "curve", "fitted on its own", "assumed")
FABRICS = ("name", "dimensions, innermost first", "source")
PARTS = ("name", "kind", "of one port", "ports", "reach", "watts: in a job, at the most", "source")
SOFTWARE = ("name", "launch", "gradients", "slack of memory", "iterations fitted on")
NODES = ("name", "NPUs", "joined without NICs by", "NICs of a node", "memory beside, an NPU", "sold", "assumed")
LIBRARIES = ("name", "algorithm", "all-reduce: launch, memory, piece", "source")


def catalogue() -> str:
    """The page."""
    entries = {name: catalog.section(name) for name in catalog.SECTIONS}
    parts = [
        HEAD,
        _table("Models", MODELS, (_model(name, entry) for name, entry in entries["models"].items())),
        _table(
            "Tables of layers",
            ("name", "source"),
            ((f"`{name}`", e.get("source", "")) for name, e in entries["networks"].items()),
        ),
        _table(
            "Recommenders",
            ("name", "tables", "rows", "embedding", "source"),
            map(_recommender, entries["recommenders"].values()),
        ),
        _table("NPUs", NPUS, (_npu(name, entry) for name, entry in entries["npus"].items())),
        _table(
            "Curves",
            ("name", "fitted on", "precisions"),
            (_curve(name, entry) for name, entry in entries["curves"].items()),
        ),
        _table("Fabrics", FABRICS, (_fabric(name, entry) for name, entry in entries["fabrics"].items())),
        _table("Nodes", NODES, (_node(name, entry) for name, entry in entries["nodes"].items())),
        _table("Parts", PARTS, (_part(name, entry) for name, entry in entries["parts"].items())),
        _table("Libraries", LIBRARIES, (_library(name, entry) for name, entry in entries["libraries"].items())),
        _table("Software", SOFTWARE, (_software(name, entry) for name, entry in entries["software"].items())),
        "\n".join(_prices(entries["prices"])),
    ]
    return "\n".join(parts)


def _table(title: str, columns: tuple[str, ...], rows: Any) -> str:
    lines = [f"## {title}", "", _line(columns), "|" + "---|" * len(columns), *map(_line, rows)]
    return "\n".join(lines) + "\n"


def _line(cells: Any) -> str:
    return "| " + " | ".join(str("" if cell is None else cell).replace("|", "\\|") for cell in cells) + " |"


def _model(name: str, entry: Mapping[str, Any]) -> tuple[Any, ...]:
    experts = entry.get("mixture_of_experts")
    routed = f"{experts['top_k']} of {experts['experts']}" if experts else ""
    keys = "latent" if "latent_attention" in entry else entry.get("kv_heads", entry["heads"])
    shape = (entry["hidden"], entry["layers"], entry["heads"], keys)
    return f"`{name}`", *shape, entry.get("sequence_length", 2048), entry["vocabulary"], routed, entry.get("source", "")


def _recommender(entry: Mapping[str, Any]) -> tuple[Any, ...]:
    return f"`{entry['name']}`", entry["tables"], f"{entry['rows']:,}", entry["embedding"], entry.get("source", "")


def _npu(name: str, entry: Mapping[str, Any]) -> tuple[Any, ...]:
    sources = entry.get("sources", {})
    curve = entry.get("curve") or {}
    peak = entry["peak"].get("bf16") or entry["peak"].get("fp16")
    memory, power = entry["memory"], entry["power"]["max"]
    own = "kernels" if name in curve.get("measured_on", ()) else ""
    fitted = "fitted on iterations of this device" in sources.get("sustained", "")
    evidence = ", ".join(part for part in (own, "iterations" if fitted else "") if part)
    assumed = ", ".join(key for key, source in sources.items() if "assumed" in source.lower())
    sheet = (entry.get("introduced"), peak, memory["capacity"], memory["bandwidth"], power)
    return f"`{name}`", *sheet, curve.get("name", "data sheet"), evidence, assumed


def _curve(name: str, entry: Mapping[str, Any]) -> tuple[str, ...]:
    return f"`{name}`", ", ".join(entry.get("measured_on", ())) or "nothing: assumed", ", ".join(entry["products"])


def _fabric(name: str, entry: Mapping[str, Any]) -> tuple[str, ...]:
    inside = f"domain of up to {entry['domain']}: " if "domain" in entry else ""
    return f"`{name}`", inside + "; ".join(map(_dimension, entry["dimensions"])), entry.get("source", "")


def _part(name: str, entry: Mapping[str, Any]) -> tuple[Any, ...]:
    watts = f"{entry['power']['typical']}, {entry['power']['max']}"
    kind = " ".join(filter(None, (entry.get("medium", "").replace("_", "-"), entry["kind"].replace("_", " "))))
    return f"`{name}`", kind, entry.get("rate"), entry.get("ports"), entry.get("reach"), watts, entry["source"]


def _dimension(entry: Mapping[str, Any]) -> str:
    nics = f"{entry['nics']} NICs of {entry['nic_bandwidth']}" if "nics" in entry else ""
    share = f", {entry['efficiency']} of it reached" if isinstance(entry.get("efficiency"), float) else ""
    share += ", at once" if entry.get("at_once") else ""
    library = f", {entry['library'].get('name') or 'fitted times'}" if entry.get("library") else ""
    links = f"{entry['topology']}({entry.get('size', 'rest')}) {nics or entry['bandwidth']}"
    own = "".join(f", {_said(key, entry[key])}" for key in _OF_FABRICS if key in entry)
    return f"{links}{own}{share}, {entry['latency']}{library}"


_OF_FABRICS = (
    "leaf",
    "pod",
    "oversubscription",
    "routers",
    "global_links",
    "sides",
    "twisted",
    "routing",
    "connections",
)
"""Keys of a dimension whose links are a graph (docs/fabrics.md)."""


def _said(key: str, value: Any) -> str:
    if value is True:
        return key
    between = " x " if key == "sides" else " / "
    return f"{key} {between.join(map(str, value)) if isinstance(value, list) else value}"


def _node(name: str, entry: Mapping[str, Any]) -> tuple[str, ...]:
    inside = entry["scale_up"]
    domains = " or ".join(f"{size:,}" for size in inside["domains"])
    joined = f"{' or '.join(inside['topology'])} {' or '.join(inside['bandwidth'])}, domains of {domains}"
    nics = "; ".join(f"{' '.join(map(str, nic['count']))} x {nic['rate']}" for nic in entry.get("nics", ()))
    memory = "; ".join(f"{more['capacity']} at {more['bandwidth']}" for more in entry.get("expanded", ()))
    sold = f"{entry['introduced']} to {entry['withdrawn']}" if "withdrawn" in entry else f"since {entry['introduced']}"
    assumed = ", ".join(key for key, source in entry["sources"].items() if "assumed" in source.lower())
    npus = ", ".join(f"`{npu}`" for npu in entry["npu"])
    return f"`{name}`", f"{entry['size']} x {npus}", joined, nics, memory, sold, assumed


def _library(name: str, entry: Mapping[str, Any]) -> tuple[str, ...]:
    kernel = entry.get("all_reduce", {})
    numbers = ", ".join(str(kernel[key]) for key in ("launch", "memory", "piece") if key in kernel)
    return f"`{name}`", entry.get("algorithm", ""), numbers, entry.get("source", "")


def _software(name: str, entry: Mapping[str, Any]) -> tuple[str, ...]:
    execution = entry.get("execution", "eager")
    launch = f"{execution}, {entry['launch'][execution]}"
    fitted = ", ".join(entry.get("measured_on", ())) or "nothing"
    return f"`{name}`", launch, entry.get("gradient_precision", "fp32"), str(entry["memory"]["slack"]), fitted


def _prices(lists: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    yield "## Prices\n"
    for name, entry in lists.items():
        yield f"**`{name}`**" + (": the network alone, NPUs are not counted.\n" if entry.get("free_npus") else ".\n")
        yield "| what | price | nine of ten lie in | source |\n|---|---|---|---|"
        for tier, prices in entry.get("network", {}).items():
            paid = ", ".join(f"{element} {price}" for element, price in prices.items())
            yield _line((f"network, tier {tier}", paid, _range(entry, f"network.{tier}"), entry["sources"]["network"]))
        for npu, price in entry.get("npu", {}).items():
            yield _line((f"NPU `{npu}`", price, _range(entry, f"npu.{npu}"), "see below"))
        for group in ("nodes", "parts"):
            for thing, price in entry.get(group, {}).items():
                source = f"{price['source']} ({price['date']})"
                yield _line((f"`{thing}`", price["price"], f"{price['low']} to {price['high']}", source))
        for key in TERMS:
            if key in entry:
                yield _line((key, entry[key], _range(entry, key), entry["sources"].get(key, "")))
        yield f"\nPrices of NPUs are {entry['sources']['npu']}.\n" if entry.get("npu") else ""
        yield f"Ranges: {entry['sources']['ranges']}.\n"


TERMS = (
    *("memory", "electricity", "pue", "lifetime", "residual", "discount", "utilization", "building", "building_life"),
    *("support", "staff", "staff_per_npu"),
)


def _range(entry: Mapping[str, Any], path: str) -> str:
    """In multiples of what the list says."""
    if not is_ranged(entry["ranges"], path):
        return ""
    low, high = range_of(entry["ranges"], path)
    return f"{low:g} to {high:g} of it"


if __name__ == "__main__":
    Path(__file__).with_name("catalogue.md").write_text(catalogue(), encoding="utf-8")
