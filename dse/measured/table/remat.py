"""JAX's policies of rematerialisation (`remat`), as the nearest `recompute` that a design can say.

A policy names the products whose outputs are kept (MaxText `remat_policy`, PaxML `checkpoint_policy`); all else of a
layer is computed again. Nearest is meant in products that run again:

- none but attention and what is elementwise (`minimal`, `save_dot_except_logits`, where logits are no layer's):
  `selective`; not attention either (`with_context`): none;
- one product of several (`save_dot_except_mlpwi`, `..._ffn1`: the first of the feed-forward block, a third of the
  products of GPT-3's layers): `selective`, a tenth too fast;
- all but the projections of attention (`save_qkv_proj`, `SAVE_QKV_OUT_PROJ`, or these offloaded to the host): attention
  itself, norms and feed-forward blocks. `save_qkv_proj` computes the last projection of attention again too, an
  eighth of the feed-forward block or less;
- all but one product or the input of a layer: `full`.

What is offloaded to the host is read as kept on the device, and the time to move it as hidden.
"""

from __future__ import annotations

import re

from dse.measured.table.cells import inexpressible
from simcore.document.problem import Problem

_BUT_PROJECTIONS = "core_attn+layernorm+mlp+moe"
_READINGS = (
    (r"(full|nothing)\b", "full"),
    (r"(none|save_everything|everything)\b", "none"),
    (r"minimal_with_context|save_dot_with_context$", "none"),
    (r"save_dot_with_context_except_mlp\b", "layernorm+mlp"),
    (r"save_dot_except_mlp\b", "core_attn+layernorm+mlp"),
    (r"minimal|save_dot_except|save_dot_with_context_except", "selective"),
    (r"save_qkv|qkv_proj_offloaded|custom:.*query_proj=(offload|device)", _BUT_PROJECTIONS),
    (r"save_(out|encoded|named)|custom:.*=(offload|device)", "full"),
)
"""How a policy begins, and the recomputation that is nearest to it."""


def read_remat(text: str) -> str | Problem:
    """The recomputation nearest to a policy; a blank one is none."""
    if not text:
        return "none"
    for pattern, nearest in _READINGS:
        if re.match(pattern, text.lower()):
            return nearest
    return inexpressible("remat", "a policy that keeps named products of a layer", f"'{text}'")
