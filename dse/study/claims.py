"""One study in an Optuna storage that several drivers share: each design is claimed before it is evaluated.

A claim is a trial that is running, with the key of its design; the storage numbers trials one after the other, in one
transaction each. Of the trials with one key the lowest number owns the design, and every driver sees the same numbers,
so two drivers that propose the same design at the same time agree on who evaluates it without talking to each other.

    claim ──▶ running ──▶ finished (complete, or failed with its outcome)
                 └──────▶ released (failed without an outcome): a repeat, or its driver has died

A driver joins by such a trial too, so drivers are in an order, and the first says what the study is. They show that
they are alive by a counter: one whose counter stands still for `STALE_SECONDS`, by the clock of the one who looks, has
its claims released; should it come back, the storage refuses its results.
"""

from __future__ import annotations

import json
import threading
import time
import uuid
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import optuna
from optuna.trial import TrialState

from dse.evaluate.evaluate import Outcome, read_outcome, write_outcome
from dse.search.base import DrawnValues
from dse.space.objective import Objective
from simcore.document.problem import InputError, InputWarning, Problem

BEAT_SECONDS = 5.0
STALE_SECONDS = 60.0
EXTRAS = {"postgresql": "postgresql", "mysql": "mysql", "mariadb": "mysql", "redis": "redis", "rediss": "redis"}


@dataclass(frozen=True, slots=True)
class Claim:
    """A trial of the shared study."""

    number: int
    key: str
    drawn: DrawnValues | None
    params: dict[str, Any]
    driver: str
    outcome: Outcome | None


def open_storage(url: str) -> Any:
    """An Optuna storage from its URL: a database that SQLAlchemy knows, or Redis.

    Raises `InputError` where it cannot be opened, without the URL's password.
    """
    kind = url.partition(":")[0].partition("+")[0]
    for patience in (0.2, 0.5, 1.0, None):
        try:
            return _opened(url, kind)
        except ImportError as error:
            fix = f"pip install 'dse[{EXTRAS[kind]}]'" if kind in EXTRAS else "install it"
            problem = Problem(("--storage",), "the driver of this database", f"none ({error})", fix)
            raise InputError([problem], "command line") from None
        except Exception as error:  # whatever SQLAlchemy, a database driver or Redis raises
            if patience is None:
                said = " ".join(str(error).replace(url, shown(url)).split())[:300]
                what = "a storage such as postgresql+psycopg://USER:PASSWORD@HOST/DATABASE that answers"
                problem = Problem(("--storage",), what, f"{shown(url)}: {type(error).__name__}: {said}")
                raise InputError([problem], "command line") from None
            time.sleep(patience)  # two drivers that make the tables of a new database at once: one has to look again
    raise AssertionError


def _opened(url: str, kind: str) -> Any:
    if kind in ("redis", "rediss"):
        from optuna.storages import JournalStorage
        from optuna.storages.journal import JournalRedisBackend

        with warnings.catch_warnings():  # that Optuna calls it experimental stands in docs/scaling.md
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            return JournalStorage(JournalRedisBackend(url))
    return optuna.storages.RDBStorage(url, engine_kwargs={"pool_pre_ping": True})


def shown(url: str) -> str:
    """A URL without its password."""
    head, at, tail = url.rpartition("@")
    scheme, slashes, user = head.partition("://")
    return f"{scheme}{slashes}{user.partition(':')[0]}:***@{tail}" if at else url


