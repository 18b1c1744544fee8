"""What `raan fit` and `raan choose` found, in plain words."""

from collections.abc import Iterator

from raan.fairness.aims import AIMS
from raan.fairness.metrics import attribute_accuracy
from raan.fit.outcome import Outcome


def title(outcome: Outcome) -> str:
    """What the model is about, and before all else whether test rows contradict what was promised."""
    return f"{NOT_FAIRER if not fairer(outcome) else ''}{subject(outcome)}"


NOT_FAIRER = "Not fairer: "


def subject(outcome: Outcome) -> str:
    """What is predicted, in which table, by which attribute; and a promise that is broken."""
    facts = outcome.facts
    broken = "a promise is broken: " if fairer(outcome) and outcome.broken else ""
    return (
        f"{broken}{facts.label} in {facts.source}, {'fairer ' * fairer(outcome)}by {' × '.join(facts.attributes)}"
    )


def fairer(outcome: Outcome) -> bool:
    """Whether the aim itself is better than the plain model's on test rows."""
    goal = outcome.rule.goal
    was, now = (float(goal.of(each)) for each in outcome.on_test)
    return outcome.improved and (goal.key not in AIMS or goal.gain(now - was) > 0)


def verdict(outcome: Outcome) -> tuple[str, ...]:
    """The headline, then what supports or limits it."""
    return tuple(_plain(outcome) if not outcome.improved else _changed(outcome))


def sentence(outcome: Outcome) -> str:
    """The verdict as one paragraph."""
    return " ".join(verdict(outcome))


def _plain(outcome: Outcome) -> Iterator[str]:
    rule, facts = outcome.rule, outcome.facts
    yield (
        f"Not fairer: the plain model is saved ({facts.plain_method}). Out of fold, no point of "
        f"{_families(outcome)} is reliably better for the aim within {100 * rule.accuracy_drop:g} points of "
        f"accuracy{_floor(outcome)}."
    )
    yield "A larger --accuracy-drop, another --aim, --no-floor, or more rows may find one."


def _changed(outcome: Outcome) -> Iterator[str]:
    facts, goal = outcome.facts, outcome.rule.goal
    aims = [goal] if goal.key in AIMS else [AIMS[key] for key, _ in outcome.rule.limits]
    plain, chosen = outcome.on_test
    moves = [f"the {aim.title} from {100 * aim.of(plain):.1f} to {100 * aim.of(chosen):.1f} %" for aim in aims]
    cost = 100 * float(chosen.accuracy - plain.accuracy)
    change = (
        f"On test rows, {outcome.method} takes {' and '.join(moves)} and changes accuracy by {cost:+.1f} points, "
        f"against plain {facts.plain_method}."
    )
    if outcome.broken:
        what = "A promise is broken" if fairer(outcome) else "Not fairer"
        yield f"{what}: on test rows {'; '.join(outcome.broken)}. {change}"
        yield (
            "What was seen out of fold does not show on test rows: it may have been chance. Do not rely on this "
            "model; more rows, a smaller --accuracy-drop or a larger --confidence may give one that holds."
        )
    else:
        yield change
    yield f"Out of fold, {_promised(outcome)}."


def _promised(outcome: Outcome) -> str:
    """What new rows may expect."""
    promise, goal = outcome.promise, outcome.rule.goal
    lost = promise.accuracy_loss
    cost = f"{100 * lost.value:.1f} points of accuracy ({100 * lost.low:.1f} to {100 * lost.high:.1f})"
    if goal.key not in AIMS:
        return f"new rows were promised a loss of {cost}"
    value = promise.metrics[goal.metric]
    return (
        f"new rows were promised {_article(goal.title)} {goal.title} of {100 * value.value:.1f} % "
        f"({100 * value.low:.1f} to {100 * value.high:.1f}) for {cost}"
    )


def _article(word: str) -> str:
    return "an" if word[0] in "aeiou" else "a"


def _families(outcome: Outcome) -> str:
    return " or ".join(outcome.facts.trained)


def _floor(outcome: Outcome) -> str:
    floor = outcome.rule.worst_group_drop
    if floor is None:
        return ""
    return f", with the worst-served group at most {100 * floor:g} points below the plain model's"


def regime(outcome: Outcome) -> tuple[str, ...]:
    """Which inputs the model has, and what knowing the groups of new rows would buy."""
    return tuple(_regime(outcome))


def _regime(outcome: Outcome) -> Iterator[str]:
    facts, rule = outcome.facts, outcome.rule
    crossed = " × ".join(facts.attributes)
    if facts.sees_attribute:
        yield f"{crossed} is an input of this model, as --keep-attribute asked: new rows must state it."
    else:
        yield f"This model does not see {crossed}: new rows need not state it."
    asked = (rule.accuracy_drop, rule.worst_group_drop)
    if rule.goal.key in facts.known and asked == facts.known_rule:
        other = 100 * facts.known[rule.goal.key]
        now = 100 * outcome.promise.metrics[rule.goal.metric].value
        if rule.goal.gain(other - now) > 0:
            yield (
                f"If {crossed} were known at prediction, with a threshold for each group, the {rule.goal.title} "
                f"promised out of fold would be {other:.1f} instead of {now:.1f} %; in some places using it is "
                "against the law."
            )
        else:
            yield (
                f"Knowing {crossed} at prediction would not help: with a threshold for each group, the "
                f"{rule.goal.title} promised out of fold would be {other:.1f} %, and is {now:.1f} % without."
            )


def group_accuracies(outcome: Outcome, place: int) -> dict[str, float | None]:
    """The accuracy of each group on test rows; None where it has none."""
    rates = attribute_accuracy(outcome.test[place]).tolist()
    named = zip(outcome.facts.groups, rates, strict=True)
    return {name: None if rate != rate else round(rate, 6) for name, rate in named}
