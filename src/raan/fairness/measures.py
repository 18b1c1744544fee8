"""A glossary of what can be measured of decisions, overall and by group.

A `Rate` is a formula over the cells of the confusion matrix, such as "tp / (tp + fn)". It has a value for all
people and one for every group; `recall.gap`, `recall.ratio`, `recall.min` and `recall.max` compare the groups, and
are measures like `recall` itself. A new rate is one line, and works wherever a named one does:

    regret = Rate("fn / (tn + fn)", "share wrongly among those who are not selected", better=False)
    FairFrontier(classifier, aim=regret.gap, performance=balanced_accuracy)

Rates can be added and so on, and all of this can be written as text, as the command line does: "precision.gap",
"(recall + specificity) / 2", "cost(fp=1, fn=5)", "(fn / (tn + fn)).max".

Of two classes the positive one counts, the second unless `at` gives another. Of more, each class counts against
the rest: a gap is the largest over the classes, a minimum the smallest, a value for all people their mean.
Undefined is nan, never 0.
"""

import ast
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from jaxtyping import Float

from raan.errors import InputError, Option, is_number, nearest
from raan.fairness.counts import Counts
from raan.fairness.metrics import Metrics

Values: TypeAlias = Float[np.ndarray, "*lead"]
OfClasses: TypeAlias = Float[np.ndarray, "*lead slot class"]

Strata: TypeAlias = tuple[tuple[int, ...], ...]
"""Groups that are compared with each other only, by their numbers; () compares all groups."""

COMPARISONS = ("gap", "ratio", "min", "max", "mean_gap", "overall")
"""How a rate becomes one number; `mean_gap` is the mean difference over all pairs of groups."""

LONGEST = 500
"""Characters of a formula."""

CLASSES = ("positive", "every", "mean")


