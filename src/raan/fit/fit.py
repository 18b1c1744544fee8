"""From a table to a fairer model: every method within a time budget, and the choice by the user's rule."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch
from jaxtyping import Int
from torch import Tensor

from raan.data.split import Split
from raan.data.table import UNKNOWN, Table
from raan.fairness.aims import AIMS
from raan.fairness.rule import HAIR
from raan.fit.boosting import Plain, Rows
from raan.fit.budget import affordable
from raan.fit.classifier import TableClassifier
from raan.fit.clock import Clock
from raan.fit.networks import Effort, Ground, plain_training, walks
from raan.fit.points import Choice, Walk, settle
from raan.fit.reweighted import GIVEN, Search, affordable_search, given, searched
from raan.methods.method import alike
from raan.study.compare import four_each
from raan.tabular.frame import Loaded
from raan.tabular.words import listed

LEAST_JUDGED = 10
"""A group with fewer validation rows of some class is too small to judge by."""

MANY_CLASSES = 10
"""A label of more classes may be a number, or another column than was meant."""

BOOSTING_SHARE = 0.6
"""The share of the time that the search of AANReweighting may take."""


@dataclass(frozen=True)
class Wish:
    """What the user asks for: the aim, the accuracy that it may cost, the time, and the seed of everything."""

    aim: str = "equalized_odds"
    accuracy_drop: float = 0.005
    seconds: float = 300.0
    seed: int = 0


@dataclass(frozen=True, eq=False)
class Fit:
    """All that was trained, the most accurate plain model, and the model that the rule chose."""

    loaded: Loaded
    table: Table  # groups too small to judge by are unknown here
    wish: Wish
    effort: Effort | None  # of the networks; None if none was trained
    walks: tuple[Walk, ...]
    plain: Choice
    chosen: Choice
    notes: tuple[str, ...]

    @property
    def improved(self) -> bool:
        """Whether a model that knows of groups was chosen and serves the aim better than the plain one.

        One that serves it about as well is chosen too, if it is more accurate.
        """
        aim = AIMS[self.wish.aim]
        better = aim.loss(self.chosen.validation) < aim.loss(self.plain.validation) - HAIR
        return not self.chosen.plain and bool(better)

    @property
    def tried(self) -> bool:
        """Whether any model that knows of groups was trained."""
        return any(len(walk.step) > 1 for walk in self.walks if not walk.plain)

    def model(self, attributes: tuple[str, ...], label: str) -> TableClassifier:
        """The chosen model with the preprocessing before it, to predict with and to save."""
        about = {
            "method": self.chosen.walk.method,
            "label": label,
            "attributes": attributes,
            "aim": self.wish.aim,
            "accuracy_drop": self.wish.accuracy_drop,
        }
        classifier = self.chosen.walk.classifier(self.chosen.point)
        return TableClassifier(self.loaded.preprocessing, classifier, self.table.class_names, about)


def fit(loaded: Loaded, wish: Wish, clock: Clock) -> Fit:
    """Train every method as far as the time goes, and choose on validation rows.

    An interruption by the user, or the end of the time, leaves what is finished; only before the first model is
    there does a KeyboardInterrupt pass.
    """
    table, notes = judged(loaded)
    plain = Plain.fit(Rows(table, Split.of(loaded.split), wish.seed))
    found = _Found([plain.walk], list(notes))
    try:
        _train(found, table, loaded, wish, plain, clock)
    except KeyboardInterrupt:
        clock.interrupt()
    if clock.interrupted:
        found.notes.append("Training was interrupted: the choice is among what had been trained by then.")
    reference, chosen = settle(found.walks, wish.aim, wish.accuracy_drop)
    return Fit(loaded, table, wish, found.effort, tuple(found.walks), reference, chosen, tuple(found.notes))


@dataclass
class _Found:
    """What has been trained so far, and what is to be said of it."""

    walks: list[Walk]
    notes: list[str]
    effort: Effort | None = None


def _train(found: _Found, table: Table, loaded: Loaded, wish: Wish, plain: Plain, clock: Clock) -> None:
    """Plain training, Vanilla, AANReweighting, RAAN, RL-RAAN; each adds its walks as it ends."""
    search = affordable_search(plain, BOOSTING_SHARE * clock.left)
    searching = search.seconds if search else len(GIVEN) * plain.seconds
    split = plain.rows.split
    effort, costs = affordable(table, split, four_each(), clock.left - searching)
    clock.plan(searching + costs.total)
    ground = Ground.of(table, split, wish.seed, effort.seeds)
    start = plain_training(ground, effort, clock, costs.first)
    methods = four_each()

    def second(name: str) -> None:
        for pack, seconds in zip(alike(methods[name]), costs.second[name], strict=True):
            if start is not None and clock.left:
                found.effort = effort
                found.walks += walks(name, pack, start, ground, effort, clock, seconds)
        if not any(walk.method == name for walk in found.walks):
            found.notes.append(f"{name} was not trained: the time was over.")

    second("Vanilla")
    found.notes.extend(_boosted(found, plain, search, wish, clock))
    second("RAAN")
    second("RL-RAAN")
    found.notes.extend(_unfinished(found))


def _boosted(found: _Found, plain: Plain, search: Search | None, wish: Wish, clock: Clock) -> Iterator[str]:
    """AANReweighting's walk, as far as there is time for one; what is to be said of it."""
    walk = searched(plain, search, wish.aim, wish.accuracy_drop, clock) if search else given(plain, clock)
    if walk is None:
        yield "AANReweighting was not trained: the time was over. Give more --minutes."
        return
    found.walks.append(walk)
    whole = len(plain.rows.split.train)
    if search is None:
        yield (
            f"AANReweighting's weights were not searched for, to save time: {len(walk.step) - 1} given ones were "
            "tried. Give more --minutes for the search."
        )
    elif search.rows < whole or search.estimator.max_iter < plain.rows.estimator.max_iter:
        yield (
            f"AANReweighting's weights were searched for on {search.rows:,} of {whole:,} training rows and with "
            f"{search.estimator.max_iter} rounds of boosting, to save time; its models were then fitted in full."
        )


