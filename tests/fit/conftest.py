import pytest

from fitted_runs import load_table
from raan.fit.clock import Clock
from raan.fit.families import BOOSTING, LOGISTIC, fit_family
from raan.fit.fit import FitOptions, Source, fit
from raan.fit.rows import Rows

OPTIONS = FitOptions("demographic_parity", accuracy_drop=0.03, seconds=10)
SOURCE = Source("people.csv", "hired", ["sex"], "raan fit people.csv")


def pytest_collection_modifyitems(items):
    """What the data warn of is not what these tests are about."""
    for item in items:
        if item.path.parent.name == "fit":
            item.add_marker(pytest.mark.filterwarnings("ignore::raan.errors.DataWarning"))


@pytest.fixture(scope="session")
def loaded():
    return load_table()


@pytest.fixture(scope="session")
def rows(loaded):
    return Rows.of(loaded)


@pytest.fixture(scope="session")
def boosting(rows):
    return fit_family(BOOSTING, rows, OPTIONS.rule)


@pytest.fixture(scope="session")
def logistic(rows):
    return fit_family(LOGISTIC, rows, OPTIONS.rule)


@pytest.fixture(scope="session")
def families(boosting, logistic):
    return [boosting, logistic]


@pytest.fixture(scope="session")
def fitted(loaded):
    """A fit of all families."""
    return fit(loaded, OPTIONS, Clock(10), SOURCE)


@pytest.fixture(scope="session")
def outcome(fitted):
    return fitted.outcome
