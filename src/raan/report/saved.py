"""What a page about one saved model is made from: the model, its plain twin, and the trade-off around them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from raan.fairness.bootstrap import Estimate
from raan.fairness.counts import Counts
from raan.fairness.rule import Rule, Switched

Curve = Float[np.ndarray, "_ 2"]
"""Points (x, y) of a curve."""


@dataclass(frozen=True)
class Choice:
    """What a reader may ask for, and the point of the trade-off that answers it."""

    aim: str  # a key of AIMS
    accuracy_drop: float  # a share
    worst_group_drop: float | None  # None: without the floor
    point: int


@dataclass(frozen=True)
class Scores:
    """How a model's probability of the favourable class orders and calibrates one group, on test rows."""

    group: str
    roc: Curve  # false positive rate, true positive rate
    calibration: Curve  # mean probability, share of the favourable class; a place for each bin that has rows
    operating: tuple[float, float]  # false and true positive rate of the decisions themselves


@dataclass(frozen=True)
class Importance:
    """How much accuracy on test rows a column carries: lost when its values are shuffled, in all and by group."""

    column: str
    overall: float
    by_group: tuple[float, ...]  # nan where a group has no rows


@dataclass(frozen=True, eq=False)
class Saved:
    """The saved model, before (its plain twin) and after, and all points that it could have been.

    Every array of counts is [.., class, group and the unknown, predicted class] on rows that trained nothing:
    `held_out` out of fold, where the choice is made, `test` on test rows, where it is judged. Point 0 of the
    trade-off is the plain model. `fairer` is whether test rows confirm what was promised: the aim is better than
    the plain model's there. `verdict` says so in words, first the headline, then what supports or limits it.
    With `test_switched` the changes between two models are judged row by row; without it as if their errors had
    nothing to do with each other, which makes the intervals wider.
    """

    title: str
    verdict: Sequence[str]
    fairer: bool
    method: str  # in words, such as "gradient boosting, FairFrontier"
    regime: Sequence[str]  # which inputs the model has, and what another regime would buy
    rule: Rule
    classes: Sequence[str]  # of two, the second is the favourable one
    groups: Sequence[str]
    plain: int  # the places of the plain twin and of the saved model among the points
    chosen: int
    held_out: Counts  # [point, class, group + 1, prediction]
    test: Counts
    choices: Sequence[Choice]
    promise: Mapping[str, tuple[Estimate, Estimate]]  # metric: plain, chosen, as promised for new rows
    accuracy_loss: Estimate
    scores: Mapping[str, Sequence[Scores]]  # "plain", "chosen"; by group
    importance: Sequence[Importance]  # the most important columns first
    choose_command: str  # `raan choose FOLDER --out NEW`, to which the slider adds its options
    notes: Sequence[str] = ()
    command: str = ""
    label: str = (
        ""  # what is predicted, and by what people are told apart: the columns' names, where they have any
    )
    attribute: str = ""
    test_switched: Switched | None = None  # [point, class, group + 1]: test rows right in one of point and plain