@dataclass(frozen=True)
class Rate:
    """A formula over tp, fn, fp, tn (of one class against the rest), right (of all classes) and other rates.

    Args:
        formula: for example "tp / (tp + fn)".
        title: what tables call it; the formula by default.
        better: whether more of it is better; None where neither is.
        classes: of two classes, "positive" measures the positive one, "every" both, one by one, and "mean" their
            mean.
        unit: "%" for shares, "" for other numbers.
        key: its name in formulas, if it is in the glossary.
    """

    formula: str
    title: str = ""
    better: bool | None = True
    classes: Literal["positive", "every", "mean"] = "positive"
    unit: str = "%"
    key: str = ""
    positive: int = -1

    def __post_init__(self) -> None:
        """Raise an InputError for a formula or an option that means nothing."""
        if self.key:
            return
        _check(parse(self.formula), within=True)
        object.__setattr__(self, "title", self.title or self.formula)
        for name, known in (("better", (True, False, None)), ("classes", CLASSES), ("unit", ("%", ""))):
            if getattr(self, name) not in known:
                raise InputError(Option(name), f"is {getattr(self, name)!r}", f"one of {known}")

    @property
    def text(self) -> str:
        """The rate as a part of formulas."""
        if self.key:
            return self.key
        plain = rate_of(parse(self.formula))
        own = ("title", "better", "classes", "unit")
        options = [
            f"{name}={getattr(self, name)!r}" for name in own if getattr(self, name) != getattr(plain, name)
        ]
        if options:
            return f"rate({', '.join([repr(self.formula), *options])})"
        return self.formula if re.fullmatch(r"\w+(\([^()]*\))?", self.formula) else f"({self.formula})"

    @property
    def gap(self) -> "Measure":
        """The largest difference between two groups."""
        meaning = f"all groups have the same {self.title}"
        return self._compare("gap", f"{self.title} gap", meaning, False)

    @property
    def mean_gap(self) -> "Measure":
        """The mean difference over all pairs of groups."""
        meaning = f"all groups have a similar {self.title}"
        return self._compare("mean_gap", f"mean {self.title} gap", meaning, False)

    @property
    def ratio(self) -> "Measure":
        """The smallest value of a group over the largest; of selection rates the adverse impact ratio."""
        meaning = f"the lowest {self.title} of a group is near the highest"
        return replace(self._compare("ratio", f"{self.title} ratio", meaning, True), unit="")

    @property
    def min(self) -> "Measure":
        """The smallest value of a group."""
        better = self.better is not False
        meaning = f"the lowest {self.title} of a group is as {'high' if better else 'low'} as possible"
        return self._compare("min", f"lowest {self.title}", meaning, better)

    @property
    def max(self) -> "Measure":
        """The largest value of a group."""
        better = self.better is True
        meaning = f"the highest {self.title} of a group is as {'high' if better else 'low'} as possible"
        return self._compare("max", f"highest {self.title}", meaning, better)

    @property
    def overall(self) -> "Measure":
        """Its value for all people, those of unknown attribute included."""
        better = self.better is not False
        meaning = f"the {self.title} is as {'high' if better else 'low'} as possible"
        return self._compare("", self.title, meaning, better)

    def _compare(self, how: str, title: str, meaning: str, better: bool) -> "Measure":
        key = f"{self.text}.{how}" if how else self.text
        return Measure(key, title, title, better, meaning=meaning, unit=self.unit, positive=self.positive)

    def at(self, positive: int) -> "Rate":
        """The same with another positive class, by its number."""
        return replace(self, positive=positive)

    def by_class(self, counts: Counts, min_count: float = 1) -> OfClasses:
        """Its value for each slot of the attribute axis and each class that it measures."""
        value = np.asarray(_Evaluator(counts, min_count, self.positive).of_classes(parse(self.formula)))
        value = np.broadcast_to(value, (*counts.shape[:-3], counts.shape[-2], counts.shape[-1]))
        if self.classes == "mean":
            return np.asarray(value.mean(-1, keepdims=True))
        return value[..., [self.positive]] if counts.shape[-1] == 2 and self.classes == "positive" else value

    def by_group(self, counts: Counts, min_count: float = 1) -> Float[np.ndarray, "*lead group"]:
        """Its value for each group; of several classes their mean."""
        return np.asarray(self.by_class(counts[..., :-1, :], min_count).mean(-1))

    def __call__(self, counts: Counts, min_count: float = 1) -> Values:
        """Its value for all people."""
        return self.overall(counts, min_count)

    def _join(self, sign: str, other: Any, swapped: bool = False) -> "Rate":
        if not isinstance(other, Rate | int | float):
            raise TypeError(f"a rate cannot be combined with {other!r}; expected a rate or a number")
        texts = [self.text, other.text if isinstance(other, Rate) else f"{other!r}"]
        return replace(
            self, formula=f" {sign} ".join(texts[::-1] if swapped else texts), title="", key="", classes="positive"
        )

    def __add__(self, other: Any) -> "Rate":
        return self._join("+", other)

    def __radd__(self, other: Any) -> "Rate":
        return self._join("+", other, swapped=True)

    def __sub__(self, other: Any) -> "Rate":
        return self._join("-", other)

    def __rsub__(self, other: Any) -> "Rate":
        return self._join("-", other, swapped=True)

    def __mul__(self, other: Any) -> "Rate":
        return self._join("*", other)

    def __rmul__(self, other: Any) -> "Rate":
        return self._join("*", other, swapped=True)

    def __truediv__(self, other: Any) -> "Rate":
        return self._join("/", other)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"Rate({self.text})"


