"""What `raan fit` and `raan choose` found, in sentences. They state the outcome's verdict and decide nothing."""

from collections.abc import Iterator

from raan.fairness.aims import AIMS
from raan.fairness.metrics import attribute_accuracy
from raan.fairness.promise import Status
from raan.fit.outcome import Outcome

STATUS = {Status.KEPT: "Fairer", Status.NOT_CONFIRMED: "Not confirmed", Status.CONTRADICTED: "Contradicted"}
"""The verdict in a word or two, as title, headline, card and page begin."""

BASELINE = "Baseline kept"


def status(outcome: Outcome) -> str:
    """The verdict in a word or two."""
    return STATUS[outcome.verdict.status] if outcome.improved else BASELINE


def title(outcome: Outcome) -> str:
    """The verdict, then what is predicted, in which table, for which groups."""
    facts = outcome.facts
    return f"{status(outcome)}: {facts.label} in {facts.source}, by {' × '.join(facts.attributes)}"


def verdict(outcome: Outcome) -> tuple[str, ...]:
    """The headline, then what supports or limits it."""
    return tuple(_changed(outcome) if outcome.improved else _plain(outcome))


def sentence(outcome: Outcome) -> str:
    """The verdict as one paragraph."""
    return " ".join(verdict(outcome))


def _plain(outcome: Outcome) -> Iterator[str]:
    rule, facts = outcome.rule, outcome.facts
    families = " or ".join(facts.trained)
    guard = ""
    if rule.worst_group_drop is not None:
        guard = (
            f", with the worst-served group at most {100 * rule.worst_group_drop:g} points below the baseline's"
        )
    yield (
        f"{BASELINE}: the plain model is saved ({facts.plain_method}). In cross-validation, no point of "
        f"{families} is reliably better for the aim within {100 * rule.accuracy_drop:g} points of accuracy{guard}."
    )
    yield "A larger --accuracy-drop, another --aim, --no-floor, or more rows may find one."


def _changed(outcome: Outcome) -> Iterator[str]:
    facts, goal, found = outcome.facts, outcome.rule.goal, outcome.verdict
    aims = [goal] if goal.key in AIMS else [AIMS[key] for key, _ in outcome.rule.limits]
    plain, chosen = outcome.on_test
    moves = [f"the {aim.title} from {100 * aim.of(plain):.1f} to {100 * aim.of(chosen):.1f} %" for aim in aims]
    cost = 100 * float(chosen.accuracy - plain.accuracy)
    yield (
        f"{status(outcome)}: on {facts.sizes[2]:,} test rows, {outcome.method} takes {' and '.join(moves)} and "
        f"changes accuracy by {cost:+.1f} points, against plain {facts.plain_method}."
    )
    if found.status is Status.CONTRADICTED:
        yield f"Test rows contradict what was promised: {_list(outcome, Status.CONTRADICTED)}. {_advice(outcome)}"
    if found.of(Status.NOT_CONFIRMED):
        yield (
            f"Within chance on so few test rows, and so neither confirmed nor contradicted: "
            f"{_list(outcome, Status.NOT_CONFIRMED)}. A larger --test file would tell."
        )
    yield f"In cross-validation, {_expected(outcome)}."


def _advice(outcome: Outcome) -> str:
    other = "a larger limit" if outcome.rule.limits else "a smaller --accuracy-drop"
    return f"Do not rely on this model; more rows, {other} or a larger --confidence may give one that holds."


def _list(outcome: Outcome, status: Status) -> str:
    return "; ".join(f"{claim.title} {claim.promised}, {claim.note}" for claim in outcome.verdict.of(status))


def _expected(outcome: Outcome) -> str:
    """What new rows may expect."""
    promise, goal = outcome.promise, outcome.rule.goal
    lost = promise.accuracy_loss
    cost = f"{100 * lost.value:.1f} points of accuracy ({100 * lost.low:.1f} to {100 * lost.high:.1f})"
    if goal.key not in AIMS:
        return f"rows that did not choose lost {cost}"
    value = promise.metrics[goal.metric]
    return (
        f"rows that did not choose had {'an' if goal.title[0] in 'aeiou' else 'a'} {goal.title} of "
        f"{100 * value.value:.1f} % ({100 * value.low:.1f} to {100 * value.high:.1f}) for {cost}"
    )


def inputs(outcome: Outcome) -> tuple[str, ...]:
    """Which inputs the model has, and what knowing the groups of new rows would change."""
    return tuple(_inputs(outcome))


def _inputs(outcome: Outcome) -> Iterator[str]:
    facts, rule = outcome.facts, outcome.rule
    crossed = " × ".join(facts.attributes)
    if facts.sees_attribute:
        yield f"{crossed} is an input of this model, as --keep-attribute asked: new rows must state it."
    else:
        yield f"This model does not see {crossed}: new rows need not state it."
    asked = (rule.accuracy_drop, rule.worst_group_drop)
    if rule.goal.key not in facts.known or asked != facts.known_rule:
        return
    other = 100 * facts.known[rule.goal.key]
    now = 100 * outcome.promise.metrics[rule.goal.metric].value
    if rule.goal.gain(other - now) > 0:
        yield (
            f"If {crossed} were known at prediction, with a threshold for each group, the {rule.goal.title} "
            f"expected in cross-validation would be {other:.1f} instead of {now:.1f} %; in some places using it "
            "is against the law."
        )
    else:
        yield (
            f"Knowing {crossed} at prediction would not help: with a threshold for each group, the "
            f"{rule.goal.title} expected in cross-validation would be {other:.1f} %, and is {now:.1f} % without."
        )


def group_accuracies(outcome: Outcome, place: int) -> dict[str, float | None]:
    """The accuracy of each group on test rows; None where it has none."""
    rates = attribute_accuracy(outcome.test[place]).tolist()
    named = zip(outcome.facts.groups, rates, strict=True)
    return {name: None if rate != rate else round(rate, 6) for name, rate in named}
