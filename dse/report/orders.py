"""Whether what a study found can be ordered: a sentence that every report has where it cannot, or may not be."""

from __future__ import annotations

from collections.abc import Sequence

from dse.evaluate.read import price_list
from dse.evaluate.record import StudyRecord, TrialRecord
from dse.evaluate.trials import Trials
from dse.report.units import clean_text, describe_need, format_brief, format_number
from dse.report.values import read_result
from dse.space.order import ORDERABLE
from dse.whatif.machines import npu_of
from simcore import catalog
from simcore.catalog.preset import preset
from simcore.design.node import Node, nodes_sold_with
from simcore.design.npu import Npu
from simcore.result import Result


def describe_order(result: Result, hypothetical: bool = False) -> str:
    """What of a result nobody sells, or its libraries lack, or that it was not checked; empty where it can be had.

    In a `hypothetical` study it is said that it can.
    """
    study = "Hypothetical study. " if hypothetical else ""
    lacked = f" {_describe_lacked(result)}" if result.library_notes else ""
    if result.orderable is False:
        return f"{study}Nobody sells this cluster: {_first(result.order_notes)}.{lacked}"
    if result.order_notes:
        return f"{study}Not checked whether this cluster can be ordered: {clean_text(result.order_notes[0])}.{lacked}"
    return f"{study}This cluster can be ordered.{lacked}" if hypothetical else lacked.strip()


def _describe_lacked(result: Result) -> str:
    """What libraries of collectives do not have of a result, which the design names on their dimensions."""
    return f"No library does this: {_first(result.library_notes)}." if result.library_notes else ""


def _first(notes: Sequence[str]) -> str:
    """The first of some notes, and how many more there are."""
    first, *others = map(clean_text, notes)
    return f"{first} (and {format_number(len(others))} more)" if others else first


def describe_unsold(trials: Trials) -> str:
    """How many designs were cut because nobody sells them, and what would let them in; empty where none were."""
    cut = trials.select(trials.is_text("cut_by", ORDERABLE))
    if not len(cut):
        return ""
    first = cut[0]
    example = f", such as trial {first.number}: {clean_text(first.error)}" if first.error else ""
    return f"Nobody sells {format_number(len(cut))} of them{example}. 'hypothetical: true' in the space lets them in."


def describe_orders(record: StudyRecord, trial: TrialRecord) -> str:
    """What a study says of orders, and of one of its designs; empty where it cuts what nobody sells."""
    result = None if trial.metrics is None else read_result(trial.metrics)
    sold = None if result is None else result.orderable
    if record.hypothetical:
        number = trial.number
        fate = f"trial {number} can be ordered" if sold else f"whether trial {number} is one, was not checked"
        if result is not None and sold is False:
            fate = f"trial {number} is one: {describe_need(_first(result.order_notes))}{_describe_price(trial)}"
        lacked = "" if result is None else _describe_lacked(result)
        return f"{record.hypothetical.removesuffix('.')}; {fate}. {lacked}".strip()
    told = describe_order(result) if result is not None and sold is None else ""
    return " ".join(part for part in (told, _describe_offer(trial) if is_bought(record, trial) else "") if part)


def is_bought(record: StudyRecord, trial: TrialRecord) -> bool:
    """Whether a study is about what to buy: something of the cluster is open, or money is an objective or a limit."""
    if record.purchase is not None or any("$" in objective.unit for objective in record.objectives):
        return True
    return any(path.startswith("cluster.") for path in trial.params) or any(
        "cost." in name for name in trial.violations
    )


def _describe_price(trial: TrialRecord) -> str:
    """A sentence where a list of parts has no price of what nobody sells."""
    listed = price_list(trial)
    by_parts = listed is not None and listed.by_parts
    return "; inside nodes it has the price of what is sold, whatever its bandwidth" if by_parts else ""


def _describe_offer(trial: TrialRecord) -> str:
    """Where alone its NPU can be had, and until when its servers were sold; empty where both are as usual."""
    name = npu_of(trial.decided_document)
    if name not in catalog.section("npus"):
        return ""
    npu, nodes = preset(Npu, "npus", name), nodes_sold_with(name)
    if npu.offered:
        return f"{name} can be had {npu.offered}, whatever its price here{_describe_assumed(trial, nodes)}."
    until = [node.withdrawn for node in nodes if node.withdrawn is not None]
    return f"Servers with {name} were sold until {max(until)}." if until and len(until) == len(nodes) else ""


def _describe_assumed(trial: TrialRecord, nodes: Sequence[Node]) -> str:
    """Between which prices its list assumes an NPU of such nodes to be; empty where the list does not, or has none."""
    listed = price_list(trial)
    node = next((node for node in nodes if listed is not None and node.name in listed.nodes), None)
    if listed is None or node is None or not (price := listed.nodes[node.name]).source.startswith("assumed"):
        return ""
    low, high = (format_brief(end / node.size) for end in (price.low, price.high))
    return f": between {low} and {high} $, assumed, so a choice by money needs an offer"