@dataclass(frozen=True)
class Measure:
    """One number of decisions, such as a rate's gap between groups.

    Attributes:
        key: its name, or the formula that it is read from.
        title, short, meaning: what tables and sentences call it, and what it asks for as an aim.
        more_is_better: whether more of it is better.
        formula: how it is calculated; the key by default.
        unit: "%" for shares, "" for other numbers.
        metric: its name among the `Metrics` of a training path, where it is one of them.
        strata: groups that are compared with each other only; the largest gap, or the smallest ratio, counts.
    """

    key: str
    title: str
    short: str
    more_is_better: bool
    formula: str = ""
    meaning: str = ""
    unit: str = "%"
    metric: str = ""
    positive: int = -1
    strata: Strata = ()

    def __post_init__(self) -> None:
        """Fill in the names that follow from the key."""
        for name in ("formula", "metric"):
            object.__setattr__(self, name, getattr(self, name) or self.key)

    @property
    def option(self) -> str:
        """The measure as the command line spells it."""
        return self.key.replace("_", "-") if re.fullmatch(r"[\w.]+", self.key) else self.key

    @property
    def compares_groups(self) -> bool:
        """Whether it needs the attribute."""
        return any(isinstance(node, ast.Attribute) and node.attr != "overall" for node in ast.walk(self._tree))

    @property
    def _tree(self) -> ast.expr:
        return parse(self.formula)

    def at(self, positive: int, strata: Strata = ()) -> "Measure":
        """The same with another positive class, by its number, or between the groups of each stratum only."""
        return replace(self, positive=positive, strata=strata)

    def __call__(self, counts: Counts, min_count: float = 1) -> Values:
        """Its value for counts of decisions, [..., class, group or unknown, predicted class]."""
        return np.asarray(_Evaluator(counts, min_count, self.positive, self.strata).of_all(self._tree))

    def of(self, metrics: Metrics) -> Values:
        """Its value among the metrics of a training path."""
        value: np.ndarray = getattr(metrics, self.metric)
        return value

    def loss(self, metrics: Metrics) -> Values:
        """How far the metrics of a training path are from the best; less is better."""
        return self.to_loss(self.of(metrics))

    def loss_of(self, counts: Counts) -> Values:
        """How far counts are from the best; less is better."""
        return self.to_loss(self(counts))

    def to_loss(self, value: Any) -> Values:
        """How far a value is from the best; less is better."""
        return np.asarray(1 - value) if self.more_is_better else np.asarray(value)

    def gain(self, difference: Any) -> Any:
        """A difference with the sign that makes better positive."""
        return difference if self.more_is_better else -difference

    def format(self, value: float) -> str:
        """A value as people read it."""
        return f"{100 * value:.1f} %" if self.unit == "%" else f"{value:.3g}"

    def __str__(self) -> str:
        return self.key

    def __repr__(self) -> str:
        return f"Measure({self.key})"


@dataclass(frozen=True)
class Limit:
    """A measure may be at most, or must be at least, so much."""

    measure: Measure
    side: Literal["at most", "at least"]
    value: float

    @classmethod
    def read(cls, name: Any, side: Literal["at most", "at least"], value: Any) -> "Limit":
        """Read a limit as users give it: "at most" of an aim that counts what is right limits its error.

        Raises:
            InputError: for a measure without meaning, or a value that it can never have.
        """
        argument = side.replace(" ", "_")
        measure = read_measure(name, argument)
        largest = 1.0 if measure.key != "equalized_odds" else 2.0
        if not is_number(value) or not (0 <= value <= largest or (not measure.unit and value >= 0)):
            raise InputError(
                Option(argument),
                f"limits {measure.key} to {value!r}",
                f"a share from 0 to {largest:g}; 0.05 is 5 points",
            )
        if side == "at most" and measure.key in AIMS and measure.more_is_better:
            return cls(measure, "at least", 1 - float(value))
        return cls(measure, side, float(value))

    def spare(self, counts: Counts) -> Values:
        """How far the counts are within the limit; negative where they are beyond it."""
        found = self.measure(counts)
        return np.asarray(self.value - found if self.side == "at most" else found - self.value)

    def at(self, positive: int, strata: Strata = ()) -> "Limit":
        """The same with another positive class, by its number, or between the groups of each stratum only."""
        return replace(self, measure=self.measure.at(positive, strata))

    def __str__(self) -> str:
        return f"{self.measure.title} {self.side} {self.measure.format(self.value)}"


