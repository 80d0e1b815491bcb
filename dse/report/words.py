"""Sentences about a study that several reports share: how the trials ended, how good the front is, whose prices."""

from __future__ import annotations

from collections import Counter

from dse.buy.regret import REGRET
from dse.evaluate.record import StudyRecord
from dse.evaluate.trials import Trials
from dse.report.summary import Summary
from dse.report.units import clean_text, format_number, format_percent, format_with_unit, label
from dse.space.objective import Objective
from dse.space.order import ORDERABLE


def describe_counts(summary: Summary) -> str:
    """How the trials ended, with the rules that cut."""
    rules = ", ".join(f"{clean_text(rule)} {format_number(count)}" for rule, count in summary.cut.items())
    parts = [f"{format_number(summary.feasible)} feasible", f"{format_number(summary.infeasible)} infeasible"]
    parts += [f"{format_number(summary.cuts)} cut before simulation ({rules})"] if summary.cuts else []
    parts += [f"{format_number(summary.failed)} failed"] if summary.failed else []
    noun = "design" if summary.trials == 1 else "designs"
    if summary.feasible == summary.trials:
        return f"{format_number(summary.trials)} {noun} evaluated, all feasible."
    return f"{format_number(summary.trials)} {noun} evaluated: {', '.join(parts)}."


def describe_without_value(record: StudyRecord) -> str:
    """For how many designs a constraint could not be calculated, and why; empty if there are none."""
    trials = record.trials
    lacking = trials.is_state("infeasible", "cut") & trials.possible & ~trials.is_text("cut_by", ORDERABLE)
    found = count_errors(trials.select(lacking & (trials.codes("error") >= 0) & ~trials.is_text("error", "")))
    if not found:
        return ""
    count = sum(found.values())
    (why, times), others = found.most_common(1)[0], len(found) - 1
    designs = "design counts" if count == 1 else "designs count"
    often = f" ({format_number(times)} of them; {format_number(others)} other reasons in trials.csv)" if others else ""
    return f"{format_number(count)} {designs} as infeasible because a constraint has no value for them: {why}{often}."


def count_errors(trials: Trials) -> Counter[str]:
    """How many trials have each message, by first appearance."""
    found = Counter[str]()
    for error, count in trials.count("error").items():
        found[clean_text(error or "no message")] += count
    return found


def describe_best(objective: Objective, summary: Summary) -> str:
    """Best value found of an objective, its proven bound, and how far apart the two are."""
    best, proven, gap = (by[objective.name] for by in (summary.best, summary.bounds, summary.gaps))
    name = label(objective.name)
    verbatim = objective.expression is not None and not objective.name.endswith(REGRET)
    start = name if verbatim else f"{name[0].upper()}{name[1:]}" if name else "Objective"
    found = "nothing feasible" if best is None else f"best {format_with_unit(best, objective.unit, objective.name)}"
    if proven is None:
        return f"{start}: {found}, no proven bound."
    if best is not None and gap == 0:
        return f"{start}: {found}, which is proven to be the {'least' if objective.sign > 0 else 'most'}."
    text = f"{start}: {found}, proven bound {format_with_unit(proven, objective.unit, objective.name)}"
    return f"{text}." if gap is None else f"{text} (gap {format_percent(gap)})."


def describe_proof(summary: Summary) -> str:
    """The sampler's proof about the whole space; empty if it has none."""
    proved = summary.proof
    if proved is None:
        return ""
    cuts = sorted(proved["cut"].items(), key=lambda item: (-item[1], item[0]))
    rules = ", ".join(f"{clean_text(rule)} {format_number(count)}" for rule, count in cuts)
    points, simulated = format_number(proved["points"]), format_number(proved["simulated"])
    done = [f"{simulated} were simulated for the proof"] if proved["simulated"] or proved["complete"] else []
    done += [f"{format_number(sum(proved['cut'].values()))} ruled out ({rules})"] if rules else []
    text = f"Of {points} combinations {', '.join(done)}"
    if proved["complete"]:
        shares = ", of designs with the shares that were solved for them" if proved["solved_shares"] else ""
        return f"{text}: this is the whole Pareto front{shares}."
    left = ["not all are bounded yet"] if proved["open"] is None else []
    left += [f"{format_number(proved['open'])} could still be on the front"] if proved["open"] else []
    left += [f"{format_number(proved['failed'])} failed and could be on the front"] if proved.get("failed") else []
    return f"{text}{'; ' if done else ''}{', '.join(left)}."


def describe_behind(summary: Summary) -> str:
    """How far the members of the front can be from the true one; empty where that is not known of all."""
    known = [share for share in summary.behind if share is not None]
    if not known or len(known) < len(summary.behind):
        return ""
    most = max(known)
    if not most:
        return "No design is better than any of the front in all objectives at once: that is proven."
    least = "" if min(known) == most else f"{format_percent(min(known))} to "
    return (
        f"No design is better than any of the front by more than {least}{format_percent(most)} in all objectives at "
        "once; pareto.csv has the share of each."
    )


def is_assumed(source: str) -> bool:
    """Whether a price has no source."""
    return source.strip().strip("*").lower().startswith("assumed")


def equals_note(summary: Summary, shown: int | None) -> str:
    """Which designs of the front equal that of trial `shown`, else how many equal another one; empty if none does."""
    own = () if shown is None else summary.equals.get(shown, ())
    if own:
        more = f" and {format_number(len(own) - _NAMED)} more" if len(own) > _NAMED else ""
        named = ", ".join(map(str, own[:_NAMED])) + more
        return f"Equal to trial {shown} in every objective: {named}."
    count = sum(bool(others) for others in summary.equals.values())
    return f"{format_number(count)} designs equal another one in every objective: pareto.json." if count else ""


_NAMED = 4
"""Equal trials that are named."""


def ties_note(summary: Summary) -> str:
    """How many designs of the front are tied, and what a tie is; empty if none is tied or nothing is known."""
    tied = sum(bool(others) for others in (summary.ties or {}).values())
    if not tied:
        return ""
    some = f"{format_number(tied)} of {format_number(len(summary.front))} designs"
    return f"Ties ({some}): with another design, neither is the faster one in nine of ten scenarios."
