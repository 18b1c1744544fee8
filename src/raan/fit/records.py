"""What `raan fit` trained, in the format of results that reports are made from, and its explanation."""

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from jaxtyping import Float, Int

from raan.data.sets.dataset import hash_of_table
from raan.fairness.metrics import NAMES as METRICS
from raan.fairness.metrics import Metrics
from raan.fairness.rule import TIE, Rule
from raan.fit.fit import Fit
from raan.fit.points import Choice, choose, most_accurate
from raan.results.explanation import MOST_WEIGHED, explanation, map_of, weights_of
from raan.results.records import Record, flatten, hash_of, versions

STUDY = "raan fit"


def records(fit: Fit) -> Iterator[Record]:
    """A record for each walk."""
    data_hash, versions_now, configured = hash_of_table(fit.table), versions("scikit-learn"), configuration(fit)
    for walk in fit.walks:
        defined: dict[str, Any] = {
            "data_hash": data_hash,
            "method": walk.method,
            "seed": walk.seed,
            "hyperparameters": walk.hyperparameters,
            "configuration": configured,
        }
        yield Record(
            run=hash_of(defined),
            study=STUDY,
            data=fit.table.name,
            style="boosting" if walk.method in ("Boosting", "AANReweighting") else "network",
            versions=versions_now,
            classes=fit.table.class_names,
            attributes=fit.table.attribute_names,
            diverged=walk.diverged,
            step=walk.step,
            validation=flatten(walk.validation),
            test=flatten(walk.test),
            **defined,
        )


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


def numbers(measured: Metrics) -> dict[str, float | None]:
    """The metrics for JSON, None where undefined."""
    found = {name: float(getattr(measured, name)) for name in METRICS}
    return {name: None if value != value else round(value, 6) for name, value in found.items()}


def explained(fit: Fit) -> dict[str, Any]:
    """The weights that RAAN gave training rows, if it was trained; maps of test rows by plain and by RL-RAAN."""
    networks = [walk for walk in fit.walks if walk.method == "Vanilla"]
    weights = list(_weights(fit))
    if not networks:
        maps = [map_of("the features", fit.table, _seen(fit, None, fit.loaded.split.test), _test(fit))]
        return explanation(weights, maps)
    plain = most_accurate(networks)
    shown = {"plain training": plain}
    fairer = [walk for walk in fit.walks if walk.method == "RL-RAAN"]
    if fairer:
        rule = Rule(fit.wish.aim, fit.wish.accuracy_drop, tie=TIE)
        shown["RL-RAAN"] = choose(rule, fairer, plain) or Choice(fairer[0], len(fairer[0].step) - 1)
    maps = [
        map_of(name, fit.table, _seen(fit, choice, fit.loaded.split.test), _test(fit))
        for name, choice in shown.items()
    ]
    return explanation(weights, maps)


def _weights(fit: Fit) -> Iterator[dict[str, Any]]:
    """The weights by each balance that RAAN was trained with, as its run that the rule chose gave them."""
    rows, units = fit.loaded.split.train, fit.loaded.preprocessing
    rule = Rule(fit.wish.aim, fit.wish.accuracy_drop, tie=TIE)
    trained = [walk for walk in fit.walks if walk.method == "RAAN" and len(walk.step) > 1]
    balances: tuple[Literal["group", "sample"], ...] = ("group", "sample")
    for balance in balances:
        walks = [walk for walk in trained if walk.hyperparameters["balance"] == balance]
        if walks:
            run = choose(rule, walks, fit.plain) or Choice(walks[0], 0)
            dials = run.walk.hyperparameters
            embedding = _seen(fit, run, rows)  # the same at all points: RAAN trains the head alone
            yield weights_of(
                fit.table,
                embedding,
                rows,
                units,
                balance,
                temperature=dials["temperature"],
                strength=dials["strength"],
            )


def _test(fit: Fit) -> Int[np.ndarray, "row"]:
    return fit.loaded.split.test


def _seen(fit: Fit, network: Choice | None, rows: Int[np.ndarray, "row"]) -> Float[np.ndarray, "row dim"]:
    """Rows as a network embeds them, or their features as they are; no more of them than are looked at."""
    features = fit.table.features[rows[:MOST_WEIGHED]].numpy()
    if network is None:
        return features
    embedding: np.ndarray = network.walk.classifier(network.point).embed(features)
    return embedding
