"""From what was fitted to what is saved: the outcome, the model and its plain twin."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from raan.fit.classifier import TableClassifier
from raan.fit.fit import Fit
from raan.fit.inspect import Probe, score_groups, shuffle_columns
from raan.fit.outcome import Facts, Outcome
from raan.fit.trade_off import TradeOff
from raan.tabular.preprocessing import Preprocessing


def conclude(fit: Fit, label: str, attributes: Sequence[str], source: str) -> Outcome:
    """All that is said of the model that is saved."""
    best, rows = fit.settled.best, fit.rows
    scores = {
        "plain": score_groups(fit.settled.reference.probabilities(0), rows),
        "chosen": score_groups(best.family.probabilities(best.place - best.shift), rows),
    }
    return Outcome(
        _facts(fit, label, attributes, source), best.frontier, best.test, best.switched, scores, _probe(fit)
    )


def _facts(fit: Fit, label: str, attributes: Sequence[str], source: str) -> Facts:
    loaded, best, reference = fit.loaded, fit.settled.best, fit.settled.reference
    return Facts(
        label=label,
        attributes=tuple(attributes),
        source=source,
        classes=fit.rows.classes,
        groups=fit.rows.groups,
        sizes=(len(fit.rows.training), loaded.rows - len(fit.rows.test), len(fit.rows.test)),
        cells=tuple(map(tuple, loaded.cells.tolist())),
        all_groups=loaded.attribute.names,
        columns=loaded.preprocessing.columns,
        minutes=fit.wish.seconds / 60,
        trained=tuple(each.family.title for each in fit.settled.trade_offs),
        method=describe(best),
        plain_method=reference.title,
        own_plain=best.family is reference,
        known=fit.known,
        known_rule=(fit.wish.accuracy_drop, fit.wish.worst_group_drop),
        notes=(*fit.notes, *_say_embedded(loaded.preprocessing)),
        warnings=loaded.warnings,
    )


def _say_embedded(preprocessing: Preprocessing) -> Iterator[str]:
    """A note on each column of texts or images: what made it numbers."""
    for name, encoder in preprocessing.encoders.items():
        yield (
            f"{name!r} holds {encoder.kind}s, embedded by {encoder} (fingerprint {encoder.fingerprint[:12]}). "
            "What the encoder learnt elsewhere, prejudice included, is in its numbers."
        )


def describe(trade_off: TradeOff) -> str:
    """What a fair point of the trade-off is, in words; of networks, the one that is taken."""
    family = trade_off.family
    if family.steps:
        return f"networks by {family.steps[trade_off.place - trade_off.shift][0]}"
    return f"{family.title} under FairFrontier"


def _probe(fit: Fit) -> Probe:
    """What the saved model says of test rows with each column shuffled."""
    best = fit.settled.best
    own = best.family.at(best.place - best.shift)
    if own is None:
        return shuffle_columns(fit.rows, best.frontier.posterior)
    classes = np.eye(len(fit.rows.classes))
    return shuffle_columns(fit.rows, lambda features: classes[np.asarray(own.predict(features))][:, :, None])


def models(fit: Fit, outcome: Outcome) -> tuple[TableClassifier, TableClassifier]:
    """The model to save, and its plain twin, which all was held against."""
    saved = _table_classifier(fit, outcome, fit.settled.best.classifier, outcome.method)
    plain = _table_classifier(fit, outcome, fit.settled.reference.plain(), outcome.facts.plain_method)
    return saved, plain


def _table_classifier(fit: Fit, outcome: Outcome, classifier: Any, method: str) -> TableClassifier:
    return TableClassifier(fit.loaded.preprocessing, classifier, fit.rows.classes, about(outcome, method))


def about(outcome: Outcome, method: str) -> dict[str, Any]:
    """How a model was made, in a few plain values."""
    rule, facts = outcome.rule, outcome.facts
    return {
        "method": method,
        "label": facts.label,
        "attributes": facts.attributes,
        "aim": rule.aim,
        "accuracy_drop": float(rule.accuracy_drop),
        "worst_group_drop": rule.worst_group_drop,
    }
