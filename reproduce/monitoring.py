"""Certificates and monitoring on simulated rows whose truth is known in closed form.

`python -m reproduce.monitoring` writes results/monitoring.json and prints it; it takes some minutes. docs/guides/
deploying.md states its figures.

A population is a share for each (class, group) cell, and in each cell how often the chosen model is right, and how
often exactly one of the two models is. Counts of rows are multinomial draws, so every rate, gap and loss is known.
"""

import json
import math
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np

from raan.fairness.bounds import bound_rate
from raan.fairness.certificate import GAPS, Certificate, certify_counts, list_sums
from raan.fairness.measures import AIMS
from raan.fairness.metrics import accuracy, group_accuracy, measure
from raan.fairness.monitor import TAIL, Month, Standing, Watch, watch_rate
from raan.fairness.promise import Promise
from raan.fairness.rule import Rule

RESULTS = Path(__file__).parents[1] / "results" / "monitoring.json"
CERTIFICATES, HISTORIES, MONTHS, FALL, POWER = 1000, 200, 24, 0.05, 0.8


@dataclass(frozen=True)
class Population:
    """Cells of [class, group]: their shares, and how often both models are right, or only one of them."""

    share: np.ndarray
    both: np.ndarray
    chosen_only: np.ndarray
    plain_only: np.ndarray

    @cached_property
    def joint(self) -> np.ndarray:
        """The probability of each cell and outcome: both right, chosen only, plain only, neither."""
        right = [self.both, self.chosen_only, self.plain_only]
        parts = np.stack([*right, 1 - sum(right)], axis=-1)
        return np.asarray(self.share[..., None] * parts)

    @property
    def truth(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The counts of a million rows as they are in expectation: their rates are the true ones."""
        return self.count(1e6 * self.joint)

    def draw(self, rows: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Draw counts of the chosen model and of the baseline, and how many rows switched."""
        return self.count(rng.multinomial(rows, self.joint.ravel()).reshape(self.joint.shape).astype(float))

    @staticmethod
    def count(outcomes: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Turn outcomes of two classes into counts [class, group or unknown, prediction]."""
        models = []
        for right in (outcomes[..., 0] + outcomes[..., 1], outcomes[..., 0] + outcomes[..., 2]):
            counts = np.zeros((2, outcomes.shape[1] + 1, 2))
            for y in range(2):
                counts[y, :-1, y], counts[y, :-1, 1 - y] = right[y], outcomes[y].sum(-1) - right[y]
            models.append(counts)
        switched = np.zeros(models[0].shape[:2])
        switched[:, :-1] = outcomes[..., 1] + outcomes[..., 2]
        return models[0], models[1], switched

    def fall(self, label: int, group: int, by: float) -> "Population":
        """The population in which the chosen model is right less often in one cell."""
        both = self.both.copy()
        both[label, group] -= by
        return replace(self, both=both)


def population(groups: int = 2) -> Population:
    """Groups of different sizes and base rates; a gap that fairness has not closed."""
    size = np.array([0.6, 0.4]) if groups == 2 else np.array([0.4, 0.3, 0.2, 0.1])
    base = np.linspace(0.35, 0.2, groups)
    share = np.stack([size * (1 - base), size * base])
    right = np.stack([np.linspace(0.88, 0.9, groups), np.linspace(0.66, 0.58, groups)])
    return Population(share, right - 0.02, np.full_like(right, 0.02), np.full_like(right, 0.025))


def evaluate_certificates(rows: int, groups: int = 2, draws: int = CERTIFICATES) -> dict[str, Any]:
    """Draw certificates; count those with a bound that does not hold, and compare widths with the normal ones."""
    people, rng = population(groups), np.random.default_rng([rows, groups])
    chosen, plain, _ = people.truth
    truth = {key: float(measure(AIMS[key].metric, chosen)) for key in GAPS}
    loss, recall = float(accuracy(plain) - accuracy(chosen)), group_accuracy(chosen)
    assert np.isfinite([loss, *truth.values(), *recall.ravel()]).all()
    failed: dict[str, int] = dict.fromkeys(("any", "loss", "lowest", "recalls", *GAPS), 0)
    widths: dict[str, list[float]] = {name: [] for name in failed if name not in ("any", "recalls")}
    rule = Rule("equalized_odds")
    for _ in range(draws):
        counts = people.draw(rows, rng)
        names = ("no", "yes"), [str(a) for a in range(groups)]
        found = certify_counts(*counts, rule, *names)
        assert found.lowest is not None
        wrong = {"loss": found.loss.bound < loss, "lowest": found.lowest.bound > recall.min()}
        cells = recall.T.ravel()  # groups, then classes, as the certificate has them
        wrong["recalls"] = any(each.bound > true for each, true in zip(found.recalls, cells, strict=True))
        wrong |= {key: found.gaps[key].bound < truth[key] for key in GAPS}
        wrong["any"] = any(wrong.values())
        for name, each in wrong.items():
            failed[name] += bool(each)
        for name, ratio in compare_widths(found, counts).items():
            widths[name].append(ratio)
    return {
        "rows": rows,
        "groups": groups,
        "draws": draws,
        "failed": failed,
        "width": {name: round(float(np.mean(each)), 3) for name, each in widths.items()},
    }


def compare_widths(found: Certificate, counts: tuple[np.ndarray, ...]) -> dict[str, float]:
    """How far each bound is from what is seen, against the bound of a normal law at the same level."""
    chosen, _, switched = counts
    quantile = NormalDist().inv_cdf(1 - 0.05 / found.claims)
    rows = chosen.sum()
    error = math.sqrt((switched.sum() / rows - found.loss.seen**2) / rows)
    ratios = {"loss": (found.loss.bound - found.loss.seen) / (quantile * error)}
    known = chosen[:, :-1]
    size = known.sum(-1)
    right = np.stack([known[y, :, y] for y in range(2)]) / size
    least = (right - quantile * np.sqrt(right * (1 - right) / size)).min()
    assert found.lowest is not None
    ratios["lowest"] = (found.lowest.seen - found.lowest.bound) / (found.lowest.seen - least)
    for key, gap in found.gaps.items():
        normal = 0.0
        for each in list_sums(key, known):
            rate = each.hits / each.size
            normal = max(normal, each.seen + quantile * math.sqrt((rate * (1 - rate) / each.size).sum()))
        ratios[key] = (gap.bound - gap.seen) / (normal - gap.seen)
    return ratios


def make_watch(people: Population, rows: int, rng: np.random.Generator, aim: str = "equalized_odds") -> Watch:
    """What a model promises that was evaluated on so many rows."""
    counts = people.draw(rows, rng)
    rule = Rule("equalized_odds")
    groups = [str(a) for a in range(people.share.shape[1])]
    return Watch(rule, Promise.of(*counts, rule), counts[0], ("no", "yes"), groups)


def draw_month(people: Population, rows: int, rng: np.random.Generator) -> Month:
    """A month's rows, all with labels."""
    counts = people.draw(rows, rng)[0]
    return Month(counts, np.zeros(counts.shape[1:]), "")


def count_false_alarms(
    rows: int, past: int = 10_000, histories: int = HISTORIES, length: int = MONTHS
) -> dict[str, Any]:
    """Histories without any change: how many ever raise an alarm."""
    people, alarms = population(), 0
    for history in range(histories):
        rng = np.random.default_rng([history, rows])
        watch, months, alarm = make_watch(people, past, rng), [], False
        for _ in range(length):
            months.append(draw_month(people, rows, rng))
            alarm |= any(each.standing is Standing.CONTRADICTED for each in watch.check(months))
        alarms += alarm
    return {"rows a month": rows, "months": length, "histories": histories, "alarms": alarms}


def find_fall(rows: int, before: int, past: int = 10_000, histories: int = HISTORIES) -> dict[str, Any]:
    """A recall falls, after some months, to five points below what is promised: how many rows until an alarm.

    The fixed-size test has the same claim and as many claims, so the level 0.05 / claims, and finds the fall with
    the given power.
    """
    people, needed, fixed = population(), [], []
    watch = make_watch(people, past, np.random.default_rng(0))
    threshold = watch.check([draw_month(people, rows, np.random.default_rng(0))])[0].threshold
    quantiles = [NormalDist().inv_cdf(share) for share in (1 - math.exp(-threshold), POWER)]
    for history in range(histories):
        rng = np.random.default_rng([history, rows, before])
        cell = people.draw(past, rng)[0][1, 0]
        least = float(bound_rate(cell[1], cell.sum(), TAIL, upper=False))
        rate = least - FALL
        worse = people.fall(1, 0, float(people.both[1, 0] + people.chosen_only[1, 0]) - rate)
        months = [people.draw(rows, rng)[0][1, 0] for _ in range(before)]
        evidence = -math.inf
        while evidence < threshold:
            months.append(worse.draw(rows, rng)[0][1, 0])
            cells = np.array(months)
            evidence = watch_rate("", "", cells[:, 1], cells.sum(1), least, 1.0).evidence
        needed.append(sum(each.sum() for each in months[before:]))
        spread = sum(z * math.sqrt(p * (1 - p)) for z, p in zip(quantiles, (least, rate), strict=True))
        fixed.append((spread / FALL) ** 2)
    return {
        "rows a month": rows,
        "months before": before,
        "histories": histories,
        "rows": round(float(np.median(needed))),
        "rows of a fixed-size test": round(float(np.median(fixed))),
        "ratio": round(float(np.median(np.array(needed) / fixed)), 2),
        "mean ratio": round(float(np.mean(needed) / np.mean(fixed)), 2),
    }


def describe(found: dict[str, Any]) -> list[str]:
    """The sentences of docs/guides/deploying.md."""
    certificates, alarms, falls = (found[name] for name in ("certificates", "false alarms", "falls"))
    draws = sum(each["draws"] for each in certificates)
    failed = sum(each["failed"]["any"] for each in certificates)
    widest = max(max(each["width"].values()) for each in certificates)
    histories, rung = (sum(each[name] for each in alarms) for name in ("histories", "alarms"))
    first, later = falls[0], falls[-1]
    return [
        f"In {draws:,} simulated certificates {failed} had any bound that did not hold, and the bounds are at "
        f"most {widest:.2f} times as far from what is seen as those of a normal law, in the mean.",
        f"In {histories} simulated histories of {MONTHS} months without a change {rung} raised an alarm.",
        f"A recall that falls to five points below what is expected is named after {first['mean ratio']:.2f} "
        "times the rows of a fixed-size test of the same claims with a power of 80 % if it falls in the first "
        f"month, and after {later['mean ratio']:.2f} times the rows after {later['months before']} good months.",
    ]


def main() -> None:
    """Simulate, write and print."""
    found = {
        "certificates": [evaluate_certificates(rows, groups) for rows, groups in ((2_000, 2), (6_000, 4))],
        "false alarms": [count_false_alarms(rows) for rows in (1_000,)],
        "falls": [find_fall(rows, before) for rows, before in ((300, 0), (300, 12))],
    }
    RESULTS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(found, indent=1), *describe(found), sep="\n")


if __name__ == "__main__":
    main()
