"""The tutorials: notebooks with stored outputs, which `make notebooks` executes and the site shows."""

import base64
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat

TUTORIALS = Path(__file__).parent / "tutorials"


def execute(path: Path, folder: str | Path) -> Any:
    """The notebook with the outputs of a run in this folder."""
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    # The command `raan` stands beside Python; tqdm warns where a notebook has no widgets.
    beside = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    env = {**os.environ, "PATH": beside, "PYTHONWARNINGS": "ignore:IProgress"}
    NotebookClient(
        notebook, timeout=300, coalesce_streams=True, resources={"metadata": {"path": str(folder)}}
    ).execute(env=env)
    for cell in notebook.cells:
        cell.metadata = {}  # when it ran is of no interest
    notebook.metadata["language_info"] = {"name": "python"}
    return notebook


def to_markdown(notebook: Any, name: str) -> str:
    """The notebook as a page of the site, with a link to the notebook itself."""
    first, *others = notebook.cells
    title, _, text = first.source.partition("\n")
    parts = [title, f'<a href="../{name}.ipynb" download>Download this notebook</a>', text]
    for cell in others:
        if cell.cell_type == "markdown":
            parts.append(cell.source)
            continue
        shell = cell.source.startswith("%%sh")
        code = cell.source.removeprefix("%%sh\n").removeprefix("%matplotlib inline\n")
        parts += [f"```{'sh' if shell else 'python'}\n{code}\n```", *map(_show, cell.outputs)]
    return "\n\n".join(parts) + "\n"


def _show(output: Any) -> str:
    """An output: its picture, its HTML or its text."""
    data = output.get("data", {"text/plain": output.get("text", "")})
    if "image/png" in data:
        size = len(base64.b64decode(data["image/png"]))
        assert size < 100_000, f"a picture of {size:,} bytes"
        return f"![What the code above draws](data:image/png;base64,{''.join(data['image/png'].split())})"
    if "text/html" in data:
        plain = re.sub(r'<style.*?</style>| border="1" class="dataframe"', "", data["text/html"], flags=re.S)
        return f'<div class="output" markdown="0">{"".join(plain.splitlines())}</div>'
    return f"```text\n{data['text/plain'].rstrip()}\n```"


if __name__ == "__main__":
    for path in sorted(TUTORIALS.glob("*.ipynb")):
        with tempfile.TemporaryDirectory() as folder:
            nbformat.write(execute(path, folder), path)
            if (report := Path(folder) / "report.html").is_file():
                shutil.copy(report, path.with_name(f"{path.stem}-report.html"))