@lru_cache(1000)
def parse(formula: str) -> ast.expr:
    """Read a formula as an expression of Python's; nothing of it is ever executed by Python."""
    try:
        if len(formula) > LONGEST:
            raise ValueError("it is too long")
        return ast.parse(formula.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise InputError("the formula", f"{formula[:LONGEST]!r} cannot be read ({error})", EXPECTED) from None


EXPECTED = (
    "the name of a measure (`raan measures` lists them), or a formula such as precision.gap, cost(fp=1, fn=5), "
    "(recall + specificity) / 2 or (fn / (tn + fn)).max"
)

OPERATORS: Mapping[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
}
FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "sqrt": np.sqrt,
    "abs": np.abs,
    "smallest": lambda *several: np.minimum.reduce(np.broadcast_arrays(*several)),
    "largest": lambda *several: np.maximum.reduce(np.broadcast_arrays(*several)),
}
WITHIN: Mapping[str, Callable[..., Any]] = {
    "gap": np.maximum.reduce,
    "ratio": np.minimum.reduce,
    "mean_gap": np.maximum.reduce,
}
"""Comparisons between groups that are made within strata, and which stratum counts."""

CELLS = ("tp", "fn", "fp", "tn", "right")


def cost(*, fp: float = 1.0, fn: float = 1.0) -> Rate:
    """The mean cost of a decision, where a false positive costs `fp` and a false negative `fn`.

    >>> cost(fp=1, fn=5).text
    'cost(fp=1, fn=5)'
    """
    _check_costs(fp=fp, fn=fn)
    return Rate(f"cost(fp={fp:g}, fn={fn:g})", better=False, unit="")


def _check_costs(**costs: Any) -> None:
    for name, value in costs.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e6:
            raise InputError(Option(name), f"is {value!r}", "a cost from 0 up")


class _Evaluator(NamedTuple):
    """Values of formulas for some counts."""

    counts: Counts
    min_count: float
    positive: int
    strata: Strata = ()

    def of_all(self, node: ast.expr) -> Any:
        """Return the value of a measure: rates are compared between groups, or measured overall."""
        if isinstance(node, ast.Attribute):
            rate = rate_of(node.value).at(self.positive)
            if not self.strata or node.attr not in WITHIN:
                return _reduce(node.attr, rate, self.counts, self.min_count)
            parts = (self.counts[..., [*stratum, -1], :] for stratum in self.strata)
            return WITHIN[node.attr]([_reduce(node.attr, rate, part, self.min_count) for part in parts])
        if isinstance(node, ast.Constant):
            return float(node.value)  # type: ignore[arg-type]
        if isinstance(node, ast.Name) and node.id in AIMS:
            return self.of_all(AIMS[node.id]._tree)
        if _compares(node):
            return self._apply(node, self.of_all)
        return _reduce("overall", rate_of(node).at(self.positive), self.counts, self.min_count)

    def of_classes(self, node: ast.expr) -> Any:
        """Return the value of a rate for each slot of the attribute axis and each class."""
        if isinstance(node, ast.Constant):
            return float(node.value)  # type: ignore[arg-type]
        if isinstance(node, ast.Name):
            return self._cell(node.id) if node.id in CELLS else self._named(RATES[node.id])
        if _is_call(node, "rate"):
            return self._named(rate_of(node))
        if isinstance(node, ast.Call) and _is_call(node, "cost"):
            costs = {each.arg: float(ast.literal_eval(each.value)) for each in node.keywords}
            wrong = sum(costs.get(name, 1.0) * self._cell(name) for name in ("fp", "fn"))
            return self._divide(wrong, sum(self._cell(name) for name in CELLS[:4]), self.min_count)
        return self._apply(node, self.of_classes)

    def _apply(self, node: ast.expr, value: Callable[[ast.expr], Any]) -> Any:
        if isinstance(node, ast.UnaryOp):
            return -value(node.operand)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            return FUNCTIONS[node.func.id](*map(value, node.args))
        assert isinstance(node, ast.BinOp)
        left, right = value(node.left), value(node.right)
        if not isinstance(node.op, ast.Div):
            return OPERATORS[type(node.op)](left, right)
        people = value == self.of_classes and _counts_people(node.right)
        return self._divide(left, right, self.min_count if people else 0)

    def _divide(self, left: Any, right: Any, least: float) -> Any:
        right = np.asarray(right, dtype=np.float64)
        return left / np.where((right < least) | (right == 0), np.nan, right)

    def _cell(self, name: str) -> OfClasses:
        counts = self.counts
        right = np.diagonal(counts, axis1=-3, axis2=-1)  # [..., slot, class]
        if name == "right":
            return np.asarray(right.sum(-1, keepdims=True))
        actual, predicted = counts.sum(-1).swapaxes(-1, -2), counts.sum(-3)
        return np.asarray(
            {
                "tp": right,
                "fn": actual - right,
                "fp": predicted - right,
                "tn": counts.sum((-1, -3))[..., None] - actual - predicted + right,
            }[name]
        )

    def _named(self, rate: Rate) -> Any:
        value = self.of_classes(parse(rate.formula))
        return value.mean(-1, keepdims=True) if rate.classes == "mean" else value