class SharedStudy:
    """The shared study as one driver sees it."""

    def __init__(self, url: str, name: str, objectives: tuple[Objective, ...]) -> None:
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self._storage = open_storage(url)
        directions = [objective.direction for objective in objectives]
        self._study = optuna.create_study(
            storage=self._storage, study_name=name, directions=directions, load_if_exists=True
        )
        self._id = self._storage.get_study_id_from_name(name)
        self._objectives = objectives
        self.driver = uuid.uuid4().hex
        self._seen: dict[str, tuple[int, float]] = {}
        self._read: dict[int, Claim | None] = {}
        self._ended = threading.Event()
        self._heart = threading.Thread(target=self._beat, daemon=True)

    def join(self, document: Mapping[str, Any]) -> tuple[int, dict[str, Any]]:
        """Become one of its drivers; how many joined before, and the first one's document of the study."""
        told = {"joined": self.driver, "study": json.dumps(document)}
        self._study.add_trial(optuna.trial.create_trial(state=TrialState.FAIL, user_attrs=told))
        drivers = [t.user_attrs for t in self._study.get_trials(deepcopy=False) if "joined" in t.user_attrs]
        before = next(index for index, driver in enumerate(drivers) if driver["joined"] == self.driver)
        self._study.set_user_attr(f"driver {self.driver}", 0)
        self._heart.start()
        return before, json.loads(drivers[0]["study"])

    def _beat(self) -> None:
        count = 0
        while not self._ended.wait(BEAT_SECONDS):
            count += 1
            try:
                self._study.set_user_attr(f"driver {self.driver}", count)
            except Exception as error:  # whatever a database driver or Redis raises: the next beat may get through
                told = (
                    f"the storage did not take a sign of life ({type(error).__name__}); it is tried again. After "
                    f"{STALE_SECONDS:g} s without one other drivers take over what this one evaluates"
                )
                warnings.warn(told, InputWarning, stacklevel=2)
        self._storage.remove_session()  # each thread has its own

    def leave(self) -> None:
        """No longer be one; what is claimed and not finished is released."""
        self._ended.set()
        if self._heart.is_alive():
            self._heart.join()
        self.release_repeats(set())
        self._storage.remove_session()
        if isinstance(self._storage, optuna.storages.RDBStorage):
            self._storage.engine.dispose()

    def claims(self) -> list[Claim]:
        """The owner of every design, by number: finished, or being evaluated by a driver that is alive."""
        owners: dict[str, Claim] = {}
        dead = self._dead()
        for trial in self._study.get_trials(deepcopy=False):
            claim = self._claim(trial)
            if claim is None or (claim.outcome is None and trial.state.is_finished()):
                continue
            if claim.outcome is None and claim.driver in dead:
                self.release(claim)
            else:
                owners.setdefault(claim.key, claim)
        return list(owners.values())

    def _claim(self, trial: Any) -> Claim | None:
        if not trial.state.is_finished():
            return _claim(trial)
        if trial.number not in self._read:  # what is finished never changes
            self._read[trial.number] = _claim(trial)
        return self._read[trial.number]

    def _dead(self) -> set[str]:
        now = time.monotonic()
        dead = set()
        for name, count in self._study.user_attrs.items():
            driver = name.removeprefix("driver ")
            if driver == name or driver == self.driver:
                continue
            before = self._seen.get(driver)
            if before is None or before[0] != count:
                self._seen[driver] = count, now
            elif now - before[1] > STALE_SECONDS:
                dead.add(driver)
        return dead

    def claim(self, key: str, params: Mapping[str, Any], drawn: DrawnValues | None, trial: Any) -> None:
        """Claim a design; `claims` says who owns it. `trial` is the sampler's own where that is of Optuna, or None."""
        told = json.dumps({"params": dict(params), "drawn": drawn and [dict(drawn.values), drawn.smooth]})
        self._study.add_trial(
            optuna.trial.create_trial(
                state=TrialState.RUNNING,
                params={} if trial is None else trial.params,
                distributions={} if trial is None else trial.distributions,
                user_attrs={"key": key, "driver": self.driver, "design": told},
            )
        )

    def finish(self, claim: Claim, outcome: Outcome) -> bool:
        """Store an outcome; False where the claim was released meanwhile, and the design is another driver's."""
        number = self._trial_id(claim)
        failed = outcome.state == "failed"
        values = None if failed else [outcome.values[objective.name] for objective in self._objectives]
        constrained = optuna.trial.create_trial(state=TrialState.FAIL, constraints=dict(outcome.violations))
        try:
            for name, value in constrained.system_attrs.items():
                self._storage.set_trial_system_attr(number, name, value)
            self._storage.set_trial_user_attr(number, "outcome", write_outcome(outcome))
            self._storage.set_trial_state_values(number, TrialState.FAIL if failed else TrialState.COMPLETE, values)
        except optuna.exceptions.UpdateFinishedTrialError:
            return False
        return True

    def release(self, claim: Claim) -> None:
        """Give up a claim; of two drivers that do so, the second finds it done."""
        try:
            self._storage.set_trial_state_values(self._trial_id(claim), TrialState.FAIL)
        except optuna.exceptions.UpdateFinishedTrialError:
            return

    def release_repeats(self, kept: set[int]) -> None:
        """Release this driver's running claims but those with these numbers: another driver was first."""
        for trial in self._study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)):
            claim = self._claim(trial)
            if claim is not None and claim.driver == self.driver and claim.number not in kept:
                self.release(claim)

    def _trial_id(self, claim: Claim) -> int:
        return int(self._storage.get_trial_id_from_study_id_trial_number(self._id, claim.number))


def _claim(trial: Any) -> Claim | None:
    """The claim that a trial is; None where it is not one of this program."""
    attributes = trial.user_attrs
    if "key" not in attributes or "design" not in attributes:
        return None
    told = json.loads(attributes["design"])
    outcome = attributes.get("outcome")
    return Claim(
        trial.number,
        attributes["key"],
        None if told["drawn"] is None else DrawnValues(*told["drawn"]),
        told["params"],
        attributes["driver"],
        None if outcome is None else read_outcome(outcome),
    )
