import pytest

from fitted_runs import concluded, load_table
from raan.fit.clock import Clock
from raan.fit.families import BOOSTING, LOGISTIC, fit_family
from raan.fit.fit import Fit, Wish, tell_known
from raan.fit.networks import fit_networks
from raan.fit.rows import Rows
from raan.fit.trade_off import settle

WISH = Wish("demographic_parity", accuracy_drop=0.03, seconds=10)


def pytest_collection_modifyitems(items):
    """What the data warn of is not what these tests are about."""
    for item in items:
        if item.path.parent.name == "fit":
            item.add_marker(pytest.mark.filterwarnings("ignore::raan.tabular.preprocessing.DataWarning"))


@pytest.fixture(scope="session")
def loaded():
    return load_table()


@pytest.fixture(scope="session")
def rows(loaded):
    return Rows.of(loaded)


@pytest.fixture(scope="session")
def boosting(rows):
    return fit_family(BOOSTING, rows, WISH.rule)


@pytest.fixture(scope="session")
def logistic(rows):
    return fit_family(LOGISTIC, rows, WISH.rule)


@pytest.fixture(scope="session")
def networks(rows):
    (family,), _ = fit_networks(rows, WISH.rule, Clock(10))
    return family


@pytest.fixture(scope="session")
def families(boosting, logistic, networks):
    return [boosting, logistic, networks]


@pytest.fixture(scope="session")
def fitted(loaded, rows, families):
    """A fit of all families."""
    return Fit(rows, loaded, WISH, settle(families), tell_known(families[0]), ("a note",))


@pytest.fixture(scope="session")
def outcome(fitted):
    return concluded(fitted)
