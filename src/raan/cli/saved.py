"""An outcome as the page about a saved model takes it."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np

from raan.cli.outcome import choose_command
from raan.fairness.aims import AIMS
from raan.fairness.counts import Counts
from raan.fairness.metrics import NAMES, false_positive_rate, true_positive_rate
from raan.fit.inspect import GroupScores
from raan.fit.outcome import Outcome
from raan.fit.words import fairer, regime, subject, verdict
from raan.report.saved import Choice, Importance, Saved, Scores

ALLOWANCES = (0.0, 0.0025, 0.005, 0.01, 0.015, 0.02, 0.03, 0.04)
"""The losses of accuracy that a reader may ask for."""

MORE = 100
"""Points that are shown beside those that some choice takes."""


def to_saved(outcome: Outcome, out: Path, command: str) -> Saved:
    """Everything that the page shows; of the points, those that some choice takes, and some of the others."""
    choices = list(_choices(outcome))
    others = np.linspace(0, len(outcome.test) - 1, MORE).astype(int).tolist()
    kept = sorted({0, outcome.place, *(choice.point for choice in choices), *others})
    place = {point: number for number, point in enumerate(kept)}
    facts, promise = outcome.facts, outcome.promise
    return Saved(
        title=subject(outcome),
        verdict=verdict(outcome),
        fairer=fairer(outcome),
        method=outcome.method,
        regime=regime(outcome),
        rule=outcome.rule,
        classes=facts.classes,
        groups=facts.groups,
        plain=0,
        chosen=place[outcome.place],
        held_out=outcome.held_out[kept],
        test=outcome.test[kept],
        choices=[replace(choice, point=place[choice.point]) for choice in choices],
        promise={name: (promise.plain[name], promise.metrics[name]) for name in NAMES},
        accuracy_loss=promise.accuracy_loss,
        scores={
            "plain": _scores(outcome.scores["plain"], outcome.test[0], facts.groups),
            "chosen": _scores(outcome.scores["chosen"], outcome.test[outcome.place], facts.groups),
        },
        importance=[Importance(*row) for row in _importance(outcome)],
        choose_command=choose_command(out),
        notes=[*facts.notes, *facts.warnings],
        command=command,
        label=facts.label,
        attribute=" × ".join(facts.attributes),
        test_switched=outcome.switched[kept],
    )


def _choices(outcome: Outcome) -> Iterator[Choice]:
    """The point that answers each aim, allowance and floor: the reader's own first."""
    rule, frontier = outcome.rule, outcome.frontier
    drops = sorted({*ALLOWANCES, rule.accuracy_drop} if rule.aim in AIMS else ALLOWANCES)
    floors = dict.fromkeys((0.0, None, rule.worst_group_drop))
    for aim, drop, floor in product(AIMS, drops, floors):
        asked = replace(rule, aim=aim, accuracy_drop=drop, worst_group_drop=floor, limits=())
        point = frontier.frontier_.place(asked.judged_by(outcome.held_out[0]))
        yield Choice(aim, drop, floor, point)


def _scores(several: Sequence[GroupScores], test: Counts, groups: Sequence[str]) -> list[Scores]:
    """The curves, with where the decisions themselves are on them."""
    false, true = (rate(test)[:, -1] for rate in (false_positive_rate, true_positive_rate))
    found = []
    for group, roc, calibration in several:
        code = groups.index(group)
        found.append(Scores(group, roc, calibration, (float(false[code]), float(true[code]))))
    return found


def _importance(outcome: Outcome) -> list[tuple[str, float, tuple[float, ...]]]:
    weights = np.asarray(outcome.frontier.weights_)
    return outcome.probe.importance(weights, len(outcome.facts.groups))
