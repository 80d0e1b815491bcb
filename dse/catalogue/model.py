"""One model, of the catalogue or of a file, and what it comes to: parameters, FLOPs a token, bytes."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from pydantic import TypeAdapter, ValidationError

from simcore import catalog
from simcore.document.form import describe_error
from simcore.document.problem import InputError, Problem, suggest_nearest
from simcore.document.text import read_document
from simcore.workload.serving.decode import cache_heads
from simcore.workload.transformer.counts import (
    active_parameters,
    attention_flops,
    further_parameters,
    model_parameters,
    token_flops,
)
from simcore.workload.transformer.huggingface.base import DTYPES
from simcore.workload.transformer.huggingface.read import read_configuration
from simcore.workload.transformer.model import NamedTransformer, Transformer

USUAL_SEQUENCE = 4096
_MODEL: TypeAdapter[Transformer] = TypeAdapter(NamedTransformer)


class FoundModel(NamedTuple):
    """A model, and what its file says beside its shape."""

    model: Transformer
    model_type: str | None
    """The `model_type` of its configuration; None where the catalogue or a document has it."""
    dtype: str = "bfloat16"
    not_modelled: tuple[str, ...] = ()


def find_model(named: str) -> FoundModel:
    """The model of a configuration, of a folder with one, of a YAML file, or of the catalogue.

    Raises `InputError` where there is none, or where it is wrong.
    """
    path = Path(named)
    if path.is_dir():
        path = path / "config.json"
    if path.suffix in (".yaml", ".yml"):
        return _of_document(path)
    if path.is_file():
        read = read_configuration(path)
        return FoundModel(Transformer.model_validate(read.shape), read.model_type, read.dtype, read.not_modelled)
    names = catalog.section("models")
    if named in names:
        return FoundModel(_MODEL.validate_python(named), None)
    expected = "a model's config.json, a folder with one, a YAML file, or a name of the catalogue"
    fix = suggest_nearest(named, names, "models") or "see dse catalogue models"
    raise InputError([Problem(("FILE",), expected, f"'{named}'", fix)], "command line")


def _of_document(path: Path) -> FoundModel:
    """A model whose keys are those of a document's `workload.model`."""
    described = read_document(path)
    try:
        return FoundModel(_MODEL.validate_python(described.data), None)
    except ValidationError as error:
        wrong = [(tuple(entry["loc"]), describe_error(entry)) for entry in error.errors(include_url=False)]
        problems = [Problem(place, *said, line=described.line(place)) for place, said in wrong]
        raise InputError(problems, str(path)) from None


def count_model(found: FoundModel, sequence: int | None = None) -> dict[str, Any]:
    """What a model comes to, as `dse model --json` prints it; FLOPs and cache in a sequence of so many tokens.

    By default these are 4,096, or the model's longest.
    """
    model = found.model.model_copy(update={"multi_token_prediction": 0})
    tokens = sequence or min(model.sequence_length, USUAL_SEQUENCE)
    total = model_parameters(model)
    flops, attention = token_flops(model, tokens, flash=True), attention_flops(model, tokens, flash=True)
    output = 2.0 * model.hidden * model.vocabulary
    parts = {"layers": flops - attention - output, "attention": attention, "output": output}
    width = DTYPES[found.dtype]
    return {
        "name": model.name,
        "model_type": found.model_type,
        "parameters": total,
        "active_parameters": active_parameters(model),
        "flops_per_token": flops,
        "flops": parts,
        "sequence_length": tokens,
        "bytes": total * width,
        "dtype": found.dtype,
        "cache_bytes": _cached(model, tokens) * width,
        "further_parameters": further_parameters(found.model),
        "shape": found.model.model_dump(mode="json", exclude_defaults=True, exclude={"name", "source"}),
        "not_modelled": list(found.not_modelled),
    }


def _cached(model: Transformer, tokens: int) -> int:
    """Numbers in the keys and values of a sequence; of a layer with a window, those of its window alone."""
    window, windowed = model.window_of(tokens), model.windowed_layers(tokens)
    kept = (model.layers - windowed) * tokens + (windowed * window.kept(tokens) if window else 0)
    heads = cache_heads(model, 1)
    return int(kept * heads.heads * heads.width)
