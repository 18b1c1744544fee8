import pytest

from fitted_runs import table_of, train_all
from raan.tabular.frame import from_frame


def pytest_collection_modifyitems(items):
    """What the data warn of is not what these tests are about."""
    for item in items:
        if item.path.parent.name == "fit":
            item.add_marker(pytest.mark.filterwarnings("ignore::raan.tabular.preprocessing.DataWarning"))


@pytest.fixture(scope="session")
def loaded():
    return from_frame(table_of(), "hired", "sex")


@pytest.fixture(scope="session")
def trained(loaded):
    """The runs of all methods, shortly trained."""
    return train_all(loaded)
