"""Saved models to draw pages of: one made up from rates, without training, and one that FairFrontier fitted."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from sklearn.calibration import calibration_curve
from sklearn.metrics import roc_curve

from raan.fairness.aims import AIMS
from raan.fairness.bootstrap import Estimate, estimate
from raan.fairness.counts import resample
from raan.fairness.metrics import NAMES, measure, metrics
from raan.fairness.rule import Rule
from raan.report.saved import Choice, Importance, Saved, Scores

ALLOWANCES = (0.0, 0.0025, 0.005, 0.01, 0.02, 0.03)
DEFAULT = Rule("equalized_odds", 0.005, 0.0)


def made_up(
    classes: Sequence[str] = ("<=50K", ">50K"),
    groups: Sequence[str] = ("Female", "Male"),
    fairer: bool = True,
    points: int = 40,
    rows: int = 12_000,
    **changed: Any,
) -> Saved:
    """A saved model whose points serve the last class of the first group ever better, others a bit worse."""
    rng = np.random.default_rng(0)
    kinds, parts = len(classes), len(groups)
    size = np.full((kinds, parts + 1), rows / kinds / (parts + 0.05))
    size[:, -1] *= 0.05
    right = np.full((kinds, parts + 1), 0.9)
    right[-1] = np.linspace(0.6, 0.72, parts + 1)
    held_out, test, switched = [], [], []
    for point in range(points):
        moved = right.copy()
        moved[-1, 0] += 0.15 * point / points * (1 if fairer else -1)
        moved[0] -= 0.04 * point / points
        judged = [_count(np.round(moved * size * share), np.round(size * share)) for share in (2, 1)]
        held_out.append(judged[0])
        test.append(judged[1])
        switched.append(np.abs(judged[1] - test[0]).sum(-1) / 2 + np.round(0.005 * size * min(point, 1)))
    places = dict(
        zip(product(ALLOWANCES, (0.0, None)), rng.permutation(points)[: 2 * len(ALLOWANCES)], strict=True)
    )
    saved = Saved(
        title="income in adult.csv by sex",
        verdict=(
            "The saved model narrows the equalized-odds gap from 12.0 % to 4.1 %, for 0.3 points of accuracy.",
            "Test rows confirm it.",
        ),
        fairer=fairer,
        method="gradient boosting, FairFrontier",
        regime=("The model does not see sex.", "With sex as an input the gap would be 3.0 %."),
        rule=DEFAULT,
        classes=classes,
        groups=groups,
        plain=0,
        chosen=points // 2,
        held_out=np.array(held_out),
        test=np.array(test),
        choices=[
            Choice(aim, drop, floor, int((place + shift) % points))
            for shift, aim in enumerate(AIMS)
            for (drop, floor), place in places.items()
        ],
        promise={name: (_estimate(name, held_out[0]), _estimate(name, held_out[points // 2])) for name in NAMES},
        accuracy_loss=Estimate(0.003, 0.001, 0.005),
        scores={
            which: [_scores(group, bend) for group in groups] for which, bend in (("plain", 2), ("chosen", 3))
        },
        importance=[
            Importance(column, weight, tuple(weight * (0.5 + place) for place in range(parts)))
            for column, weight in (("relationship", 0.031), ("age", 0.02), ("hours-per-week", 0.004))
        ],
        choose_command="raan choose fair",
        notes=("Two columns were left out: id, date.",),
        command="raan fit adult.csv --label income --attribute sex --out fair",
        label="income",
        attribute="sex",
        test_switched=np.array(switched),
    )
    return replace(saved, **changed)


def _count(right: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Counts with so many right of so many, the others given to the next class."""
    kinds = len(size)
    counts = np.zeros((*size.shape, kinds))
    for k in range(kinds):
        counts[k, :, k] = right[k]
        counts[k, :, (k + 1) % kinds] += size[k] - right[k]
    return counts


def _scores(group: str, bend: float) -> Scores:
    false = np.linspace(0, 1, 21)
    roc = np.stack([false, 1 - (1 - false) ** bend], axis=1)
    return Scores(group, roc, np.stack([false[::2], false[::2] ** 1.2], axis=1), (0.1, 1 - 0.9**bend))


