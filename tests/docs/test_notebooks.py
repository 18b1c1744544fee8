"""The tutorials run, print what they show, and are small."""

import re
import shutil

import nbformat
import pytest

from docs.notebooks import TUTORIALS, execute, to_markdown

PATHS = sorted(TUTORIALS.glob("*.ipynb"))
NAMES = [path.stem for path in PATHS]
NUMBER = r"[-+]?\d[\d,]*\.?\d*(?:e-\d+)?"


def printed(notebook):
    """The words that the cells of a notebook print; numbers differ a bit between machines."""
    texts = []
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            assert output.output_type != "error"
            data = output.get("data", {"text/plain": output.get("text", "")})
            texts.append("a picture" if "image/png" in data else data["text/plain"])
    return [re.sub(NUMBER, "0", text).split() for text in texts]


@pytest.mark.filterwarnings("ignore:.*")  # of the kernel's own machinery
@pytest.mark.parametrize("path", PATHS, ids=NAMES)
def test_a_notebook_prints_what_it_shows(path, real_data, tmp_path, monkeypatch):
    if shutil.which("sh") is None:
        pytest.skip("the cells of the command line need sh")
    monkeypatch.setenv("RAAN_DATA", str(real_data))
    assert printed(execute(path, tmp_path)) == printed(nbformat.read(path, as_version=4))
    if path.stem == "case-study":
        title = re.search("<title>.*?</title>", (tmp_path / "report.html").read_text(encoding="utf-8"))
        assert title[0] in (TUTORIALS / "case-study-report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("path", PATHS, ids=NAMES)
def test_a_notebook_is_small_and_names_nobodys_folder(path):
    text = path.read_text(encoding="utf-8")
    assert len(text) < 300_000
    assert not re.search(r"/(home|root|tmp|work|Users)/", text)


@pytest.mark.parametrize("path", PATHS, ids=NAMES)
def test_the_links_of_a_notebook_lead_somewhere(path):
    text = to_markdown(nbformat.read(path, as_version=4), path.stem)
    targets = re.findall(r"\]\((?!https?:|data:)([^)#]+)", text)
    assert targets
    assert [each for each in targets if not (path.parent / each).exists()] == []


@pytest.mark.parametrize("path", PATHS, ids=NAMES)
def test_a_page_has_the_cells_their_outputs_and_a_link_to_the_notebook(path):
    notebook = nbformat.read(path, as_version=4)
    page = to_markdown(notebook, path.stem)
    assert page.startswith("# ")
    assert f'href="../{path.stem}.ipynb"' in page
    pictures = sum(
        "image/png" in output.get("data", {}) for cell in notebook.cells for output in cell.get("outputs", ())
    )
    assert page.count("](data:image/png;base64,") == pictures
    assert page.count("```") == 2 * len(re.findall(r"^```\w+$", page, flags=re.M))


def test_there_are_three():
    assert NAMES == ["case-study", "monitoring", "quickstart"]
