"""What `raan fit` found, in a sentence or two."""

from collections.abc import Iterator

from raan.fairness.metrics import attribute_accuracy
from raan.fit.fit import Fit
from raan.fit.runs import Pick


def sentence(fit: Fit) -> str:
    """What the chosen model changes against the best plain one, on test rows."""
    return " ".join(_sentences(fit))


def verdict(fit: Fit) -> tuple[str, ...]:
    """What the report begins with: the saved model and what it changes, then what its parts compare."""
    which = f"{fit.chosen.method}{', a plain model' if fit.chosen.plain else ''}"
    first, *more = _sentences(fit)
    return (
        f"Saved: {which}. {first}",
        *more,
        "The saved model was chosen against the most accurate plain model of all, network or boosting. The parts "
        "of this report hold each method, over all of its starts, against plain training of its own kind.",
    )


def _sentences(fit: Fit) -> Iterator[str]:
    if fit.chosen.plain:
        yield _why_plain(fit)
        return
    aim = fit.rule.goal
    was, now = (100 * float(aim.of(pick.test)) for pick in (fit.plain, fit.chosen))
    cost = 100 * float(fit.chosen.test.accuracy - fit.plain.test.accuracy)
    method, plain = fit.chosen.method, fit.plain.method
    if not fit.improved:
        yield (
            f"On validation rows, {method} is about as good for the aim as {plain}, and more accurate: "
            "so it is saved."
        )
    yield (
        f"On test rows, {method} takes the {aim.title} from {was:.1f} to {now:.1f} % and "
        f"changes accuracy by {cost:+.1f} points, against {plain}, the plain one most accurate on validation rows."
    )
    if not ((aim.gain(now - was) if fit.improved else cost) > 0):
        yield "The gain on validation rows is not there on test rows: it may have been luck. Do not rely on it."
    yield "One split of the rows was used: the model card gives the intervals."


def _why_plain(fit: Fit) -> str:
    """Why the plain model is saved."""
    method = fit.chosen.method
    if not fit.tried:
        return (
            "No model that knows of groups was trained in the time, so the plain model that is most accurate on "
            f"validation rows is saved ({method}); give more --minutes."
        )
    return (
        "No model that knows of groups did better than the plain ones on validation rows within "
        f"{100 * fit.rule.accuracy_drop:g} points of accuracy, so the plain model that is most accurate there is "
        f"saved ({method}); more --minutes or a larger --accuracy-drop may find one."
    )


def group_accuracies(fit: Fit, pick: Pick) -> dict[str, float | None]:
    """The accuracy of each group on test rows; None where it has none."""
    rates = attribute_accuracy(pick.test_counts).tolist()
    named = zip(fit.groups, rates, strict=True)
    return {name: None if rate != rate else round(rate, 6) for name, rate in named}
