"""What results/celeba-end-to-end.jsonl says: `python -m reproduce.celeba_page` prints the page of docs/results.

Every method of a seed has two learning rates, a few points and every threshold to be chosen from, on validation
rows: the best worst group within half a point of the accuracy of plain training at threshold one half.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from raan.fairness.metrics import accuracy, worst_group_accuracy
from raan.fairness.rule import Rule
from raan.lab.results.records import read as read_study
from raan.lab.results.summary import choose, comparisons
from raan.training.update import Style
from reproduce import celeba_end_to_end as study

RULE = Rule("worst_group", 0.005)
HALF = study.BINS // 2
PLAIN, THRESHOLD = "plain training", "plain + threshold"
TITLES = {"end to end": "ResNet-18, end to end", "frozen": "MLP over frozen EfficientNet"}
FROZEN_STUDY = Path(__file__).parents[1] / "results" / "celeba.jsonl.gz"

PAGE = """# CelebA, trained through

Wavy hair and gender, the first {images:,} images: {train:,} train, {validation:,} choose, {test:,} judge, drawn at
random for each of {seeds} seeds (the same person may stand in two parts).

- End to end: a ResNet-18 from random weights (no pretrained ones were at hand) on {height} x {width} pixels,
  {first} epochs of cross-entropy with mirrored and shifted images, then a method for one epoch over all training
  images in batches of {batch}, BatchNorm held. The paper has 194,599 images in full size.
- Frozen: an MLP over the 1,280 features of an EfficientNet-lite0, trained on ImageNet, of 160 x 128 pixels.

{done} of {runs} runs are in. Every method has two learning rates and four points (frozen: five) to be chosen from
on validation rows: the best worst group within half a point of the accuracy of plain training. Mean ± standard
deviation over seeds, on test rows.

With the threshold as a hyperparameter of every method ({thresholds} of them):

{dialled}

At threshold one half. The last columns are [the study](celeba.md), with its own grids, on the same seeds and
splits and by the same rule:

{fixed}

## What end-to-end training adds to frozen features

{verdict} A network from random weights on small images is compared with ImageNet features of larger ones:
the difference is of pixels and pretraining as much as of training through.

End to end less frozen, with the threshold as a hyperparameter, paired over seeds, ± standard error:

{differences}

Made by `python -m reproduce.celeba_end_to_end` and `make results`.
"""

Counts = Float[np.ndarray, "option label slot prediction"]
Line = Mapping[str, Any]


class Reached(NamedTuple):
    """Accuracy and worst group on test rows, a value for each seed, in per cent."""

    accuracy: Float[np.ndarray, "seed"]
    worst: Float[np.ndarray, "seed"]

    def __str__(self) -> str:
        return f"{self.worst.mean():.1f} ± {self.worst.std(ddof=1):.1f} ({self.accuracy.mean():.1f})"


def counts(histogram: Sequence[Sequence[int]], threshold: int) -> Float[np.ndarray, "label slot prediction"]:
    """The counts when rows from this bin on are called class 1; nobody's attribute is unknown."""
    cells = np.asarray(histogram, dtype=float).reshape(2, 2, study.BINS)
    called = np.stack([cells[..., :threshold].sum(-1), cells[..., threshold:].sum(-1)], axis=-1)
    return np.concatenate([called, np.zeros((2, 1, 2))], axis=1)


def options(lines: Sequence[Line], part: str, points: slice, thresholds: Sequence[int]) -> Counts:
    """The counts of every run, point and threshold that may be chosen, on one part of the rows."""
    return np.stack(
        [counts(here, threshold) for line in lines for here in line[part][points] for threshold in thresholds]
    )


def reach(by_seed: Sequence[Sequence[Line]], points: slice, thresholds: Sequence[int]) -> Reached:
    """What the rule chooses on each seed's validation rows, judged on its test rows."""
    taken = []
    for lines in by_seed:
        reference = counts(lines[0]["validation"][0], HALF)  # where all methods of a seed start
        place = int(RULE.choose(options(lines, "validation", points, thresholds), reference))
        tested = options(lines, "test", points, thresholds)
        taken.append(tested[place] if place >= 0 else counts(lines[0]["test"][0], HALF))
    chosen = np.stack(taken)
    return Reached(100 * accuracy(chosen), 100 * worst_group_accuracy(chosen))