def _estimate(name: str, counts: np.ndarray) -> Estimate:
    replicates = resample(counts, 200, np.random.default_rng(0))
    return Estimate(*estimate(partial(measure, name), counts, replicates, confidence=0.95).tolist())


def of_frontier(fair: Any, X: Any, y: np.ndarray, group: np.ndarray, columns: Sequence[str], **told: Any) -> Saved:
    """The page's parts of a fitted FairFrontier, judged on test rows; X is a matrix with named columns."""
    from raan.fairness.groups import UNKNOWN
    from raan.frontier.decide import Judge

    label = np.searchsorted(fair.classes_, y)
    code = np.array(
        [{name: place for place, name in enumerate(fair.groups_)}.get(each, UNKNOWN) for each in group]
    )
    posterior = fair.posterior(X)
    counts, switched, _ = Judge(posterior, label, code, np.zeros(len(y), int), 1).count(fair.tried_.weights)
    choices = [
        Choice(
            aim,
            drop,
            floor,
            fair.choose(aim=aim, accuracy_drop=drop, worst_group_drop=floor).frontier_.chosen_place,
        )
        for aim, drop, floor in product(AIMS, told.get("allowances", ALLOWANCES), (0.0, None))
    ]
    chosen = fair.frontier_.chosen_place
    before, after = (metrics(counts[place, 0]) for place in (0, chosen))
    aim = fair.frontier_.rule.goal
    was, now = (100 * float(aim.of(each)) for each in (before, after))
    score = fair.decision_function(X)
    squashed = 1 / (1 + np.exp(-4 * score))
    scores = {
        "plain": [
            _judge_scores(name, posterior.sum(2)[:, 1], 0.5, label, code == a)
            for a, name in enumerate(fair.groups_)
        ],
        "chosen": [_judge_scores(name, squashed, 0.5, label, code == a) for a, name in enumerate(fair.groups_)],
    }
    return Saved(
        title=told["title"],
        verdict=(
            f"The saved model narrows the {aim.title} from {was:.1f} to {now:.1f} %, and costs "
            f"{100 * float(before.accuracy - after.accuracy):.1f} points of accuracy.",
            f"The worst-served group goes from {100 * float(before.worst_group_accuracy):.1f} to "
            f"{100 * float(after.worst_group_accuracy):.1f} %.",
        ),
        fairer=now < was,
        method=told["method"],
        regime=told.get("regime", ()),
        rule=fair.frontier_.rule,
        classes=[str(each) for each in fair.classes_],
        groups=list(fair.groups_),
        plain=0,
        chosen=chosen,
        held_out=fair.frontier_.counts,
        test=counts[:, 0],
        choices=choices,
        promise={name: (fair.promise_.plain[name], fair.promise_.metrics[name]) for name in NAMES},
        accuracy_loss=fair.promise_.accuracy_loss,
        scores=scores,
        importance=_importance(fair, X, label, code, columns),
        choose_command="raan choose fair",
        notes=told.get("notes", ()),
        command=told.get("command", ""),
        label=told["label"],
        attribute=told["attribute"],
        test_switched=switched[:, 0],
    )


def _judge_scores(name: str, score: np.ndarray, threshold: float, label: np.ndarray, here: np.ndarray) -> Scores:
    false, true, _ = roc_curve(label[here], score[here])
    keep = np.unique(np.linspace(0, len(false) - 1, 80).astype(int))
    share, mean = calibration_curve(label[here], score[here], n_bins=10, strategy="quantile")
    selected = score[here] > threshold
    operating = tuple(float(selected[label[here] == k].mean()) for k in (0, 1))
    return Scores(name, np.stack([false, true], 1)[keep], np.stack([mean, share], 1), operating)


def _importance(
    fair: Any, X: Any, label: np.ndarray, code: np.ndarray, columns: Sequence[str]
) -> list[Importance]:
    rng = np.random.default_rng(0)
    right = fair.predict(X) == fair.classes_[label]
    found = []
    for place, column in enumerate(columns):
        shuffled = X.copy()
        shuffled[:, place] = rng.permutation(shuffled[:, place])
        lost = right.astype(float) - (fair.predict(shuffled) == fair.classes_[label])
        by_group = tuple(float(lost[code == a].mean()) for a in range(len(fair.groups_)))
        found.append(Importance(column, float(lost.mean()), by_group))
    return sorted(found, key=lambda each: -each.overall)[:10]
