"""What `raan fit` and `raan choose` found, in sentences. They state the outcome's verdict and decide nothing."""

from collections.abc import Iterator

from raan.errors import Option
from raan.fairness.metrics import attribute_accuracy
from raan.fairness.promise import Status
from raan.fairness.rule import Rule
from raan.fit.outcome import Outcome

STATUS = {Status.KEPT: "Fairer", Status.NOT_CONFIRMED: "Not confirmed", Status.CONTRADICTED: "Contradicted"}
"""The verdict in a word or two, as title, headline, card and page begin."""

BASELINE = "Baseline kept"

CONSTANT = "Nearly constant"
"""The verdict on a model that gives nearly all rows one class, whatever else is true of it."""

MOST_CHANGES = 8
"""Cells whose gains and losses are listed in words; of more, those that change most."""


def status(outcome: Outcome) -> str:
    """The verdict in a word or two."""
    if outcome.constant:
        return CONSTANT
    return STATUS[outcome.verdict.status] if outcome.improved else BASELINE


def title(outcome: Outcome) -> str:
    """The verdict, then what is predicted, in which table, for which groups."""
    facts = outcome.facts
    return f"{status(outcome)}: {facts.label} in {facts.source}, by {' × '.join(facts.attributes)}"


def verdict(outcome: Outcome) -> tuple[str, ...]:
    """The headline, then what supports or limits it."""
    first = (_CONSTANT.format(outcome.method),) if outcome.constant else ()
    return (*first, *(_changed(outcome) if outcome.improved else _plain(outcome)))


_CONSTANT = (
    f"{CONSTANT}: {{}} gives nearly all rows one class. Groups are treated alike because nobody is served, and no "
    "gap means anything. Accuracy is the wrong measure for so rare an outcome; do not use this model."
)


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
    better = f"is better for the aim within {budget(rule)}"
    if rule.limits:
        before = outcome.held_out[0]
        missed = [limit for limit in rule.limits if not limit.spare(before) >= 0]
        better = f"keeps the {' and the '.join(map(str, rule.limits))}"
        if missed:
            found = missed[0].measure
            better += f"; the baseline has a {found.title} of {found.format(float(found(before)))}"
    yield (
        f"{BASELINE}: the plain model is saved ({facts.plain_method}). Held-out rows support no "
        f"point of {families} that {better}{guard}."
    )
    yield facts.spell(
        *("A larger ", Option("accuracy_drop"), ", another ", Option("aim"), ", "),
        *(Option("no_guard", python="worst_group_drop=None"), ", a smaller ", Option("confidence")),
        ", or more rows may find one.",
    )


def budget(rule: Rule) -> str:
    """The budget in words: `0.5 points of accuracy`."""
    drop = rule.accuracy_drop
    amount = f"{100 * drop:g} point{'' if drop == 0.01 else 's'}" if rule.currency.unit else f"{drop:g}"
    return f"{amount} of {rule.currency.title}"


def _changed(outcome: Outcome) -> Iterator[str]:
    facts, goal, found = outcome.facts, outcome.rule.goal, outcome.verdict
    rule = outcome.rule
    aims = [limit.measure for limit in rule.limits] if rule.seeks_performance else [goal]
    plain, chosen = outcome.test[0], outcome.test[outcome.place]
    moves = []
    for aim in aims:
        before, after = (aim.format(float(aim(each))) for each in (plain, chosen))
        moves.append(f"the {aim.title} from {before.removesuffix(' %')} to {after}")
    cost = float(rule.currency(chosen) - rule.currency(plain))
    changed = f"{100 * cost:+.1f} points" if rule.currency.unit else f"{cost:+.3g}"
    yield (
        f"{status(outcome)}: on {facts.sizes[2]:,} test rows, {outcome.method} takes {' and '.join(moves)} and "
        f"changes {rule.currency.title} by {changed}, against plain {facts.plain_method}."
    )
    if found.status is Status.CONTRADICTED:
        yield f"Test rows contradict what was promised: {_list(outcome, Status.CONTRADICTED)}. {_advice(outcome)}"
    yield describe_changes(outcome)
    if found.of(Status.NOT_CONFIRMED):
        yield (
            f"Within chance on so few test rows, and so neither confirmed nor contradicted: "
            f"{_list(outcome, Status.NOT_CONFIRMED)}. More test rows would tell."
        )
    yield f"{_expected(outcome)}."