def readings(lines: Sequence[Line], features: str, style: Style, *, dial: bool) -> dict[str, Reached]:
    """What each method reaches; one of which a run is missing is left out."""
    here = [line for line in lines if (line["features"], line["style"]) == (features, style)]
    thresholds = range(1, study.BINS) if dial else [HALF]
    found: dict[str, Reached] = {}
    for method in study.METHODS:
        own = [[x for x in here if (x["method"], x["seed"]) == (method, seed)] for seed in study.SEEDS]
        if not all(len(each) == len(study.RATES[style]) for each in own):
            continue
        if not found:
            found[PLAIN] = reach(own, slice(1), [HALF])
            if dial:
                found[THRESHOLD] = reach(own, slice(1), thresholds)
        found[method] = reach(own, slice(None), thresholds)
    return found


@cache
def frozen_study(style: Style) -> dict[str, Reached]:
    """The study `celeba` on the same seeds, by the same rule: its own grids, threshold one half."""
    records = [each for each in read_study(FROZEN_STUDY) if each.seed in study.SEEDS and each.style == style]
    if not records:
        return {}
    (comparison,) = comparisons(records, RULE)
    chosen = {name: choose(paths, RULE).test for name, paths in comparison.methods.items()}
    return {name: Reached(100 * test.accuracy, 100 * test.worst_group_accuracy) for name, test in chosen.items()}


def table(lines: Sequence[Line], *, dial: bool) -> Iterator[str]:
    """A row for each method, a column for each kind of features and style."""
    columns = {
        f"{TITLES[features]}, {style}": readings(lines, features, style, dial=dial)
        for features in study.FEATURES
        for style in study.RATES
    }
    if not dial:
        columns |= {f"study `celeba`, {style}": frozen_study(style) for style in study.RATES}
    columns = {name: column for name, column in columns.items() if column}
    yield "| test rows: worst group % (accuracy %) | " + " | ".join(columns) + " |"
    yield "|---" * (1 + len(columns)) + "|"
    for method in (PLAIN, THRESHOLD, *study.METHODS):
        cells = [str(column[method]) if method in column else "" for column in columns.values()]
        if any(cells):
            yield f"| {method} | " + " | ".join(cells) + " |"


def differences(lines: Sequence[Line]) -> dict[str, Reached]:
    """End to end less frozen, seed by seed, of every method and style that has both."""
    found = {}
    for style in study.RATES:
        whole, frozen = (readings(lines, features, style, dial=True) for features in study.FEATURES)
        for method in whole:
            if method in frozen:
                pairs = zip(whole[method], frozen[method], strict=True)
                found[f"{method}, {style}"] = Reached(*(np.subtract(*pair) for pair in pairs))
    return found


def verdict(found: Mapping[str, Reached]) -> str:
    """In how many rows training through is ahead."""
    better = [sum(each[place].mean() > 0 for each in found.values()) for place in (1, 0)]
    return (
        f"Of {len(found)} rows the worst group is better end to end in {better[0]}, the accuracy in {better[1]}."
    )


def _paired(each: Float[np.ndarray, "seed"]) -> str:
    return f"{each.mean():+.1f} ± {each.std(ddof=1) / len(each) ** 0.5:.1f}"


def page() -> str:
    """The page; "" while there is nothing to tell."""
    lines = study.read()
    if not any(
        readings(lines, features, style, dial=True) for features in study.FEATURES for style in study.RATES
    ):
        return ""
    train, validation, test = study.SIZES
    (height, width), runs = study.SIZE, len(list(study.all_runs()))
    apart = differences(lines)
    return PAGE.format(
        images=study.IMAGES,
        train=train,
        validation=validation,
        test=test,
        seeds=len(study.SEEDS),
        height=height,
        width=width,
        first=study.FIRST_EPOCHS,
        batch=study.BATCH,
        done=len(lines),
        runs=runs,
        thresholds=study.BINS - 1,
        dialled="\n".join(table(lines, dial=True)),
        fixed="\n".join(table(lines, dial=False)),
        verdict=verdict(apart),
        differences="\n".join(
            f"- {name}: worst group {_paired(each.worst)}, accuracy {_paired(each.accuracy)} points"
            for name, each in apart.items()
        ),
    )


if __name__ == "__main__":
    sys.stdout.write(page())
