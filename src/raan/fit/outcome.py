"""The result of a fit: one object that the page, the card, the JSON and the terminal's table are rendered from."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from raan.errors import Message, Option, in_python, in_shell, spell
from raan.fairness.counts import Counts
from raan.fairness.evidence import Switched, is_constant
from raan.fairness.measures import ACCURACY, AIMS, Limit, Measure
from raan.fairness.metrics import Metrics, metrics
from raan.fairness.promise import Change, Promise, Status, Verdict, check_against_plain, find_changes
from raan.fairness.rule import BUDGETS, Rule
from raan.fit.inspect import GroupScores, Probe
from raan.frontier.choice import choose
from raan.frontier.estimator import FairFrontier
from raan.frontier.plan import Points
from raan.io.files import CorruptModel, check_archive, inside, reraise_as_corrupt

FILE = "outcome.npz"


@dataclass(frozen=True)
class Facts:
    """What is known of the table and of the training, in plain values."""

    label: str
    attributes: tuple[str, ...]
    source: str
    classes: tuple[str, ...]
    groups: tuple[str, ...]  # those that are large enough to evaluate
    sizes: tuple[int, int, int]  # rows that trained, that evaluated the points, and test rows
    cells: tuple[tuple[int, ...], ...]  # rows of each class and each of `all_groups`
    all_groups: tuple[str, ...]
    columns: tuple[str, ...]
    minutes: float
    trained: tuple[str, ...]  # the kinds of model
    method: str  # what a fair point is, in words
    plain_method: str
    own_plain: bool  # whether the baseline is of the saved model's kind
    known: Mapping[str, float]  # by aim, what could be expected if groups were known at prediction
    known_rule: tuple[float, float | None]  # the accuracy budget and the guard that this is for
    notes: tuple[str, ...]
    warnings: tuple[str, ...]  # about the data
    command: str = ""  # the one that made the model
    control: tuple[str, ...] = ()  # those of the attributes within whose values groups are compared
    fingerprint: str = ""  # of the training rows
    in_python: bool = False  # whether Python made the model, and its options are to be named as there

    @property
    def sees_attribute(self) -> bool:
        """Whether the attribute is an input of the model."""
        return bool(set(self.sensitive) & set(self.columns))

    @property
    def sensitive(self) -> tuple[str, ...]:
        """The columns of the groups that are compared, without those that they are compared within."""
        return tuple(name for name in self.attributes if name not in self.control)

    def spell(self, *parts: str | Option) -> str:
        """Text with its options named as in Python, or as on the command line."""
        return spell(Message(*parts), in_python if self.in_python else in_shell())


class Choice(NamedTuple):
    """What a reader may ask for, and the point of the trade-off that `raan choose` would save for it."""

    aim: str
    accuracy_drop: float
    worst_group_drop: float | None  # None: without the guard
    point: int


@dataclass(frozen=True, eq=False)
class Outcome:
    """The points of a trade-off on held-out rows and on test rows, the chosen one, and what is promised of it.

    Point 0 is the baseline. Counts are [.., class, group or unknown, predicted class]; `switched` are the test
    rows that are right at one of point and baseline only.
    """

    facts: Facts
    points: Points  # on held-out rows
    rule: Rule
    place: int
    promise: Promise
    test: Counts
    switched: Switched
    scores: Mapping[str, Sequence[GroupScores]]  # "plain" and "chosen", on test rows
    probe: Probe

    @property
    def improved(self) -> bool:
        """Whether the saved model is another than the baseline."""
        return self.place > 0

    @property
    def method(self) -> str:
        """What the saved model is, in words."""
        return self.facts.method if self.improved else self.facts.plain_method

    @cached_property
    def held_out(self) -> Counts:
        """The decisions of each point on training rows, by models that have not seen them."""
        return self.points.counts

    @cached_property
    def on_test(self) -> tuple[Metrics, Metrics]:
        """The metrics of the baseline and of the saved model on test rows."""
        return metrics(self.test[0]), metrics(self.test[self.place])

    @cached_property
    def verdict(self) -> Verdict:
        """What test rows say of the promise. The baseline promises nothing against itself."""
        if not self.improved:
            return Verdict(())
        chosen, plain = self.test[self.place], self.test[0]
        against = check_against_plain(self.rule, chosen, plain, self.switched[self.place])
        return Verdict((*against.claims, *self.promise.check(self.rule, chosen).claims))

    @cached_property
    def constant(self) -> bool:
        """Whether the saved model gives nearly all rows one class, on held-out rows or on test rows."""
        return any(bool(is_constant(each[self.place])) for each in (self.held_out, self.test))

    @cached_property
    def aims(self) -> dict[str, Measure]:
        """The aims that a reader may ask for: those with names, and the model's own."""
        own = {} if self.rule.seeks_performance else {self.rule.goal.key: self.rule.goal}
        return {key: aim.at(self.rule.positive, self.rule.strata) for key, aim in AIMS.items()} | own

    @cached_property
    def changes(self) -> list[Change]:
        """Who gains and who loses on test rows."""
        return find_changes(self.test[self.place], self.test[0], self.switched[self.place])

    @property
    def contradicted(self) -> bool:
        """Whether test rows contradict what was promised."""
        return self.verdict.status is Status.CONTRADICTED

    @cached_property
    def choices(self) -> tuple[Choice, ...]:
        """The point that `raan choose` takes for each aim, accuracy budget and guard."""
        return tuple(self._choices())

    def _choices(self) -> Iterator[Choice]:
        own = self.rule.accuracy_drop
        drops = sorted(BUDGETS if self.rule.seeks_performance else {*BUDGETS, own})
        if self.rule.performance != ACCURACY.key and not self.rule.seeks_performance:
            drops = sorted({0.0, own / 2, own, 2 * own, 4 * own})
        guards = dict.fromkeys((0.0, None, self.rule.worst_group_drop))
        for aim in self.aims:
            rule = replace(self.rule, aim=aim, limits=()).with_noise_of(self.held_out[0])
            for drop, guard in product(drops, guards):
                asked = replace(rule, accuracy_drop=drop, worst_group_drop=guard)
                yield Choice(aim, drop, guard, choose(self.points, asked).place)

    def choose(self, frontier: FairFrontier, notes: Sequence[str] = (), command: str = "") -> "Outcome":
        """The same trade-off with the choice that a FairFrontier over its points has made."""
        facts = replace(self.facts, notes=(*self.facts.notes, *notes), command=command or self.facts.command)
        return replace(
            self,
            facts=facts,
            rule=frontier.frontier_.rule,
            place=frontier.frontier_.chosen_place,
            promise=frontier.promise_,
        )

    def about(self, method: str) -> dict[str, Any]:
        """How a model was made, in a few plain values that are saved with it."""
        return {
            "method": method,
            "label": self.facts.label,
            "attributes": self.facts.attributes,
            "aim": self.rule.aim,
            "accuracy_drop": float(self.rule.accuracy_drop),
            "worst_group_drop": self.rule.worst_group_drop,
        }

    def to_dict(self) -> dict[str, Any]:
        """What was found, for JSON; `validation` is on held-out rows."""
        return {
            "aim": self.rule.aim,
            "performance": self.rule.performance,
            "accuracy_drop": float(self.rule.accuracy_drop),
            "worst_group_drop": self.rule.worst_group_drop,
            "guard": self.rule.guard,
            "limits": [str(limit) for limit in self.rule.limits],
            "positive": self.facts.classes[self.rule.positive],
            "improved": self.improved,
            "nearly_constant": self.constant,
            "verdict": self.verdict.to_dict(),
            "plain": self._describe(0, self.facts.plain_method),
            "chosen": self._describe(self.place, self.method),
            "promise": {
                name: [_number(math.nan if each is None else each) for each in bounds]
                for name, bounds in self.promise.to_dict()["metrics"].items()
            },
            "changes_per_1000": [
                {
                    "class": self.facts.classes[each.label],
                    "group": self.facts.groups[each.group],
                    "people": each.people,
                    **{name: round(getattr(each.per_1000, name), 2) for name in ("value", "low", "high")},
                }
                for each in self.changes
            ],
            "notes": [*self.facts.warnings, *self.facts.notes],
        }

    def _describe(self, place: int, method: str) -> dict[str, Any]:
        found = {"validation": self.held_out[place], "test": self.test[place]}
        numbers = {
            part: {each.metric: _number(float(each(counts))) for each in self.rule.measures}
            for part, counts in found.items()
        }
        return {"method": method, "point": place, **numbers}

    def save(self, folder: Path) -> None:
        """Write the outcome into a folder. No row is in it but for some test rows' probabilities."""
        words = {
            "facts": asdict(self.facts),
            "rule": asdict(self.rule)
            | {"limits": [(each.measure.key, each.side, each.value) for each in self.rule.limits]},
            "place": self.place,
            "promise": self.promise.to_dict(),
            "scores": {who: [_curves(each) for each in several] for who, several in self.scores.items()},
            "columns": self.probe.columns,
        }
        np.savez_compressed(
            folder / FILE,
            words=np.array(json.dumps(words, ensure_ascii=False)),
            test=self.test,
            test_switched=self.switched,
            label=self.probe.label,
            group=self.probe.group,
            posterior=self.probe.posterior,
            **{f"point_{each.name}": getattr(self.points, each.name) for each in fields(Points)},
        )

    @classmethod
    def load(cls, folder: Path) -> "Outcome":
        """Read what `save` wrote; nothing in the file is executed."""
        file = inside(folder, FILE)
        if not file.is_file():
            older = (folder / "results.jsonl").is_file()
            hint = "it is of raan 0.2, so fit the model again" if older else "expected one that `raan fit` wrote"
            raise ValueError(f"{folder} has no {FILE}; {hint}")
        with reraise_as_corrupt(file):
            check_archive(file)
        with reraise_as_corrupt(file), np.load(file, allow_pickle=False) as stored:
            words = json.loads(str(stored["words"]))
            arrays: dict[str, Any] = {each.name: stored[f"point_{each.name}"] for each in fields(Points)}
            points = Points(**arrays)
            test, switched = (stored[name].astype(np.float64) for name in ("test", "test_switched"))
            expected = points.counts.shape
            if test.shape != expected or switched.shape != expected[:-1] or not 0 <= words["place"] < len(test):
                raise CorruptModel(f"{file} has counts of shape {test.shape} for points of shape {expected}")
            positive = int(words["rule"]["positive"])
            strata = tuple(tuple(map(int, each)) for each in words["rule"]["strata"])
            limits = tuple(
                Limit.read(str(name), side, float(value)).at(positive, strata)
                for name, side, value in words["rule"]["limits"]
            )
            rule = {**words["rule"], "limits": limits, "strata": strata}
            return cls(
                _facts(words["facts"]),
                points,
                Rule(**rule),
                int(words["place"]),
                Promise.from_dict(words["promise"]),
                test,
                switched,
                {who: tuple(_scores(each) for each in several) for who, several in words["scores"].items()},
                Probe(tuple(map(str, words["columns"])), stored["label"], stored["group"], stored["posterior"]),
            )


def _number(value: float) -> float | None:
    return None if math.isnan(value) else round(value, 6)


def _curves(scores: GroupScores) -> list[Any]:
    return [scores.group, scores.roc.tolist(), scores.calibration.tolist()]


def _scores(stored: Sequence[Any]) -> GroupScores:
    group, roc, calibration = stored
    return GroupScores(str(group), _pairs(roc), _pairs(calibration))


def _pairs(values: Any) -> Float[np.ndarray, "place two"]:
    return np.asarray(values, float).reshape(-1, 2)


def _facts(stored: Mapping[str, Any]) -> Facts:
    """The facts, lists as tuples again."""
    values: dict[str, Any] = {field.name: stored[field.name] for field in fields(Facts) if field.name in stored}
    values["cells"] = tuple(tuple(row) for row in values["cells"])
    values |= {name: tuple(each) for name, each in values.items() if isinstance(each, list)}
    return Facts(**values)
