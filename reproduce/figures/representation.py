"""The paper's second figure: how the attribute lies in a representation, drawn and measured."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from statistics import fmean, stdev
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from sklearn.neighbors import NearestNeighbors

from raan.data.table import UNKNOWN
from raan.lab.datasets.catalogue import DATA
from raan.lab.datasets.dataset import Problem
from raan.lab.study.explain import map_embedding, measure_separability
from raan.lab.study.plan import Candidate, candidates
from raan.lab.study.study import Data, Study, StudyError
from raan.lab.study.training import ARCHITECTURES, schedule_of
from raan.methods.method import Refit, Scope
from raan.models.model import Architecture, Model, outputs
from raan.training.evaluate import evaluate
from raan.training.stages import Trained, first_stage, run_pack
from raan.training.train import fold, warn_failed
from reproduce.figures.options import RepresentationOptions

NEIGHBOURS = 10
"""Number of nearest rows whose attribute is compared with a row's own."""


def representation_content(options: RepresentationOptions, study: Study) -> dict[str, Any]:
    """For each data set, learning rate and method a map of the first seed's test rows, and three measures of it.

    All methods start at the same plain training and train on for as long, cross-entropy too. The measures are over
    all seeds: separability is the cross-validated AUC of a logistic regression that predicts the attribute from
    the representation of the test rows (of all rows, and of each class alone, since the label goes along with the
    attribute); the map's is that AUC from the two dimensions that are drawn; mixing is how many of a row's nearest
    neighbours have another attribute value, against as many as chance would give: 1 is mixed, 0 apart.
    """
    chosen = [each for entry in study.methods for each in _by_rate(entry.name, list(candidates(entry, study)))]
    representations = [each for data in study.data for each in _representations(options, study, data, chosen)]
    return {"representations": representations}


def _by_rate(name: str, several: list[Candidate]) -> list[Candidate]:
    """The settings of a method that trains the encoder, which may differ in their learning rate only."""
    dials = {
        dial
        for each in several
        for dial, value in each.hyperparameters.items()
        if dial != "learning_rate" and value != several[0].hyperparameters[dial]
    }
    if dials:
        raise StudyError(
            f"{name} has {len(several)} settings: a figure takes one value each of {', '.join(sorted(dials))}"
        )
    method = several[0].method
    if isinstance(method, Refit) or method.scope is not Scope.MODEL:
        raise StudyError(f"{name} leaves the encoder as it is, and so has plain training's representation")
    return several


def _representations(
    options: RepresentationOptions, study: Study, data: Data, chosen: list[Candidate]
) -> Iterator[dict[str, Any]]:
    """What each method makes of one data set, its seeds in one pack."""
    problem = DATA[data.name].load(data.options, study.seeds)
    architecture: Architecture = ARCHITECTURES[data.architecture](problem.table)
    schedule = replace(schedule_of(study.first, study.first.style), watch_test=False)
    plain = first_stage(architecture, problem.table, problem.split, study.seeds, schedule).last
    for candidate in chosen:
        model = _train(study, problem, plain, candidate)
        yield {
            "data": data.title,
            "data_hash": problem.hash,
            "method": candidate.entry.name,
            "learning_rate": candidate.learning_rate,
            **_described(options, problem, model),
        }


def _train(study: Study, problem: Problem, plain: Model, candidate: Candidate) -> Model:
    """The model at the end of the method's second stage."""
    schedule = schedule_of(study.second, study.styles[0])
    finish = fold(run_pack([candidate], plain, problem.table, problem.split, study.seeds, schedule))
    warn_failed(finish.state, study.seeds)
    return Trained.of(plain, finish).last


def _described(options: RepresentationOptions, problem: Problem, model: Model) -> dict[str, Any]:
    """The map of the first seed, and what can be read off over all seeds."""
    table, test = problem.table, problem.split.test
    points = outputs(model, table, test).embedding.double().numpy()
    label, attribute = table.label[test].numpy(), table.attribute[test].numpy()
    quality = evaluate(model, table, test)
    maps = [
        map_embedding("", table, here[: options.drawn], rows[: options.drawn])
        for here, rows in zip(points, test.numpy(), strict=True)
    ]
    places = np.array([[drawn["x"], drawn["y"]] for drawn in maps]).mT
    everyone = np.ones_like(label, dtype=bool)
    return {
        "map": {key: maps[0][key] for key in ("x", "y", "label", "attribute")},
        "classes": list(table.class_names),
        "attributes": list(table.attribute_names),
        "separability": _over_seeds(measure_separability, points, attribute, everyone),
        "separability_within_class": {
            name: _over_seeds(measure_separability, points, attribute, label == code)
            for code, name in enumerate(table.class_names)
        },
        "separability_on_the_map": _over_seeds(
            measure_separability, places, attribute[:, : options.drawn], everyone[:, : options.drawn]
        ),
        "mixing": _over_seeds(measure_mixing, points, attribute, everyone),
        "accuracy": summarise(quality.accuracy.tolist(), 4),
        "worst_group_accuracy": summarise(quality.worst_group_accuracy.tolist(), 4),
        "equalized_odds_gap": summarise(quality.equalized_odds_gap.tolist(), 4),
    }


def _over_seeds(
    measure: Callable[[Any, Any], float | None],
    points: Float[np.ndarray, "run row dim"],
    attribute: Int[np.ndarray, "run row"],
    kept: "np.ndarray[Any, np.dtype[np.bool_]]",
) -> dict[str, Any] | None:
    """The measure of each seed's rows that are kept; None where it has no meaning."""
    each = [
        measure(_standard(here[rows]), group[rows])
        for here, group, rows in zip(points, attribute, kept, strict=True)
    ]
    known = [value for value in each if value is not None]
    return summarise(known, 4) if len(known) == len(each) else None


def _standard(points: Float[np.ndarray, "row dim"]) -> Float[np.ndarray, "row dim"]:
    """The points at mean 0 and standard deviation 1; a dimension that is constant is 0."""
    deviation = points.std(0)
    centred: Float[np.ndarray, "row dim"] = points - points.mean(0)
    scaled: Float[np.ndarray, "row dim"] = np.divide(
        centred, deviation, out=np.zeros_like(points), where=deviation > 1e-9
    )
    return scaled


def measure_mixing(points: Float[np.ndarray, "row dim"], attribute: Int[np.ndarray, "row"]) -> float | None:
    """Measure how many of a row's ten nearest rows have another attribute value, relative to chance.

    1 is mixed and 0 is separate. Chance is that of two different rows drawn from all. The result is None where
    fewer than two values are known.
    """
    known = attribute != UNKNOWN
    points, attribute = points[known], attribute[known]
    size = np.unique(attribute, return_counts=True)[1]
    rows = len(attribute)
    if len(size) < 2 or rows <= NEIGHBOURS:
        return None
    nearest = NearestNeighbors(n_neighbors=NEIGHBOURS).fit(points).kneighbors(return_distance=False)  # not itself
    other = (attribute[nearest] != attribute[:, None]).mean()
    chance = 1 - (size * (size - 1)).sum() / (rows * (rows - 1))
    return round(float(other / chance), 4)


def summarise(values: Sequence[float], digits: int) -> dict[str, Any]:
    """Round mean, sample standard deviation and the numbers themselves; a single seed has no deviation."""
    deviation = round(stdev(values), digits) if len(values) > 1 else None
    return {
        "mean": round(fmean(values), digits),
        "sd": deviation,
        "values": [round(value, digits) for value in values],
    }
