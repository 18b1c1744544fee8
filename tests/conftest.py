"""What all tests share: one thread each, the real data, an empty cache."""

import os

# Set before torch is imported and the workers start: there is one process per core, and threads that wait for one
# spin. The processes that tests start inherit it.
os.environ["OMP_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = "1"

from pathlib import Path

import jaxtyping
import pytest
from hypothesis import settings

# The same examples in every run of CI, so that one run says what the next will; new ones on developers' machines.
settings.register_profile("steady", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("steady")


@pytest.fixture
def real_data() -> Path:
    """The folder of real data sets, where this machine has one."""
    beside = Path(__file__).parents[1].parent / "shared" / "data"
    folder = Path(os.environ.get("RAAN_DATA") or beside)
    if not (folder / "adult" / "adult.data").is_file():
        pytest.skip(f"no real data: {folder} has no adult/adult.data; RAAN_DATA may name another folder")
    return folder


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and nothing else on this machine to find files in."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("RAAN_CACHE", str(folder))
    monkeypatch.delenv("RAAN_DATA", raising=False)
    return folder


@pytest.fixture
def as_users_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the shape checks of the tests, which take time and would speak before the code does."""
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)


def pytest_make_parametrize_id(val: object) -> str | None:
    """No bytes in a test's name: those of a gzipped file hold the time, and workers must agree on the names."""
    return "bytes" if isinstance(val, bytes) else None
