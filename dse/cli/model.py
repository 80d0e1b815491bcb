"""Count what a model has: parameters, FLOPs a token, bytes; and say what of it is not modelled.

FILE is a Hugging Face configuration (config.json), a folder with one, a YAML file with the keys of a model, or the name
of a model of the catalogue. A configuration is only read: code that it names is never run. Parameters count every norm
and bias. FLOPs are those of a forward pass, of a token in a sequence of --sequence-length tokens, attention to what the
causal mask and the windows of its layers leave.
"""

from __future__ import annotations

import argparse
import json
from typing import Any

from dse.cli.arguments import positive_integer

EXAMPLES = """examples:
  dse model Llama-3.1-8B/config.json
  dse model Llama-3.1-8B                       # the folder that has it
  dse model deepseek-v3 --sequence-length 8192 # of the catalogue
  dse model Qwen3-8B/config.json --json | jq '.parameters, .not_modelled'

--json prints {name, model_type, parameters, active_parameters, flops_per_token, flops: {layers, attention, output},
sequence_length, bytes, dtype, cache_bytes, further_parameters, shape, not_modelled: [...]}. `active_parameters` are
those that a token passes, both embedding matrices included; `cache_bytes` the keys and values of a sequence;
`further_parameters` those of layers that predict further tokens in training, which `parameters` and FLOPs leave out.

A space names the same file: workload: {model: {config: Llama-3.1-8B/config.json}, ...}
"""


def add_arguments(command: argparse.ArgumentParser) -> None:
    """The options of `dse model`."""
    command.add_argument("file", metavar="FILE", help="config.json, its folder, a model's YAML, or a catalogue name")
    command.add_argument(
        "--sequence-length",
        type=positive_integer,
        metavar="N",
        help="tokens of a sequence [4096, or the model's longest]",
    )
    command.add_argument("--json", action="store_true", help="print it as JSON")


def run(options: argparse.Namespace) -> int:
    """Run `dse model`."""
    from dse.catalogue.model import count_model, find_model

    counted = count_model(find_model(options.file), options.sequence_length)
    if options.json:
        print(json.dumps(counted, ensure_ascii=False))
        return 0
    _show(counted)
    return 0


def _show(found: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False)
    console.print(
        Text(f"{found['name'] or 'model'}" + (f" ({found['model_type']})" if found["model_type"] else "")), style="bold"
    )
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="dim", no_wrap=True)
    table.add_column()
    for label, text in _lines(found):
        table.add_row(Text(label), Text(text))
    console.print(table)
    for text in found["not_modelled"]:
        console.print(Text(f"not modelled: {text}"))


def _lines(found: dict[str, Any]) -> list[tuple[str, str]]:
    flops, tokens = found["flops"], f"{found['sequence_length']:,}"
    parts = ", ".join(f"{name} {number / 1e9:,.2f}" for name, number in flops.items())
    total, active = found["parameters"], found["active_parameters"]
    lines = [("parameters", f"{total:,}" + (f", of which a token passes {active:,}" if active < total else ""))]
    if found["further_parameters"]:
        lines.append(("further tokens", f"{found['further_parameters']:,} parameters more, in training"))
    return [
        *lines,
        ("forward", f"{found['flops_per_token'] / 1e9:,.2f} GFLOP a token in {tokens} ({parts})"),
        ("weights", f"{found['bytes'] / 1e9:,.2f} GB in {found['dtype']}"),
        ("cache", f"{found['cache_bytes'] / 1e9:,.3f} GB of keys and values for {tokens} tokens"),
        ("shape", ", ".join(_shape(found["shape"]))),
    ]


def _shape(shape: dict[str, Any]) -> list[str]:
    """The sizes of a model in words, the largest first."""
    moe, window = shape.get("mixture_of_experts"), shape.get("window")
    said = [f"{shape['layers']} layers of {shape['hidden']:,}", f"{shape['heads']} heads"]
    if shape.get("latent_attention"):
        said.append("latent attention")
    elif shape.get("kv_heads"):
        said.append(f"{shape['kv_heads']} of keys and values")
    if moe:
        said.append(f"{moe['top_k']} of {moe['experts']} experts")
    if window:
        every = window.get("full_every")
        rest = f" but in one of {every} layers" if every else ""
        said.append(f"{'chunks' if window.get('chunked') else 'windows'} of {window['tokens']:,} tokens{rest}")
    return [*said, f"vocabulary {shape['vocabulary']:,}" + (", tied" if shape.get("tied") else "")]
