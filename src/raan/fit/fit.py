"""From a table to a fairer model: kinds of model within a time budget, and the choice by the user's rule."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Any, NamedTuple

import numpy as np

from raan.errors import InputError, Option, listed
from raan.fairness.measures import AIMS
from raan.fairness.rule import ACCURACY_DROP, CONFIDENCE, Rule
from raan.fit.classifier import TableClassifier
from raan.fit.clock import Clock
from raan.fit.families import (
    MAX_SHARE,
    SMALL,
    WIDE,
    Family,
    Kind,
    Pace,
    TradeOff,
    choose_family,
    choose_with_warnings,
    count_rest,
    fit_family,
    in_order,
)
from raan.fit.inspect import score_groups, shuffle_columns
from raan.fit.outcome import Facts, Outcome
from raan.fit.rows import Rows, drop_small_groups
from raan.frontier.estimator import FairFrontier
from raan.frontier.posterior import give_attribute
from raan.frontier.tally import BLOCK
from raan.tables.load import Loaded
from raan.tables.preprocess import Preprocessing
from raan.tables.rest import Block, Rest

FIRST_SHARE, NEXT_SHARE = 0.6, 0.4
"""The shares of the time that is left that the first family, and the second after it, may take."""

PACED, READING = 100_000, 1.5e-6
"""Rows in memory by which the time of counting others is estimated, and about how long reading a row takes."""

IN_ONE_READING, LEAST_READING = 0.8, 0.02
"""The share of the time left that a reading may take, and the share of the rows for which a file is read again."""


@dataclass(frozen=True)
class FitOptions:
    """What the user asks for: the aim and what it may cost, the time, and the seed of everything."""

    aim: str = "equalized_odds"
    accuracy_drop: float = ACCURACY_DROP
    worst_group_drop: float | None = 0.0
    confidence: float = CONFIDENCE
    seconds: float = 300.0
    seed: int = 0
    guard: str = "worst"
    performance: str = "accuracy"
    max_drop: float | None = None
    pos_label: str | None = None

    @property
    def rule(self) -> dict[str, Any]:
        """The rule as FairFrontier takes it."""
        names = ("aim", "accuracy_drop", "worst_group_drop", "confidence", "guard", "performance", "max_drop")
        return {name: getattr(self, name) for name in names}


class Source(NamedTuple):
    """Where the table comes from: its file, the columns that were named, and the command."""

    name: str
    label: str
    attributes: Sequence[str]
    command: str = ""
    control: Sequence[str] = ()


class Fit(NamedTuple):
    """What a fit gives: the outcome, the model to save, and the baseline beside it."""

    outcome: Outcome
    model: TableClassifier
    baseline: TableClassifier


def fit(loaded: Loaded, options: FitOptions, clock: Clock, source: Source) -> Fit:
    """Fit every kind of model as far as the time goes, and choose on held-out rows.

    The first is always there: boosting, or logistic regression where texts or images became many features. An
    interruption by the user, or the end of the time, leaves what is finished; only before the first family is
    there does a KeyboardInterrupt pass.
    """
    evaluated, notes = drop_small_groups(loaded)
    rows = Rows.of(evaluated, options.seed)
    rule = options.rule | {"pos_label": _find_positive(options.pos_label, rows.classes)}
    first, second = in_order(rows)
    train_size, seconds = _plan_first(first, rows, clock)
    with clock.work(first.title, seconds):
        families = [fit_family(first, rows, rule, train_size)]
    known: dict[str, float] = {}
    with clock.limit():
        if clock.left and rows.loaded.rest is None:
            families += _fit_quick(second, rows, rule, train_size, clock)
        known = expect_with_known_groups(families[0])
    reference, best = choose_family(families)
    learnt = len(rows.training) if train_size is None else train_size
    judged, about_rest = best.frontier.evaluation_.rows, list[str]()
    if rows.loaded.rest is not None:
        with clock.limit():
            best, counted, about_rest = _count_rest(best, rows, rows.loaded.rest, clock)
            judged += counted
    found = [*notes, *_note_sizes(learnt, judged, rows), *about_rest]
    if clock.interrupted:
        found.append("Training was interrupted: the choice is among what had been trained by then.")
    found += choose_with_warnings(best.frontier)[1]
    found += _note_positive(options, best.frontier.frontier_.rule, rows.classes)
    facts = Facts(
        label=source.label,
        attributes=(*source.control, *source.attributes),
        control=tuple(source.control),
        source=source.name,
        classes=rows.classes,
        groups=rows.groups,
        sizes=(learnt, judged, len(rows.test)),
        cells=tuple(map(tuple, loaded.cells.tolist())),
        all_groups=loaded.attribute.names,
        columns=loaded.preprocessing.columns,
        minutes=options.seconds / 60,
        trained=tuple(family.title for family in families),
        method=f"{best.family.title} under FairFrontier",
        plain_method=reference.title,
        own_plain=best.family is reference,
        known=known,
        known_rule=(best.frontier.frontier_.rule.accuracy_drop, options.worst_group_drop),
        notes=(*found, *_note_embedded(loaded.preprocessing)),
        warnings=loaded.warnings,
        command=source.command,
        fingerprint=best.frontier.sketch_.fingerprint,
    )
    return _conclude(facts, rows, loaded, reference, best)


def _plan_first(kind: Kind, rows: Rows, clock: Clock) -> tuple[int | None, float]:
    """The rows that train one posterior, None for folds, and about how long the first family takes.

    Where all rows cannot be evaluated in folds within its share of the time, and where a file has more rows than
    are in memory, some rows train and all others evaluate.
    """
    if len(rows.training) <= SMALL:
        clock.plan(clock.left)
        return None, 0.5 * clock.left
    with clock.work("measuring", 0.0):
        pace = Pace.measure(kind, rows)
    training, rest, budget = len(rows.training), rows.loaded.rest, FIRST_SHARE * clock.left
    if rest is None and pace.in_folds(training) <= budget:
        size, seconds = None, pace.in_folds(training)
    else:
        size = pace.find_train_size(training, budget)
        seconds = pace.held_out(size, training - size)
    clock.plan(seconds + NEXT_SHARE * max(clock.left - seconds, 0.0) if rest is None else clock.left)
    return size, seconds


def _count_rest(best: TradeOff, rows: Rows, rest: Rest, clock: Clock) -> tuple[TradeOff, int, list[str]]:
    """Evaluate a trade-off on the rows of a file that are not in memory, or on as many as the time allows.

    Which rows come first is drawn at random. Where time is left after a reading, the file is read once more. With
    the trade-off come the number of rows and notes on those that were not counted.
    """
    some = np.array_split(rows.test[:PACED], -(-min(PACED, len(rows.test)) // BLOCK))
    begun, counted, strange = monotonic(), 0, Counter[str]()
    known = (Block(rows.features(each), rows.label(each), rows.group(each), rows.weight(each)) for each in some)
    count_rest(best, rows, known)
    pace = (monotonic() - begun) / min(PACED, len(rows.test))
    reading, read = READING * len(rest.drawn), 0.0

    def blocks() -> Iterator[Block]:
        nonlocal counted, pace, read
        while (share := IN_ONE_READING * (clock.left - reading) / (pace * rest.rows)) > 0 and read < 1:
            last, before, begun = min(1.0, read + share), counted, monotonic()
            if last - read < LEAST_READING:
                return
            for block in rest.blocks(rows.classes, rows.groups, (read, last), rows.seed):
                counted += len(block.label)
                strange.update(block.strange)
                yield block
            read, pace = last, max(monotonic() - begun - reading, 0.1 * reading) / max(counted - before, 1)

    try:
        with clock.work("evaluating more rows", clock.left):
            best = count_rest(best, rows, blocks())
    except InputError as error:
        return best, 0, [f"The rows of the file that are not in memory were not counted: {error}."]
    notes = []
    if strange:
        named = listed([f"{number:,} have {what}" for what, number in strange.items()], 5)
        notes.append(
            f"Of the rows that are not in memory, {named}. Those without a class that the model knows are not "
            "counted, and those of another group are of unknown group."
        )
    if left_out := round((1 - read) * rest.rows):
        notes.append(f"About {left_out:,} rows, drawn at random, were left out to keep within the time.")
    return best, counted, notes


def _note_sizes(learnt: int, judged: int, rows: Rows) -> Iterator[str]:
    """A note where some rows trained and others chose."""
    if learnt == judged:
        return
    yield (
        f"{learnt:,} rows trained the models, and {judged:,} other rows, which they have not seen, chose among "
        f"the points; all {len(rows.test):,} test rows evaluated the choice."
    )
    if learnt < int(MAX_SHARE * len(rows.training)):
        yield "The time allows no more rows to train; more --minutes would."


def _note_embedded(preprocessing: Preprocessing) -> Iterator[str]:
    """A note on each column of texts or images: what made it numbers."""
    for name, encoder in preprocessing.encoders.items():
        yield (
            f"{name!r} holds {encoder.kind}s, embedded by {encoder} (fingerprint {encoder.fingerprint[:12]}). "
            "What the encoder learnt elsewhere, prejudice included, is in its numbers."
        )


def _find_positive(pos_label: str | None, classes: Sequence[str]) -> int | None:
    """The number of the positive class among those of the table."""
    if pos_label is None:
        return None
    if pos_label not in classes:
        raise InputError(Option("positive"), f"is {pos_label!r}", f"one of the classes {listed(classes)}")
    return list(classes).index(pos_label)


def _note_positive(options: FitOptions, rule: Rule, classes: Sequence[str]) -> Iterator[str]:
    """A note that says which class was taken for the positive one, where that makes a difference."""
    asked = [rule.goal, rule.currency]
    sided = any({"recall", "precision", "fp", "fn", "f1"} & {*re.findall(r"\w+", each.formula)} for each in asked)
    if options.pos_label is None and len(classes) == 2 and sided and rule.goal.key != "equalized_odds":
        yield f"{classes[1]!r} is taken for the positive class; --positive {classes[0]} takes the other."


def _fit_quick(kind: Kind, rows: Rows, rule: dict[str, Any], train_size: int | None, clock: Clock) -> list[Family]:
    """The family, unless it would take more than its share of the time."""
    seconds, budget, training = 0.1 * clock.left, NEXT_SHARE * clock.left, len(rows.training)
    if training > SMALL or rows.width > WIDE:
        # Of a wide table even the fits that are timed take long: smaller ones say whether they are worth it.
        for some in (rows.few(SMALL), rows) if rows.width > WIDE else (rows,):
            pace = Pace.measure(kind, some)
            if train_size is None:
                seconds = pace.in_folds(training)
            else:
                seconds = pace.held_out(train_size, training - train_size)
            if seconds > budget:
                return []
    with clock.work(kind.title, seconds):
        return [fit_family(kind, rows, rule, train_size)]


def expect_with_known_groups(family: Family) -> dict[str, float]:
    """By aim, what could be expected with thresholds for each group, if new rows' groups were known."""
    evaluation, frontier = family.frontier.evaluation_, family.frontier
    if frontier.strata_:
        return {}
    names = np.array([*frontier.groups_, None], dtype=object)
    shared = ("accuracy_drop", "worst_group_drop", "confidence", "guard", "performance", "max_drop", "pos_label")
    parameters = {name: getattr(frontier, name) for name in shared}
    posterior = give_attribute(evaluation.posterior.sum(2), evaluation.group, len(frontier.groups_))
    found = FairFrontier.from_posterior(
        posterior, evaluation.label, names[evaluation.group], aim=frontier.aim, **parameters
    )
    return {
        aim.key: float(found.choose(aim=aim).promise_.metrics[aim.metric].value)
        for aim in {*AIMS.values(), frontier.frontier_.rule.goal}
    }


def _conclude(facts: Facts, rows: Rows, loaded: Loaded, reference: Family, best: TradeOff) -> Fit:
    """The outcome of a choice, and the models to save."""
    chosen, label, group = best.frontier, rows.label(rows.test), rows.group(rows.test)
    outcome = Outcome(
        facts,
        chosen.points_,
        chosen.frontier_.rule,
        best.place,
        chosen.promise_,
        best.test,
        best.switched,
        {
            "plain": score_groups(reference.probabilities, label, group, rows.groups),
            "chosen": score_groups(best.family.probabilities, label, group, rows.groups),
        },
        shuffle_columns(
            rows.features(rows.test), loaded.preprocessing.spans, label, group, chosen.posterior, rows.seed
        ),
    )
    models = (chosen, outcome.method), (reference.frontier.plain(), facts.plain_method)
    saved = (
        TableClassifier(loaded.preprocessing, model, rows.classes, outcome.about(method))
        for model, method in models
    )
    return Fit(outcome, *saved)