def _counts_people(node: ast.expr) -> bool:
    """Whether a part of a formula is a sum of cells, which `min_count` applies to."""
    return all(not isinstance(each, ast.Name) or each.id in CELLS for each in ast.walk(node)) and any(
        isinstance(each, ast.Name) for each in ast.walk(node)
    )


def _compares(node: ast.expr) -> bool:
    """Whether there is a comparison of groups within a part of a formula."""
    return any(
        isinstance(each, ast.Attribute) or (isinstance(each, ast.Name) and each.id in AIMS)
        for each in ast.walk(node)
    )


def _reduce(how: str, rate: Rate, counts: Counts, min_count: float) -> Values:
    """Compare a rate between groups, or measure it for all people."""
    if how == "overall":
        every = rate.by_class(counts.sum(-2, keepdims=True), min_count)[..., 0, :]
        # The mean of equal numbers may be another number.
        return np.asarray(np.where((every == every[..., :1]).all(-1), every[..., 0], every.mean(-1)))
    value = rate.by_class(counts[..., :-1, :], min_count)
    if how == "min":
        return np.asarray(value.min((-1, -2)))
    if how == "max":
        return np.asarray(value.max((-1, -2)))
    groups = value.shape[-2]
    if groups < 2:
        return np.full(value.shape[:-2], np.nan)
    low, high = value.min(-2), value.max(-2)
    if how == "gap":
        return np.asarray((high - low).max(-1))
    if how == "ratio":
        return np.asarray(np.where(high == 0, 1.0, low / np.where(high == 0, 1.0, high)).min(-1))
    # Each value is the larger one of as many pairs as there are smaller ones.
    signs = 2 * np.arange(groups) - (groups - 1)
    pairs = groups * (groups - 1) / 2
    return np.asarray((np.sort(value, axis=-2) * signs[:, None]).sum(-2).max(-1) / pairs)


def rate_of(node: ast.expr) -> Rate:
    """The rate that a part of a formula is; the better direction is that of the first rate in it."""
    if isinstance(node, ast.Name) and node.id in RATES:
        return RATES[node.id]
    if isinstance(node, ast.Call) and _is_call(node, "rate"):
        options = {str(each.arg): ast.literal_eval(each.value) for each in node.keywords}
        return Rate(ast.literal_eval(node.args[0]), **options)
    text, names = ast.unparse(node), [each.id for each in ast.walk(node) if isinstance(each, ast.Name)]
    if "cost" in names:
        return Rate(text, text, better=False, unit="")
    named = [RATES[name] for name in names if name in RATES]
    better = named[0].better if named else not {"fp", "fn"} & {*_numerator(node)}
    return Rate(text, text.replace("_", " "), better)


def _numerator(node: ast.expr) -> list[str]:
    """The cells that the first fraction of a formula counts."""
    top = node.left if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div) else node
    return [each.id for each in ast.walk(top) if isinstance(each, ast.Name)]


