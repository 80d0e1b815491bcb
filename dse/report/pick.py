"""Which trial of a study is meant: a number, `knee`, `robust`, `best:METRIC`, or nothing said.

The one place that reads such words: `dse show`, pictures of one design and programs all mean the same by them.
"""

from __future__ import annotations

from dse.evaluate.read import metric_of
from dse.evaluate.record import StudyRecord, TrialRecord
from dse.report.choice import recommended
from dse.report.summary import summarize
from dse.whatif.answers import NOTHING, WhatIf
from simcore.document.problem import InputError, Problem, suggest_nearest
from simcore.metrics import METRICS

ROBUST, KNEE, BEST = "robust", "knee", "best:"
FORMS = f"a trial's number, {KNEE}, {ROBUST} or {BEST}METRIC"
"""What may be said, for messages."""
_WHY = "dse report RUN says why"


def pick(record: StudyRecord, what_if: WhatIf = NOTHING, text: str | None = None) -> TrialRecord:
    """The trial that `text` means: a number, `knee`, `robust`, `best:METRIC`.

    Without it the design that the decision says to build (`dse.report.choice.recommended`): as a rule the robust pick
    where it is known, else the knee. Raises `InputError` where there is no such trial, saying why, or where no trial is
    feasible and none is named.
    """
    if text is None:
        number = recommended(record, summarize(record, what_if))
        return _knee(record) if number is None else numbered_trial(record, number)
    word = text.strip()
    if word == KNEE:
        return _knee(record)
    if word == ROBUST:
        return _robust(record, what_if)
    if word.startswith(BEST):
        return best_trial(record, word.removeprefix(BEST))
    if word.isdecimal():
        return numbered_trial(record, int(word))
    fix = suggest_nearest(word, (KNEE, ROBUST)) or f"numbers are in trials.csv; {_example(record)}"
    raise InputError([Problem(("trial",), FORMS, f"'{text}'", fix)])


def picks(record: StudyRecord, what_if: WhatIf = NOTHING) -> dict[str, int]:
    """Each word that means a trial of this study -> its number: `robust`, `knee`, the best of each objective."""
    words = [ROBUST] if what_if.robust is not None else []
    words += [KNEE] if record.knee is not None else []
    words += [f"{BEST}{objective.name}" for objective in record.objectives] if record.feasible_trials else []
    return {word: pick(record, what_if, word).number for word in words}


def numbered_trial(record: StudyRecord, number: int) -> TrialRecord:
    """The trial of that number; raises `InputError` where there is none, with the numbers that there are."""
    found = record.trials.numbered(number)
    if found is None:
        numbers = record.trials.numbers.tolist()
        fix = f"they run from {min(numbers)} to {max(numbers)}; {_example(record)}" if numbers else "it has none"
        raise InputError([Problem(("trial",), "the number of a trial of this run", str(number), fix)])
    return found


def best_trial(record: StudyRecord, metric: str) -> TrialRecord:
    """The feasible trial with the best value of an objective, or of another metric such as `cost.total`.

    Raises `InputError` where there is no such metric, or no feasible trial that has it.
    """
    signs = {name: 1.0 if known.better == "less" else -1.0 for name, known in METRICS.items()}
    signs |= {objective.name: objective.sign for objective in record.objectives}
    if metric not in signs:
        fix = suggest_nearest(metric, signs, "metrics")
        raise InputError([Problem(("metric",), "a metric or an objective of the run", f"'{metric}'", fix)])
    feasible = record.feasible_trials
    if record.front and metric in (objective.name for objective in record.objectives):
        return min(record.front, key=lambda trial: signs[metric] * trial.values[metric])  # of equal ones the simplest
    known = [(trial, value) for trial in feasible if (value := metric_of(trial, metric)) is not None]
    if not known:
        raise InputError(
            [Problem(("metric",), f"a feasible trial with {metric}", "none", "" if record.feasible_trials else _WHY)]
        )
    return min(known, key=lambda pair: (signs[metric] * pair[1], pair[0].number))[0]


def _knee(record: StudyRecord) -> TrialRecord:
    knee = record.knee
    if knee is None:
        count = len(record.front)
        if not count:
            raise InputError([_none_feasible()])
        found, fix = f"none on a front of {count}", f"say {_example(record)}"
        raise InputError([Problem(("trial",), "a front of three or more designs, which has a knee", found, fix)])
    return knee


def _robust(record: StudyRecord, what_if: WhatIf) -> TrialRecord:
    if not record.feasible_trials:
        raise InputError([_none_feasible()])
    if what_if.robust is None:
        found = "none: the scenarios of this run were not simulated"
        raise InputError([Problem(("trial",), "a robust pick", found, f"say {_example(record)}")])
    return numbered_trial(record, what_if.robust)


def _none_feasible() -> Problem:
    return Problem(("trial",), "a feasible trial", "none", _WHY)


def _example(record: StudyRecord) -> str:
    """Words that this study understands."""
    known = list(picks(record))
    return f"for instance {' or '.join(known[:2])}" if known else "no trial is feasible: only numbers mean one"
