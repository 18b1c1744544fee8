"""`raan fit --text` and `--image` on real comments and faces, as a user runs them, and new rows that took no part.

    python -m reproduce.media FOLDER [comments|faces] [ROWS] [MINUTES]

RAAN_DATA names the folder of the data; tables, images and models are written into FOLDER.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from raan import audit
from raan.data import celeba
from raan.data.download import require
from raan.lab.datasets.description import CATALOGUE

SHARE = 5  # of all rows, one in so many is new: kept from `raan fit`
GAPS = ("accuracy", "equalized_odds_gap", "demographic_parity_gap", "worst_group_accuracy")


def write_comments(folder: Path, rows: int) -> tuple[str, ...]:
    """Comments of Measuring Hate Speech: hate speech or not, and whether they target Black people."""
    frame = pd.read_csv(require(CATALOGUE["measuring_hate_speech"].files[0]))
    table = pd.DataFrame(
        {
            "comment": frame["text"],
            "hate": np.where(frame["labels"] == 1, "yes", "no"),
            "black": np.where(frame["target_race_black"] >= 0.5, "yes", "no"),
        }
    )
    _write(folder, table.sample(rows, random_state=0))
    return "hate", "black", "--text", "comment"


def write_faces(folder: Path, rows: int) -> tuple[str, ...]:
    """Faces of CelebA, each a file: wavy hair or not, and sex."""
    faces = celeba()
    some = np.arange(min(rows, faces.rows))  # in the order of CelebA, which is none
    (folder / "faces").mkdir(exist_ok=True)
    names = list(faces.images)[: len(some)]
    for name in names:
        (folder / "faces" / name).write_bytes(faces.images[name].read_bytes())
    table = pd.DataFrame(
        {
            "path": names,
            "wavy_hair": np.where(faces.label.numpy()[some] == 1, "wavy", "not wavy"),
            "sex": np.where(faces.attribute.numpy()[some] == 1, "male", "female"),
        }
    )
    _write(folder, table.sample(frac=1, random_state=0))
    return "wavy_hair", "sex", "--image", "path", "--image-folder", str(folder / "faces")


def _write(folder: Path, table: pd.DataFrame) -> None:
    new = len(table) // SHARE
    table.iloc[new:].to_csv(folder / "rows.csv", index=False)
    table.iloc[:new].to_csv(folder / "new.csv", index=False)


def run(*words: str) -> str:
    """The output of a command of raan's."""
    raan = str(Path(sys.executable).with_name("raan"))
    return subprocess.run([raan, *words], stdout=subprocess.PIPE, text=True, check=False).stdout


def table(folder: Path, label: str, attribute: str, media: tuple[str, ...], minutes: str) -> Iterator[str]:
    """Lines of a table in Markdown: test rows, and new rows, before and after."""
    asked = ("--label", label, "--attribute", attribute, "--minutes", minutes, "--force", "--json")
    fitted = run("fit", str(folder / "rows.csv"), *media, *asked, "--out", str(folder / "fair"))
    found: dict[str, Any] = json.loads(fitted)
    after = {}
    for name, place in (("plain", folder / "fair" / "plain"), ("saved", folder / "fair")):
        out = str(folder / f"{name}.csv")
        run("predict", str(place), str(folder / "new.csv"), *media[2:], "--out", out, "--id", label, attribute)
        said = pd.read_csv(out)
        after[name] = audit(said[label], said["prediction"], said[attribute])
    yield f"| | test rows: plain | saved ({found['chosen']['method']}) | new rows: plain | saved |"
    yield "|---|---:|---:|---:|---:|"
    for metric in GAPS:
        test = [100 * found[who]["test"][metric] for who in ("plain", "chosen")]
        new = [100 * getattr(after[name], metric).value for name in ("plain", "saved")]
        yield f"| {metric.replace('_', ' ')} | {' | '.join(f'{value:.1f}' for value in (*test, *new))} |"
    yield ""
    yield from (found["reading"], f"{found['seconds']} s; {' '.join(found['notes'])}")


def main() -> None:
    """Print the table of one kind."""
    folder, kind, rows, minutes = (*sys.argv[1:], *(".", "comments", "5000", "5")[len(sys.argv) - 1 :])
    where = Path(folder)
    where.mkdir(parents=True, exist_ok=True)
    label, attribute, *media = (write_comments if kind == "comments" else write_faces)(where, int(rows))
    print("\n".join(table(where, label, attribute, tuple(media), minutes)))


if __name__ == "__main__":
    main()
