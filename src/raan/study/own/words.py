"""What `raan fit` found, in a sentence or two."""

from collections.abc import Iterator

from raan.fairness.metrics import attribute_accuracy
from raan.study.fit import Fit
from raan.study.own.points import METRICS as MEASURED
from raan.study.own.points import Choice

METRICS = {
    "accuracy": "accuracy",
    "equalized_odds_gap": "equalized odds gap (sum)",
    "demographic_parity_gap": "demographic parity gap",
    "worst_group_accuracy": "worst group accuracy",
}


def sentence(fit: Fit) -> str:
    """What the chosen model changes against the best plain one, on test rows."""
    return " ".join(_sentences(fit))


def _sentences(fit: Fit) -> Iterator[str]:
    before, after = fit.plain.test, fit.chosen.test
    metric = MEASURED[fit.wish.aim]
    was, now = 100 * float(getattr(before, metric)), 100 * float(getattr(after, metric))
    cost = 100 * float(after.accuracy - before.accuracy)
    plain = fit.plain.walk.method
    if not fit.improved:
        yield (
            "No model that knows of groups did better on validation rows within "
            f"{100 * fit.wish.accuracy_drop:g} points of accuracy, so a plain model is saved "
            f"({fit.chosen.walk.method}); more --minutes or a larger --accuracy-drop may find one."
        )
        return
    yield (
        f"On test rows, {fit.chosen.walk.method} takes the {METRICS[metric]} from {was:.1f} to {now:.1f} % and "
        f"changes accuracy by {cost:+.1f} points, against {plain}, the plain one most accurate on validation rows."
    )
    better = now > was if fit.wish.aim == "worst_group" else now < was
    if not better:
        yield "The gain on validation rows is not there on test rows: it may have been luck. Do not rely on it."
    yield "One split of the rows was used: the model card gives the intervals."


def group_accuracies(fit: Fit, choice: Choice) -> dict[str, float | None]:
    """The accuracy of each group on test rows; None where it has none."""
    rates = attribute_accuracy(choice.walk.test[choice.point]).tolist()
    named = zip(fit.table.attribute_names, rates, strict=True)
    return {name: None if rate != rate else round(rate, 6) for name, rate in named}