def _check(node: ast.expr, *, within: bool = False) -> None:
    """Raise an InputError for anything in a formula that has no meaning here."""
    if isinstance(node, ast.Attribute):
        if within or node.attr not in COMPARISONS:
            raise _wrong(node.attr, COMPARISONS)
        _check(node.value, within=True)
    elif isinstance(node, ast.Name):
        known = {*CELLS, *RATES, *({} if within else AIMS)}
        if node.id not in known:
            raise _wrong(node.id, sorted(known - {*CELLS}))
    elif (
        isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool)
    ):
        pass
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div | ast.Add | ast.Sub | ast.Mult):
        _check(node.left, within=within)
        _check(node.right, within=within)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        _check(node.operand, within=within)
    elif isinstance(node, ast.Call) and _is_call(node, "rate"):
        named = {each.arg for each in node.keywords} <= {"title", "better", "classes", "unit"}
        if (
            len(node.args) != 1
            or not named
            or not all(_is_constant(each) for each in (*node.args, *node.keywords))
        ):
            raise InputError("the formula", f"has {ast.unparse(node)}", "rate('tn / (tn + fn)', better=True)")
        rate_of(node)
    elif isinstance(node, ast.Call) and _is_call(node, "cost"):
        if node.args or any(each.arg not in ("fp", "fn") for each in node.keywords):
            raise InputError("the formula", f"has {ast.unparse(node)}", "cost(fp=..., fn=...)")
        _check_costs(**{str(each.arg): _constant(each.value) for each in node.keywords})
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords and node.args:
        if node.func.id not in FUNCTIONS:
            raise _wrong(node.func.id, [*FUNCTIONS, "cost"])
        for each in node.args:
            _check(each, within=within)
    else:
        raise InputError("the formula", f"has {ast.unparse(node)!r}", EXPECTED)


