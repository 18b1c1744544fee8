"""FairFrontier over the first stage's network: nothing is trained but P(a|x, y) on its embedding."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from raan.data.split import Split
from raan.data.table import Table
from raan.fairness.aims import AIMS
from raan.fairness.rule import BUDGETS, CONFIDENCE, Rule, margin_of
from raan.methods.method import Decisions, GroupUse, Refit, Scope, check_attribute, hyperparameter
from raan.models.model import Model, outputs
from raan.neighbourhood.estimator import Setting

if TYPE_CHECKING:
    from raan.frontier.decide import Evaluation
    from raan.frontier.posterior import Chain, Posterior


@dataclass(frozen=True)
class NetworkFrontier(Refit):
    """Decisions by weights on the cells of P(y|x) P(a|x, y), as FairFrontier takes them on validation rows.

    P(y|x) is the network's own, P(a|x, y) a logistic regression on its embedding for each class, fitted to the
    training rows. The weights are those that FairFrontier takes for every aim and budget, with its margin and
    without a floor for the worst group; the plain ones where a choice does not hold on rows that did not make it.
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
        """The model itself."""
        return model

    def decide(self, model: Model, table: Table, split: Split) -> Decisions:
        """What the weights decide: of each run as many decisions as there are aims and allowances."""
        check_attribute(self, table)
        train, validation, test = (_parts(model, table, rows) for rows in split)
        most = torch.as_tensor(self.most_lost, dtype=torch.float64).expand(len(train)).tolist()
        parts = zip(train, validation, test, most, strict=True)
        runs = [_decide(*each, table.attributes) for each in parts]
        return Decisions(*(np.stack(part) for part in zip(*runs, strict=True)))


class _Part(NamedTuple):
    """One run's rows of one part of the split, and what the network says of them."""

    label: Int[np.ndarray, "row"]
    attribute: Int[np.ndarray, "row"]
    embedding: Float[np.ndarray, "row dim"]
    probability: Float[np.ndarray, "row label"]


def _parts(model: Model, table: Table, rows: Int[Tensor, "run row"]) -> list[_Part]:
    """Every run's rows."""
    output = outputs(model, table, rows)
    columns = (
        table.label[rows],
        table.attribute[rows],
        output.embedding.double(),
        output.logit.double().softmax(-1),
    )
    return [_Part(*each) for each in zip(*(column.numpy(force=True) for column in columns), strict=True)]


def _decide(train: _Part, validation: _Part, test: _Part, most_lost: float, groups: int) -> Decisions:
    """The classes of one run's validation and test rows under the weights of every aim and budget."""
    from raan.fitting import stratified_folds
    from raan.frontier.decide import Evaluation, decide
    from raan.frontier.estimator import PARTS

    chain = _fit_attribute(train, groups)
    evaluation_rows, evaluated = (_posterior(chain, part) for part in (validation, test))
    label, group = validation.label, validation.attribute
    fold = stratified_folds(label * (groups + 1) + group + 1, PARTS, 0)
    weights = list(_weights(Evaluation(evaluation_rows, label, group, fold, PARTS), most_lost))
    return Decisions(
        *(np.stack([decide(q, each) for each in weights]).astype(np.int8) for q in (evaluation_rows, evaluated))
    )


def _fit_attribute(train: _Part, groups: int) -> "Chain":
    """P(a|x, y) on the embedding, for each class."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    from raan.frontier.posterior import Chain, Recipe, Rows

    rows = Rows(train.embedding, train.label, train.label, train.attribute, groups)
    recipe = Recipe(None, make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)))
    classes = range(train.probability.shape[1])
    return Chain(None, tuple(recipe.fit_attribute(rows, y) for y in classes), groups)


def _posterior(chain: "Chain", part: _Part) -> "Posterior":
    """The network's probability of each class, shared out over the groups."""
    classes = range(part.probability.shape[1])
    return np.stack([part.probability[:, [y]] * chain.within(part.embedding, y) for y in classes], axis=1)


def _weights(evaluation: "Evaluation", most_lost: float) -> "Iterator[Float[np.ndarray, 'label group']]":
    """The weights that FairFrontier takes, aims outermost, for the usual allowances up to the largest."""
    from raan.frontier.search import search

    margin = margin_of(CONFIDENCE)
    allowances = sorted({*(drop for drop in BUDGETS if drop < most_lost), most_lost})
    tried = search(evaluation, Rule(accuracy_drop=allowances[-1], margin=margin))
    plain = tried.counts[0].sum(0)
    for aim, drop in product(AIMS, allowances):
        rule = Rule(aim, drop, margin=margin).with_noise_of(plain)
        yield tried.weights[tried.decide(rule)]
