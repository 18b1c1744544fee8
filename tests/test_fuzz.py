"""Bad input at the doors of Python: a result, or an error that names the argument; in bounded time and memory."""

import inspect
import signal
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import pytest
import torch
from sklearn.linear_model import LogisticRegression

import raan
from odd import LABEL, POINTS, SEX, mixtures, odd_columns, odd_settings, odd_tables
from raan import metrics
from raan.data import from_frame
from raan.optim import SCRAAN

MORE = [20, pytest.param(400, marks=pytest.mark.exhaustive)]
"""Mixtures for each argument, beside the odd values that are listed."""

SECONDS = 60
"""The time that one call may take, on a busy machine."""

MEMORY = 2**30
"""Bytes by which the process may have grown at its largest while a door was tried."""

FRAME = pd.DataFrame({"a": POINTS[:, 0], "b": POINTS[:, 1], "sex": SEX, "hired": LABEL})
MEASURED = {"y_true": LABEL, "y_pred": LABEL[::-1], "sensitive_features": SEX}
FIT = {"X": POINTS, "y": LABEL, "sensitive_features": SEX}

COLUMNS = ("y", "label", "sensitive_features", "y_true", "y_pred", "sample_weight", "index")
TABLES = ("X", "embedding", "logit", "frame")
SPARED = ("self", "progress", "n_jobs", "verbose")
"""What is called back, starts processes or prints; all else that a door takes is made odd."""

LONG = {"epochs", "repeats", "folds"}
"""Numbers that may be as large as the user's patience."""


class Door(NamedTuple):
    """What is called, its good arguments, and whose parameters it has."""

    call: Callable[..., Any]
    good: dict[str, Any]
    signature: Callable[..., Any]


ESTIMATORS: dict[str, tuple[type, dict[str, Any]]] = {
    "AANReweighting": (raan.AANReweighting, {"estimator": LogisticRegression()}),
    "FairFrontier": (raan.FairFrontier, {"estimator": LogisticRegression(), "min_count": 2}),
    "RAANClassifier": (raan.RAANClassifier, {"hidden_layer_sizes": (3,), "epochs": 1, "random_state": 0}),
}


def fitted(kind: str, settings: dict[str, Any], **given: Any) -> Any:
    make, base = ESTIMATORS[kind]
    return make(**{**base, **settings}).fit(**{**FIT, **given})


def lose(**given: Any) -> Any:
    """The loss of a batch of all rows."""
    return raan.RAANLoss(LABEL, SEX)(**given)


def sample(**given: Any) -> Any:
    """The first batch."""
    return next(iter(raan.GroupBatchSampler(**given)))


def step(**given: Any) -> None:
    """A step of the optimiser."""
    optimiser = SCRAAN(**given)
    for group in optimiser.param_groups:
        for parameter in group["params"]:
            parameter.grad = torch.ones_like(parameter)
    optimiser.step()


def row_of(**given: Any) -> Any:
    return len(raan.IndexedDataset(**given))


def find_doors() -> dict[str, Door]:
    """Every door of Python."""
    found = {
        "aan_weights": Door(
            raan.aan_weights, {"embedding": POINTS, "label": LABEL, "sensitive_features": SEX}, raan.aan_weights
        ),
        "audit": Door(raan.audit, MEASURED, raan.audit),
        "RAANLoss": Door(raan.RAANLoss, {"label": LABEL, "sensitive_features": SEX}, raan.RAANLoss),
        "RAANLoss.forward": Door(
            lose,
            {"logit": torch.zeros(60, 2), "embedding": torch.tensor(POINTS), "index": torch.arange(60)},
            raan.RAANLoss.forward,
        ),
        "GroupBatchSampler": Door(
            sample, {"label": LABEL, "sensitive_features": SEX, "batch_size": 16}, raan.GroupBatchSampler
        ),
        "IndexedDataset": Door(row_of, {"dataset": [1, 2]}, raan.IndexedDataset),
        "SCRAAN": Door(step, {"params": [torch.nn.Parameter(torch.ones(2))]}, SCRAAN),
        "load": Door(raan.load, {"folder": "nowhere"}, raan.load),
        "from_frame": Door(from_frame, {"frame": FRAME, "label": "hired", "attribute": "sex"}, from_frame),
    }
    for name in metrics.__all__[1:]:
        found[f"metrics.{name}"] = Door(getattr(metrics, name), MEASURED, getattr(metrics, name))
    for name, (make, _) in ESTIMATORS.items():
        found[name] = Door(lambda kind=name, **settings: fitted(kind, settings), {}, make)
        found[f"{name}.fit"] = Door(partial(fitted, name, {}), FIT, make.fit)
    return found