def describe_changes(outcome: Outcome) -> str:
    """Who gains and who loses, per 1,000 people of each class and group, on test rows."""
    facts = outcome.facts
    largest = sorted(outcome.changes, key=lambda each: -abs(each.per_1000.value))[:MOST_CHANGES]
    shown = [each for each in outcome.changes if each in largest]
    several = (
        f"{facts.groups[each.group]} of class {facts.classes[each.label]} {each.per_1000.value:+.0f} "
        f"({each.per_1000.low:+.0f} to {each.per_1000.high:+.0f})"
        for each in shown
    )
    return f"Right decisions per 1,000 people, against the baseline on test rows: {'; '.join(several)}."


def _advice(outcome: Outcome) -> str:
    other = ["a larger limit"] if outcome.rule.limits else ["a smaller ", Option("accuracy_drop")]
    return outcome.facts.spell(
        *("Do not rely on this model; more rows, ", *other, " or a larger ", Option("confidence")),
        " may give one that holds.",
    )


def _list(outcome: Outcome, status: Status) -> str:
    return "; ".join(f"{claim.title} {claim.promised}, {claim.note}" for claim in outcome.verdict.of(status))


def _expected(outcome: Outcome) -> str:
    """What new rows may expect."""
    promise, goal = outcome.promise, outcome.rule.goal
    lost, currency = promise.performance_loss, outcome.rule.currency
    cost = f"{lost.value:.3g} of {currency.title} ({lost.low:.3g} to {lost.high:.3g})"
    if currency.unit:
        cost = f"{100 * lost.value:.1f} points of {currency.title} ({100 * lost.low:.1f} to {100 * lost.high:.1f})"
    if outcome.rule.seeks_performance:
        return f"Held-out rows lost {cost}"
    value = promise.metrics[goal.metric]
    low, high = (goal.format(each).removesuffix(" %") for each in (value.low, value.high))
    return (
        f"Held-out rows had {'an' if goal.title[0] in 'aeiou' else 'a'} {goal.title} of "
        f"{goal.format(value.value)} ({low} to {high}) for {cost}"
    )


def inputs(outcome: Outcome) -> tuple[str, ...]:
    """Which inputs the model has, and what knowing the groups of new rows would change."""
    return tuple(_inputs(outcome))


def _inputs(outcome: Outcome) -> Iterator[str]:
    facts, rule = outcome.facts, outcome.rule
    crossed = " × ".join(facts.sensitive)
    if facts.control:
        yield f"Groups of {crossed} are compared within each value of {' × '.join(facts.control)} only."
    if facts.sees_attribute:
        because = "" if facts.in_python else ", as --keep-attribute asked"
        yield f"{crossed} is an input of this model{because}: new rows must state it."
    else:
        yield f"This model does not see {crossed}: new rows need not state it."
    asked = (rule.accuracy_drop, rule.worst_group_drop)
    if rule.goal.key not in facts.known or asked != facts.known_rule:
        return
    goal = rule.goal
    other, now = facts.known[goal.key], outcome.promise.metrics[goal.metric].value
    expected = f"the {goal.title} expected on held-out rows would be {goal.format(other)}"
    if goal.gain(other - now) > 0:
        yield (
            f"If {crossed} were known at prediction, with a threshold for each group, {expected} instead of "
            f"{goal.format(now)}; in some places using it is against the law."
        )
    else:
        yield (
            f"Knowing {crossed} at prediction would not help: with a threshold for each group, {expected}, and is "
            f"{goal.format(now)} without."
        )


def group_accuracies(outcome: Outcome, place: int) -> dict[str, float | None]:
    """The accuracy of each group on test rows; None where it has none."""
    rates = attribute_accuracy(outcome.test[place]).tolist()
    named = zip(outcome.facts.groups, rates, strict=True)
    return {name: None if rate != rate else round(rate, 6) for name, rate in named}
