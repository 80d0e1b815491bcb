"""Reads a Hugging Face configuration file: the model's shape, and what of it is not modelled.

A file may come from a stranger: it is JSON of at most a MiB, nothing that it names is opened or run. Models of text and
images are read as their text part (`text_config`); the rest is reported.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from simcore.document.form import describe_error, format_value
from simcore.document.problem import InputError, Problem, suggest_nearest
from simcore.workload.transformer.huggingface.base import DTYPES, Configuration, Shape
from simcore.workload.transformer.huggingface.families import FAMILIES, NOT_MODELLED
from simcore.workload.transformer.model import Transformer

MOST_BYTES = 1 << 20
_OUTER = ("text_config", "vision_config", "audio_config", "speech_config")


class ReadModel(NamedTuple):
    """A model that a configuration describes."""

    shape: Shape
    """Keys of a `Transformer`, as a document spells them."""
    model_type: str
    dtype: str
    """Type of its weights, as PyTorch calls it."""
    not_modelled: tuple[str, ...]
    """What of the model the shape leaves out, and keys whose meaning is not known."""


def read_configuration(file: Path) -> ReadModel:
    """The model that the configuration `file` describes, named after the file, or its folder.

    Raises `InputError` with everything that is wrong, `OSError` where the file cannot be read.
    """
    with file.open("rb") as raw:
        data = raw.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        found = f"{file.stat().st_size:,} bytes"
        raise InputError([Problem((), f"a configuration of at most {MOST_BYTES >> 20} MiB", found)], str(file))
    named = file.resolve().parent.name if file.stem == "config" else file.stem
    return parse_configuration(_parse_json(data, str(file)), named, str(file))


def _parse_json(data: bytes, source: str) -> dict[str, Any]:
    try:
        found = json.loads(data.decode("utf-8-sig"), object_pairs_hook=_without_repeats)
    except UnicodeDecodeError as error:
        problem = Problem((), "JSON, which is UTF-8 text", f"bytes that are not text ({error.reason})")
        raise InputError([problem], source) from None
    except json.JSONDecodeError as error:
        problem = Problem((), "JSON", f"text that is none ({error.msg})", "fetch the file again", error.lineno)
        raise InputError([problem], source) from None
    except (RecursionError, ValueError) as error:
        raise InputError([Problem((), "a plain JSON object", str(error)[:80])], source) from None
    if not isinstance(found, dict):
        raise InputError([Problem((), "a JSON object of keys", format_value(found))], source)
    return found


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        repeated = next(key for i, (key, _) in enumerate(pairs) if key in dict(pairs[:i]))
        raise ValueError(f"the key '{repeated}' twice")
    return found


def parse_configuration(data: dict[str, Any], name: str = "", source: str = "") -> ReadModel:
    """The model that the keys of a configuration describe, with a `name`; `source` is named in errors.

    Raises `InputError` with everything that is wrong.
    """
    outer, inner = _text_part(data)
    model_type = _model_type(inner, source)
    config = Configuration(inner)
    shape = FAMILIES[model_type].read(config)
    left_out = [*_outside(data, outer), *config.not_modelled]
    left_out += [f"key '{key}' is not known: what it changes is left out" for key in config.unread()]
    dtype = _dtype(inner, config)
    problems = config.problems or _shape_problems(shape)
    if problems:
        raise InputError(problems, source)
    said = f"; not modelled: {'; '.join(left_out)}" if left_out else ""
    own = {"name": name, **shape, "source": f"configuration of model_type {model_type}{said}"}
    spelled = Transformer.model_validate(own).model_dump(mode="json", exclude_defaults=True)
    return ReadModel(spelled, model_type, dtype, tuple(left_out))


def _text_part(data: dict[str, Any]) -> tuple[bool, dict[str, Any]]:
    """Whether the model is more than its text part, and the keys of that."""
    inner = data.get("text_config")
    if not isinstance(inner, dict):
        return False, data
    shared = ("tie_word_embeddings", "torch_dtype", "dtype", "quantization_config")
    return True, {key: data[key] for key in shared if key in data} | inner


def _outside(data: dict[str, Any], outer: bool) -> list[str]:
    """What lies beside the text model, code that is not run, and numbers that are stored in another form."""
    found = [f"{key}: only the text model is read" for key in _OUTER[1:] if outer and key in data]
    inner = data["text_config"] if outer else data
    if "auto_map" in data or "auto_map" in inner:
        found.append("auto_map: code of the model's own is never run; sizes are those of its model_type")
    if "quantization_config" in data or "quantization_config" in inner:
        found.append("quantization_config: bytes are those of the dtype")
    return found


def _model_type(data: dict[str, Any], source: str) -> str:
    """The `model_type`, if its family is read."""
    found = data.get("model_type")
    known = ", ".join(FAMILIES)
    if not isinstance(found, str) or not found:
        got = format_value(found) if "model_type" in data else "nothing"
        raise InputError([Problem(("model_type",), "the name of a family", got, f"known: {known}")], source)
    if found in FAMILIES:
        return found
    why = NOT_MODELLED.get(found)
    expected = "a family that is read" + (f" (not modelled: {why})" if why else "")
    near = "" if why else suggest_nearest(found, FAMILIES)
    fix = f"{near + ' ' if near else ''}known: {known}"
    raise InputError([Problem(("model_type",), expected, format_value(found), fix)], source)


def _dtype(data: dict[str, Any], config: Configuration) -> str:
    """Type of the weights; unless said float32, as PyTorch has it, or bfloat16 beside weights in another form."""
    usual = "bfloat16" if "quantization_config" in data else "float32"
    found = data.get("dtype") or data.get("torch_dtype") or usual
    name = found.removeprefix("torch.") if isinstance(found, str) else ""
    if name not in DTYPES:
        config.problems.append(Problem(("torch_dtype",), f"one of {', '.join(DTYPES)}", format_value(found)))
        return "float32"
    return name


def _shape_problems(shape: Shape) -> list[Problem]:
    """Sizes that no model has together, and those beyond what a document may say."""
    found: list[Problem] = []
    hidden, heads, kv = shape["hidden"], shape["heads"], shape.get("kv_heads")
    if hidden % heads and not shape.get("head_dim") and not shape.get("latent_attention"):
        fix = "add head_dim, as the published file has it"
        found.append(
            Problem(("num_attention_heads",), f"heads that divide the hidden size ({hidden})", str(heads), fix)
        )
    if kv and heads % kv:
        found.append(Problem(("num_key_value_heads",), f"a number that divides the heads ({heads})", str(kv)))
    moe = shape.get("mixture_of_experts")
    if moe and moe["top_k"] > moe["experts"]:
        expected = f"at most the {moe['experts']} experts"
        found.append(Problem(("num_experts_per_tok",), expected, str(moe["top_k"])))
    if moe and moe["experts"] % moe.get("groups", 1):
        expected = f"a number that divides the experts ({moe['experts']})"
        found.append(Problem(("n_group",), expected, str(moe["groups"])))
    try:
        Transformer.model_validate(shape)
    except ValidationError as error:
        found += [Problem(wrong["loc"], *describe_error(wrong)) for wrong in error.errors(include_url=False)]
    return found
