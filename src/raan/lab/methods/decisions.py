"""Methods that change the decisions of the first stage only: one common threshold, and FairFrontier."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import torch

from raan.data.split import Split
from raan.data.table import Table
from raan.fairness.measures import AIMS
from raan.fairness.rule import BUDGETS, CONFIDENCE, Rule, margin_of
from raan.methods.method import Decisions, GroupUse, Part, Refit, Scope, check_attribute, hyperparameter
from raan.models.model import Model, outputs
from raan.neighbourhood.estimator import Setting

THRESHOLDS = 199
"""How many there are to choose from, where the study does not say."""


@dataclass(frozen=True)
class CommonThreshold(Refit):
    """The first stage's model as it is: the threshold is all there is to choose."""

    @property
    def thresholds(self) -> int:
        """A setting of this method in every study."""
        return THRESHOLDS

    @property
    def scope(self) -> Scope:
        """The decision alone."""
        return Scope.HEAD

    @property
    def debiases(self) -> tuple[Part, ...]:
        """Nothing by itself."""
        return ()

    @property
    def group_use(self) -> GroupUse:
        """None: who selects the threshold may use the groups of validation rows, as for every method."""
        return GroupUse()

    def refit(self, model: Model, table: Table, split: Split, seeds: Sequence[int]) -> Model:
        """Return the model itself."""
        return model


@dataclass(frozen=True)
class NetworkFrontier(Refit):
    """Decisions by weights on the cells of P(y|x) P(a|x, y), as FairFrontier takes them on validation rows.

    P(y|x) is the network's own, P(a|x, y) a logistic regression on its embedding for each class, fitted to the
    training rows. The weights are those that FairFrontier takes for every aim and budget, without a
    guard; the plain ones where the validation rows support no other.
    """

    most_lost: Setting = hyperparameter(0.03, most=1.0)  # the largest of its budgets

    @property
    def scope(self) -> Scope:
        """The decision alone."""
        return Scope.HEAD

    @property
    def group_use(self) -> GroupUse:
        """The attribute of the rows that it is fitted to and evaluated on."""
        return GroupUse(training="attribute", validation="attribute")

    def refit(self, model: Model, table: Table, split: Split, seeds: Sequence[int]) -> Model:
        """Return the model itself."""
        return model

    def decide(self, model: Model, table: Table, split: Split) -> Decisions:
        """Return what the weights decide: of each run as many decisions as there are aims and allowances."""
        check_attribute(self, table)
        most = torch.as_tensor(self.most_lost, dtype=torch.float64).expand(len(split.train)).tolist()
        parts: list[list[Columns]] = []
        for rows in split:
            output = outputs(model, table, rows)
            probability = output.logit.double().softmax(-1)
            tensors = table.label[rows], table.attribute[rows], output.embedding.double(), probability
            label, attribute, embedding, probabilities = (each.numpy(force=True) for each in tensors)
            parts.append(list(zip(label, attribute, embedding, probabilities, strict=True)))
        train, validation, test = parts
        each_run = zip(train, validation, test, most, strict=True)
        runs = [_decide(*run, table.attributes) for run in each_run]
        return Decisions(*(np.stack(part) for part in zip(*runs, strict=True)))


Columns = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
"""Label, attribute, embedding and probability of each class, of the rows of one run."""


def _decide(train: Columns, validation: Columns, test: Columns, most_lost: float, groups: int) -> Decisions:
    """Return the classes of one run's validation and test rows under the weights of every aim and budget."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    from raan.frontier.choice import choose
    from raan.frontier.decide import Evaluation, decide
    from raan.frontier.plan import plan
    from raan.frontier.posterior import Chain, Recipe, Rows

    # P(a|x, y) on the embedding, for each class.
    label, attribute, embedding, probability = train
    classes = range(probability.shape[1])
    recipe = Recipe(None, make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)))
    rows = Rows(embedding, label, label, attribute, groups)
    chain = Chain(None, tuple(recipe.fit_attribute(rows, y) for y in classes), groups)
    # The network's probability of each class, divided among the groups.
    held_out, evaluated = (
        np.stack([part[3][:, [y]] * chain.within(part[2], y) for y in classes], axis=1)
        for part in (validation, test)
    )
    margin = margin_of(CONFIDENCE)
    budgets = sorted({*(drop for drop in BUDGETS if drop < most_lost), most_lost})
    evaluation = Evaluation(held_out, validation[0], validation[1])
    _, points = plan(evaluation, Rule(accuracy_drop=budgets[-1], margin=margin))
    weights = [
        points.weights[choose(points, Rule(aim, drop, margin=margin).with_noise_of(points.counts[0])).place]
        for aim, drop in product(AIMS, budgets)
    ]
    return Decisions(
        *(np.stack([decide(q, each) for each in weights]).astype(np.int8) for q in (held_out, evaluated))
    )