def _is_call(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name


def _is_constant(node: ast.AST) -> bool:
    return isinstance(node.value if isinstance(node, ast.keyword) else node, ast.Constant)


def _constant(node: ast.expr) -> Any:
    return node.value if isinstance(node, ast.Constant) else ast.unparse(node)


def _wrong(name: str, known: Any) -> InputError:
    near = nearest(name, list(known))
    return InputError("the formula", f"has {name!r}", EXPECTED, f"did you mean {near}?" if near else "")


def _glossary(**rates: tuple[str, str, bool | None]) -> dict[str, Rate]:
    return {key: Rate(formula, title, better, key=key) for key, (formula, title, better) in rates.items()}


RATES: dict[str, Rate] = _glossary(
    accuracy=("right / (tp + fn + fp + tn)", "accuracy", True),
    error_rate=("1 - accuracy", "error rate", False),
    selection_rate=("(tp + fp) / (tp + fn + fp + tn)", "selection rate", None),
    recall=("tp / (tp + fn)", "recall", True),
    specificity=("tn / (tn + fp)", "specificity", True),
    false_positive_rate=("fp / (fp + tn)", "false positive rate", False),
    false_negative_rate=("fn / (fn + tp)", "false negative rate", False),
    precision=("tp / (tp + fp)", "precision", True),
    negative_predictive_value=("tn / (tn + fn)", "negative predictive value", True),
    false_discovery_rate=("fp / (tp + fp)", "false discovery rate", False),
    false_omission_rate=("fn / (tn + fn)", "false omission rate", False),
    f1=("2 * tp / (2 * tp + fp + fn)", "F1", True),
    jaccard=("tp / (tp + fp + fn)", "Jaccard index", True),
    mcc=("(tp * tn - fp * fn) / sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))", "MCC", True),
    error_ratio=("fp / fn", "ratio of false positives to false negatives", None),
    base_rate=("(tp + fn) / (tp + fn + fp + tn)", "share of positives", None),
    lower_recall=("smallest(recall, specificity)", "lower of recall and specificity", True),
) | {
    "class_accuracy": Rate("tp / (tp + fn)", "accuracy of a class", classes="every", key="class_accuracy"),
    "balanced_accuracy": Rate("tp / (tp + fn)", "balanced accuracy", classes="mean", key="balanced_accuracy"),
}
"""All rates by their names."""

AIMS: dict[str, Measure] = {
    measure.key: measure
    for measure in (
        Measure(
            "worst_group",
            "worst-group accuracy",
            "worst group",
            more_is_better=True,
            formula="class_accuracy.min",
            metric="worst_group_accuracy",
            meaning="the worst-served (class, group) is predicted right as often as possible",
        ),
        Measure(
            "demographic_parity",
            "demographic-parity gap",
            "DP gap",
            more_is_better=False,
            formula="rate('selection_rate', classes='every').gap",
            metric="demographic_parity_gap",
            meaning="all groups are selected alike",
        ),
        Measure(
            "equalized_odds",
            "equalized-odds gap (sum)",
            "EO gap",
            more_is_better=False,
            formula="largest(rate('recall + false_positive_rate', classes='every').gap, "
            "rate('recall - false_positive_rate', classes='every').gap)",
            metric="equalized_odds_gap",
            meaning="all groups have the same true and false positive rates",
        ),
        Measure(
            "equal_opportunity",
            "equal-opportunity gap",
            "EOpp gap",
            more_is_better=False,
            formula="recall.gap",
            metric="equal_opportunity_gap",
            meaning="all groups have the same true positive rate",
        ),
    )
}
"""The aims of the paper and of the tables of results, in the order in which tables show them."""

ACCURACY = RATES["accuracy"].overall
MEASURES = (ACCURACY, *AIMS.values())
"""The columns of every table."""


def read_measure(value: Any, argument: str = "measure") -> Measure:
    """The measure of this name or formula, spelt with underscores or hyphens; a measure is itself.

    Raises:
        InputError: for a name or formula that has no meaning, with the nearest one that has.

    >>> read_measure("selection-rate.ratio").title
    'selection rate ratio'
    """
    if isinstance(value, Measure):
        return value
    if isinstance(value, Rate):
        return value.overall
    if not isinstance(value, str) or not value.strip():
        aims = f"one of {', '.join(map(repr, AIMS))}, or " if argument == "aim" else ""
        raise InputError(Option(argument), f"is {value!r}", aims + EXPECTED)
    try:
        return _read_text(value)
    except InputError as error:
        aims = f"one of {', '.join(map(repr, AIMS))}, or {EXPECTED}" if argument == "aim" else EXPECTED
        raise InputError(Option(argument), f"is {value!r}", aims, error.remedy) from None


@lru_cache(1000)
def _read_text(text: str) -> Measure:
    # A hyphen within a name is an underscore; one between spaces is a minus.
    text = re.sub(r"(?<=[A-Za-z0-9])-(?=[A-Za-z])", "_", text.strip())
    text = re.sub(rf"^([a-z_0-9]+)_({'|'.join(COMPARISONS)})$", _split_name, text)
    if text in AIMS:
        return AIMS[text]
    node = parse(text)
    _check(node)
    if not any(isinstance(each, ast.Name) for each in ast.walk(node)):
        raise InputError("the formula", f"{text!r} measures nothing", EXPECTED)
    if isinstance(node, ast.Attribute):
        rate = rate_of(node.value)
        found: Measure = getattr(rate, node.attr)
        return found
    if not _compares(node):
        return rate_of(node).overall
    first = next(each for each in ast.walk(node) if isinstance(each, ast.Attribute | ast.Name) and _compares(each))
    better = _read_text(ast.unparse(first)).more_is_better
    return Measure(ast.unparse(node), text, text, better, meaning=f"{text} is as good as possible")


def _split_name(found: re.Match[str]) -> str:
    """`selection_rate_ratio` is `selection_rate.ratio`, where that is no name itself."""
    whole, rate, how = found.group(0), found.group(1), found.group(2)
    return whole if whole in RATES or whole in AIMS or rate not in RATES else f"{rate}.{how}"


def read_aim(value: Any, argument: str = "aim") -> Measure:
    """A measure that may be an aim: one that compares groups."""
    measure = read_measure(value, argument)
    if not measure.compares_groups and measure.key not in AIMS:
        raise InputError(
            Option(argument),
            f"is {value!r}, which does not compare groups",
            f"{measure.key}.gap, .ratio, .min or .max",
        )
    return measure
