"""What `raan fit` trained, in the format of results that reports are made from, and what is stated of it."""

import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from raan.fairness.metrics import NAMES as METRICS
from raan.fairness.metrics import Metrics, metrics
from raan.fit.fit import Fit
from raan.fit.outcome import Outcome
from raan.fit.trade_off import TradeOff
from raan.results.records import Record, flatten, hash_of, versions

STUDY = "raan fit"
METHOD = "FairFrontier"


def records(fit: Fit) -> Iterator[Record]:
    """A record for each family's plain model, and one for its points; of networks, one for each setting."""
    for trade_off in fit.settled.trade_offs:
        for method, dials, steps, places in _runs(trade_off):
            yield _record(fit, trade_off, method, dials, steps, places)


def _runs(trade_off: TradeOff) -> Iterator[tuple[str, dict[str, Any], list[int], list[int]]]:
    """Method, dials, steps and places of each run of a family."""
    family, shift = trade_off.family, trade_off.shift
    if not family.steps:
        places = list(range(shift, len(trade_off.test)))
        yield family.name, {}, [0], places[:1]
        yield METHOD, {"folds": int(trade_off.frontier.folds)}, list(range(len(places))), places
        return
    runs: dict[str, tuple[str, dict[str, Any], list[int], list[int]]] = {}
    yield family.name, family.steps[0][1], [0], [shift]
    for point, (method, dials, step) in enumerate(family.steps[1:], 1):
        # Each run begins at the plain model.
        run = runs.setdefault(f"{method} {sorted(dials.items())}", (method, dials, [0], [shift]))
        run[2].append(step)
        run[3].append(point + shift)
    yield from runs.values()


def _record(
    fit: Fit, trade_off: TradeOff, method: str, dials: dict[str, Any], steps: list[int], places: list[int]
) -> Record:
    defined: dict[str, Any] = {
        "data_hash": _data_hash(fit),
        "method": method,
        "seed": fit.wish.seed,
        "hyperparameters": dials,
        "configuration": {
            "split": [len(fit.rows.training), len(fit.rows.test)],
            "split_seed": fit.wish.seed,
            "seconds": fit.wish.seconds,
            "family": trade_off.family.name,
        },
    }
    return Record(
        run=hash_of(defined),
        study=STUDY,
        data=fit.loaded.name,
        style=trade_off.family.style,
        versions=versions("scikit-learn"),
        classes=fit.rows.classes,
        attributes=fit.rows.groups,
        diverged=None,
        step=steps,
        validation=flatten(trade_off.frontier.frontier_.counts[places]),
        test=flatten(trade_off.test[places]),
        **defined,
    )


def _data_hash(fit: Fit) -> str:
    """A short name for all that is learnt from."""
    digest = hashlib.sha256()
    for part in (fit.loaded.features, fit.loaded.label.codes, fit.rows.loaded.attribute.codes):
        digest.update(np.ascontiguousarray(part).tobytes())
    return digest.hexdigest()[:16]


def describe(outcome: Outcome, place: int, method: str) -> dict[str, Any]:
    """A model and its metrics for JSON; `validation` is out of fold."""
    return {
        "method": method,
        "point": place,
        "validation": numbers(metrics(outcome.held_out[place])),
        "test": numbers(metrics(outcome.test[place])),
    }


def describe_both(outcome: Outcome) -> dict[str, dict[str, Any]]:
    """The plain and the saved model for JSON."""
    return {
        "plain": describe(outcome, 0, outcome.facts.plain_method),
        "chosen": describe(outcome, outcome.place, outcome.method),
    }


def describe_promise(outcome: Outcome) -> dict[str, Any]:
    """What new rows were promised, for JSON."""
    promise = outcome.promise
    values = {**promise.metrics, "accuracy_loss": promise.accuracy_loss}
    return {name: [_number(x) for x in (each.value, each.low, each.high)] for name, each in values.items()}


def numbers(measured: Metrics) -> dict[str, float | None]:
    """The metrics for JSON, None where undefined."""
    return {name: _number(float(getattr(measured, name))) for name in METRICS}


def _number(value: float) -> float | None:
    return None if value != value else round(value, 6)