DOORS = find_doors()
FURTHER = {
    "AANReweighting.predict": ("X",),
    "FairFrontier.predict": ("X", "sensitive_features"),
    "RAANClassifier.predict": ("X",),
    "FairFrontier.choose": ("aim", "accuracy_drop", "worst_group_drop", "at_most"),
}
"""Methods of fitted estimators."""


def odd_values(name: str, door: str, more: int) -> Iterator[Any]:
    if name in TABLES and door != "IndexedDataset":
        return chain(odd_tables(), mixtures(more, seed=1))
    if name in COLUMNS and door != "from_frame":
        return chain(odd_columns(), mixtures(more, seed=2))
    small = (each for each in odd_settings() if not (name in LONG and isinstance(each, int | float) and each > 9))
    return chain(small, mixtures(more // 4, seed=3))


@contextmanager
def limited(seconds: int) -> Iterator[None]:
    """A TimeoutError after so many seconds."""

    def ring(number: int, frame: object) -> None:
        raise TimeoutError(f"it takes more than {seconds} seconds")

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def is_of_the_estimator(error: BaseException) -> bool:
    """Whether the classifier that the user gave refused what it was given: then its words are the right ones."""
    return any("linear_model" in frame.filename for frame in traceback.extract_tb(error.__traceback__))


def names(words: str, name: str, odd: Any) -> bool:
    """Whether the words name the argument, or the file that was given for it."""
    return name in words or (isinstance(odd, str | Path) and str(odd).split("\0")[0] in words)


def complaint(call: Callable[..., Any], name: str, odd: Any) -> str:
    """What is wrong with how a call ended; nothing if it gave a result, or an error that names the argument."""
    with warnings.catch_warnings(), limited(SECONDS):
        warnings.simplefilter("ignore")
        try:
            call(**{name: odd})
        except (ValueError, TypeError, OSError) as error:
            if isinstance(error, TimeoutError) or not (names(str(error), name, odd) or is_of_the_estimator(error)):
                return f"{type(error).__name__}: {str(error)[:200]}"
        except Exception as error:
            return f"{type(error).__name__}: {str(error)[:200]}"
    return ""


def largest_memory() -> int:
    """The bytes that this process has taken at its largest, so far as it was told to forget earlier ones."""
    words = Path("/proc/self/status").read_text().split()
    return 1024 * int(words[words.index("VmHWM:") + 1])


def forget_largest_memory() -> int:
    """Begin to measure anew; the bytes that are taken now."""
    Path("/proc/self/clear_refs").write_text("5")
    return largest_memory()


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A model that can be loaded."""
    folder = tmp_path_factory.mktemp("saved") / "model"
    raan.AANReweighting(LogisticRegression()).fit(**FIT).save(folder)
    return folder


@pytest.mark.usefixtures("as_users_call")
@pytest.mark.parametrize("more", MORE)
@pytest.mark.parametrize("door", DOORS)
def test_an_odd_argument_gives_a_result_or_an_error_that_names_it(door, more, saved):
    call, good, signature = DOORS[door]
    good = good | {"folder": saved} if door == "load" else good
    before = forget_largest_memory()
    wrong = []
    for name in inspect.signature(signature).parameters:
        if name not in SPARED:
            for number, odd in enumerate(odd_values(name, door, more)):
                said = complaint(partial(call, **good), name, odd)
                wrong += [f"{name}, {number}: {odd!r:.60}: {said}"] if said else []
    assert not wrong, "\n".join(wrong)
    assert largest_memory() - before < MEMORY


@pytest.mark.usefixtures("as_users_call")
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("more", MORE)
@pytest.mark.parametrize("method", FURTHER)
def test_an_odd_argument_of_a_fitted_estimator_too(method, more):
    kind, call = method.split(".")
    model = fitted(kind, {})
    wrong = []
    for name in FURTHER[method]:
        for number, odd in enumerate(odd_values(name, method, more)):
            given = {} if call == "choose" else {"X": POINTS}
            said = complaint(partial(getattr(model, call), **given), name, odd)
            wrong += [f"{name}, {number}: {odd!r:.60}: {said}"] if said else []
    assert not wrong, "\n".join(wrong)
