"""Which layers have windows or experts: lists of a configuration as the few numbers that a model has for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from simcore.document.problem import Problem
from simcore.workload.transformer.huggingface.base import Configuration
from simcore.workload.transformer.window import Window

_FULL, _WINDOWED = "full_attention", ("sliding_attention", "chunked_attention")


def window(config: Configuration, layers: int, tokens: int | None, usual: Window | None) -> dict[str, Any] | None:
    """The window of a model: as `layer_types` has it, else as is `usual`; None where no layer has one.

    A pattern that no window says is left out, and reported: all layers then attend to the whole sequence.
    """
    types = config.listed("layer_types", str)
    other = sorted({name for name in types or () if name not in (_FULL, *_WINDOWED)})
    if other:
        problem = "layers of full or sliding attention (not modelled: others)"
        config.problems.append(Problem(("layer_types",), problem, ", ".join(other)))
        return None
    if tokens is None or tokens >= config.size("max_position_embeddings", default=tokens + 1):
        return None
    if types is None:
        return _spelled(usual)
    given = [name != _FULL for name in types]
    if not any(given):
        return None
    chunked = "chunked_attention" in types
    found = next((w for w in _candidates(tokens, given, chunked) if _covers(w, given)), None)
    if found is None or len(given) != layers:
        config.omit("layer_types: this order of layers with windows; all attend to the whole sequence here")
        return None
    return _spelled(found)


def _spelled(window: Window | None) -> dict[str, Any] | None:
    return window.model_dump(mode="json", exclude_defaults=True) if window else None


def _covers(window: Window, given: Sequence[bool]) -> bool:
    return [window.covers(layer) for layer in range(len(given))] == list(given)


def _candidates(tokens: int, given: Sequence[bool], chunked: bool) -> list[Window]:
    first = list(given).index(True)
    repeats = [every for every in range(2, len(given) + 1) if not given[every - 1]]
    return [
        Window(tokens=tokens, full_first=first, chunked=chunked),
        *(Window(tokens=tokens, full_every=every, chunked=chunked) for every in repeats),
    ]


def expert_layers(config: Configuration, key: str, given: Sequence[bool]) -> dict[str, int]:
    """Which layers have experts, as keys of a `MixtureOfExperts`; an order that these cannot say is a problem."""
    for dense in range(len(given)):
        if any(given[:dense]):
            break
        for every in range(1, len(given) + 1):
            if all(has == (i >= dense and (i + 1 - dense) % every == 0) for i, has in enumerate(given)):
                return {"dense_layers": dense, "every": every}
    expected = "layers of experts that repeat after a number of dense ones (not modelled: others)"
    config.problems.append(Problem((key,), expected, "another order"))
    return {}
