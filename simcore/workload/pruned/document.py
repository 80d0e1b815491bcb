"""Serving a pruned network: layers of neurons, of which each has connections to some of the layer before alone."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from simcore.design.workload import Workload
from simcore.document.field import Count, Frozen, Natural, Precision, Share
from simcore.document.problem import Refusal

MOST_WIDTH = 4096
"""Neurons of a layer at most: an assignment takes their cube."""
Width = Annotated[Count, Field(le=MOST_WIDTH)]


class Connection(Frozen):
    """A weight that pruning left, as a row of a table."""

    layer: Count
    """Layer of the neuron, counted from 1; 0 would be the inputs."""
    neuron: Natural
    """Counted from 0."""
    input: Natural
    """The neuron of the layer before, counted from 0."""


class PrunedWorkload(Workload):
    """A batch of samples through a pruned network, whose neurons are spread over the tensor group."""

    widths: Annotated[tuple[Width, ...], Field(min_length=2)]
    """Inputs, then the neurons of each layer."""
    connections: Annotated[tuple[Connection, ...], Field(min_length=1)] | None = None
    """What pruning left: rows, or a `.csv` or `.yaml` file of them; drawn unless given."""
    density: Share | None = None
    """Share of its inputs that each neuron keeps, of drawn connections."""
    clusters: Count = 1
    """Groups of neurons that belong together, of drawn connections, in an order that only inputs show."""
    within: Share = 1.0
    """Share that stays in the neuron's cluster, of drawn connections."""
    seed: Natural = 0
    """Seed of drawn connections."""
    partition: Literal["given", "repurpose"] = "given"
    """Neurons in the order in which they are, an equal run for each worker; or assigned to the workers that have most
    of their inputs (RePurpose: Abdi et al. 2023, AAAI, arXiv 2008.08289)."""
    global_batch: Count
    """Samples that are served at the same time, over all data-parallel replicas."""
    precision: Precision = "fp16"
    """What matrix products compute in."""

    @model_validator(mode="after")
    def _one_pattern(self) -> PrunedWorkload:
        if (self.connections is None) == (self.density is None):
            found = "neither" if self.density is None else "both"
            raise Refusal("'connections', or the 'density' of drawn ones", found)
        least = min(self.widths)
        if self.clusters > least:
            raise Refusal(f"clusters of at least a neuron of every layer ({least})", str(self.clusters))
        for c in self.connections or ():
            if c.layer >= len(self.widths) or c.neuron >= self.widths[c.layer] or c.input >= self.widths[c.layer - 1]:
                found = f"neuron {c.neuron} of layer {c.layer} with input {c.input}"
                raise Refusal(
                    "connections between neurons that 'widths' has", found, "layers count from 1, neurons from 0"
                )
        return self
