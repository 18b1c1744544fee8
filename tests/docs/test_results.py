"""The docs' numbers are those of the committed results, to the letter."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.usefixtures("as_users_call")  # ten thousand runs: the shape checks would take longest
def test_every_number_of_the_docs_is_written_from_the_results():
    spec = importlib.util.spec_from_file_location("docs_results", ROOT / "docs" / "results.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    expected = module.written()
    assert len(expected) > 2
    for path, text in expected.items():
        assert path.read_text(encoding="utf-8") == text, f"{path.relative_to(ROOT)} is old: run make results"
    pages = {path for path in (ROOT / "docs" / "results").iterdir() if path.suffix == ".md"}
    assert pages == {path for path in expected if path.parent.name == "results"}, "a page without results"