def _unfinished(found: _Found) -> Iterator[str]:
    """What to say where walks ended before their time."""
    effort = found.effort
    if effort is None:
        return
    planned = effort.epochs * effort.parts + 1
    for name in dict.fromkeys(walk.method for walk in found.walks if walk.method in four_each()):
        points = min(len(walk.step) for walk in found.walks if walk.method == name)
        if points < planned:
            yield f"{name} was stopped at the end of the time, after {points - 1} of {planned - 1} parts."


def judged(loaded: Loaded) -> tuple[Table, tuple[str, ...]]:
    """The table in which groups too small to judge by are unknown, and what to say of them."""
    table, validation = loaded.table, Split.of(loaded.split).validation
    known = validation[table.attribute[validation] != UNKNOWN]
    cell = table.label[known].long() * table.attributes + table.attribute[known]
    count = cell.bincount(minlength=table.classes * table.attributes).view(table.classes, table.attributes)
    enough = (count >= LEAST_JUDGED).all(0)
    kept = [name for name, keep in zip(table.attribute_names, enough.tolist(), strict=True) if keep]
    small = [name for name in table.attribute_names if name not in kept]
    if len(kept) < 2:
        raise ValueError(_too_small(table, count, len(kept)))
    if not small:
        return table, ()
    # The last entry is read by UNKNOWN (-1).
    number = torch.cat([torch.where(enough, enough.cumsum(0) - 1, UNKNOWN), torch.tensor([UNKNOWN])])
    note = (
        f"Groups with fewer than {LEAST_JUDGED} validation rows of some class are too small to judge by: "
        f"{listed(small)}. Their rows train the models, but no gap is measured for them."
    )
    return replace(table, attribute=number[table.attribute], attribute_names=tuple(kept)), (note,)


def _too_small(table: Table, count: Int[Tensor, "label attribute"], judged: int) -> str:
    """What to say where fewer than two groups can be judged: the smallest cell, and what may be at fault."""
    label, group = divmod(int(count.argmin()), table.attributes)
    remedy = "give more rows, or merge rare classes and small groups"
    if table.classes > MANY_CLASSES:
        remedy = f"the label has the classes {listed(table.class_names)}; give one with fewer, or more rows"
    return (
        f"{table.name}: {judged} of {table.attributes} groups have {LEAST_JUDGED} validation rows or more of "
        f"every class, and two are needed to compare. The groups are {listed(table.attribute_names)}. The fewest "
        f"rows, {int(count.min())}, have the class {table.class_names[label]!r} and the group "
        f"{table.attribute_names[group]!r}: {remedy}"
    )
