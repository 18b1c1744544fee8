"""What `raan fit` trained, in the format of results that reports are made from, and its explanation."""

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from jaxtyping import Float, Int

from raan.fairness.metrics import NAMES as METRICS
from raan.fairness.metrics import Metrics
from raan.fit.fit import Fit
from raan.fit.runs import Pick, Run, most_accurate
from raan.results.explanation import MOST_WEIGHED, People, explanation, map_of, weights_of
from raan.results.records import Record, flatten, hash_of, versions

STUDY = "raan fit"


def records(fit: Fit) -> Iterator[Record]:
    """A record for each run."""
    versions_now = versions("scikit-learn")
    for run in fit.runs:
        defined = define(fit, run)
        yield Record(
            run=hash_of(defined),
            study=STUDY,
            data=fit.loaded.name,
            style=run.style,
            versions=versions_now,
            classes=fit.classes,
            attributes=fit.groups,
            diverged=run.diverged,
            step=run.step,
            validation=flatten(run.validation),
            test=flatten(run.test),
            **defined,
        )


def define(fit: Fit, run: Run) -> dict[str, Any]:
    """All that a run's outcome depends on."""
    return {
        "data_hash": fit.data_hash,
        "method": run.method,
        "seed": run.seed,
        "hyperparameters": run.hyperparameters,
        "configuration": configuration(fit),
    }


def configuration(fit: Fit) -> dict[str, Any]:
    """What defines the runs, beside their method and its dials."""
    sizes = [len(part) for part in fit.loaded.split]
    effort = fit.effort and {
        "starts": fit.effort.seeds,
        "epochs": fit.effort.epochs,
        "batch_size": fit.effort.batch_size,
        "parts": fit.effort.parts,
    }
    return {"split": sizes, "split_seed": fit.wish.seed, "seconds": fit.wish.seconds, "effort": effort}


def describe_rule(fit: Fit) -> dict[str, Any]:
    """The user's rule for JSON."""
    return {"aim": fit.rule.aim, "accuracy_drop": fit.rule.accuracy_drop}


def describe(fit: Fit, pick: Pick) -> dict[str, Any]:
    """A model and its metrics for JSON: the point of which run it is, by the run's name in the results."""
    return {
        "run": hash_of(define(fit, pick.run)),
        "method": pick.method,
        "seed": pick.run.seed,
        "hyperparameters": pick.run.hyperparameters,
        "point": pick.point,
        "validation": numbers(pick.validation),
        "test": numbers(pick.test),
    }


def numbers(measured: Metrics) -> dict[str, float | None]:
    """The metrics for JSON, None where undefined."""
    found = {name: float(getattr(measured, name)) for name in METRICS}
    return {name: None if value != value else round(value, 6) for name, value in found.items()}


def explain(fit: Fit) -> dict[str, Any]:
    """The rule, the saved model, the plain one that it was held against, and the weights and maps there are."""
    return {
        **explanation(list(_weights(fit)), list(_maps(fit))),
        "rule": describe_rule(fit),
        "saved": describe(fit, fit.chosen),
        "plain": describe(fit, fit.plain),
    }


def _maps(fit: Fit) -> Iterator[dict[str, Any]]:
    """Maps of test rows as plain training and RL-RAAN embed them; without networks, as they are."""
    shown: dict[str, Pick | None] = {}
    networks, fairer = ([run for run in fit.runs if run.method == name] for name in ("Vanilla", "RL-RAAN"))
    if networks:
        shown["plain training"] = most_accurate(networks)
    if networks and fairer:
        shown["RL-RAAN"] = fit.best_of(fairer) or Pick(fairer[0], len(fairer[0].step) - 1)
    for name, pick in (shown or {"the features": None}).items():
        rows = fit.loaded.split.test
        yield map_of(name, _people(fit), _embed(fit, pick, rows), rows)


def _weights(fit: Fit) -> Iterator[dict[str, Any]]:
    """The weights by each balance that RAAN was trained with, as the run that the rule takes gave them."""
    rows, units = fit.loaded.split.train, fit.loaded.preprocessing
    trained = [run for run in fit.runs if run.method == "RAAN" and len(run.step) > 1]
    balances: tuple[Literal["group", "sample"], ...] = ("group", "sample")
    for balance in balances:
        runs = [run for run in trained if run.hyperparameters["balance"] == balance]
        if runs:
            pick = fit.best_of(runs) or Pick(runs[0], 0)
            dials = pick.run.hyperparameters
            embedding = _embed(fit, pick, rows)  # the same at all points: RAAN trains the head alone
            yield weights_of(
                _people(fit),
                embedding,
                rows,
                units,
                balance,
                temperature=dials["temperature"],
                strength=dials["strength"],
            )


def _people(fit: Fit) -> People:
    """The rows that are explained."""
    loaded = fit.rows.loaded
    codes = loaded.label.codes, loaded.attribute.codes
    return People(loaded.name, loaded.features, *codes, fit.classes, fit.groups, loaded.feature_names)


def _embed(fit: Fit, network: Pick | None, rows: Int[np.ndarray, "row"]) -> Float[np.ndarray, "row dim"]:
    """Rows as a network embeds them, or their features as they are; no more of them than are looked at."""
    features = fit.rows.features(rows[:MOST_WEIGHED])
    if network is None:
        return features
    embedding: np.ndarray = network.run.classifier(network.point).embed(features)
    return embedding
