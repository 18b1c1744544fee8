"""Weights over centroids: is the certificate right, what does the approximation change, and what does it cost?

    python -m reproduce.approximate [--data FOLDER] [--rows 1000000]

Exact weights of real embeddings tell the true error of each certificate. Then logistic regression is fitted with
exact and with approximate weights on the same ten splits. Results are kept in results/approximate.jsonl.
"""

import argparse
import json
import time
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression

from raan import aan_weights
from raan.data import adult, measuring_hate_speech
from raan.fairness import audit
from raan.models.model import scaling
from raan.neighbourhood.balance import anchor_weights
from raan.neighbourhood.centroids import over_centroids
from raan.neighbourhood.stream import by_cell, directions_of, exact_weights, neighbour_cells

RESULTS = Path(__file__).parents[1] / "results" / "approximate.jsonl"
TEMPERATURES = (0.05, 0.1, 0.2, 0.5)
CENTROIDS = (128, 256)
SPLITS, PAIRED = 10, 0.1

Rows = tuple[np.ndarray, np.ndarray, np.ndarray]


def text(path: Path | None = None) -> Rows:
    """Sentence embeddings of comments, 15,000 x 384: is it hate speech, and does it target Black people?"""
    comments = measuring_hate_speech(path, identity="black")
    assert comments.embedding is not None
    some = np.random.default_rng(0).permutation(len(comments.label))[:15_000]
    embedding, label, attribute = (np.asarray(part)[some] for part in _parts(comments))
    return embedding.astype(np.float32), label, attribute


def _parts(comments: Any) -> tuple[Any, Any, Any]:
    return comments.embedding, comments.label, comments.attribute


def income(path: Path | None = None) -> Rows:
    """Adult, numbers standardised, 12,000 rows: is the income high, and what is the sex?"""
    table = adult(path)
    some = np.random.default_rng(0).permutation(table.rows)[:12_000]
    centre, spread = (part[0] for part in scaling(table, torch.from_numpy(some)[None]))
    return (
        ((table.features[some] - centre) / spread).numpy(),
        table.label.numpy()[some],
        table.attribute.numpy()[some],
    )


class Over(NamedTuple):
    """Weights over centroids and exact ones, of rows sorted by cell, and the errors told of each cell."""

    order: torch.Tensor
    cells: list[range]
    approximate: torch.Tensor
    exact: torch.Tensor
    told: list[torch.Tensor]


def weigh(rows: Rows, temperature: float, centroids: int) -> Over:
    """Both kinds of weights, whether centroids are worth while for so few rows or not."""
    embedding, label, attribute = (torch.as_tensor(part) for part in rows)
    anchor, order = anchor_weights(label, attribute, "group"), by_cell(label, attribute)
    classes = list(neighbour_cells(label[order], attribute[order]))
    directions = directions_of(embedding, order, temperature)
    weight, told = over_centroids(directions, classes, anchor[order], centroids)
    exact = exact_weights(embedding, label, attribute, anchor, temperature)[order]
    return Over(order, [cell for cells in classes for cell in cells], weight, exact, told)


def certificates(data: dict[str, Rows]) -> Iterator[dict[str, Any]]:
    """The errors that the certificate tells, and the true ones, of the worst cell."""
    for (name, rows), temperature, centroids in product(data.items(), TEMPERATURES, CENTROIDS):
        found = weigh(rows, temperature, centroids)
        error = (found.approximate / found.exact - 1).abs()
        true = [error[cell.start : cell.stop] for cell in found.cells]
        both = {
            kind: [100 * max(float(part.quantile(share)) for part in errors) for share in (0.5, 0.99)]
            for kind, errors in (("told", found.told), ("true", true))
        }
        yield {"data": name, "temperature": temperature, "centroids": centroids, **both}


def paired(data: dict[str, Rows], temperature: float = PAIRED, centroids: int = 128) -> Iterator[dict[str, Any]]:
    """Worst-group accuracy of logistic regression with exact and with approximate weights, on the same splits."""
    for (name, rows), seed in product(data.items(), range(SPLITS)):
        order = np.random.default_rng(seed).permutation(len(rows[1]))
        train, test = order[: 2 * len(order) // 3], order[2 * len(order) // 3 :]
        some = (rows[0][train], rows[1][train], rows[2][train])
        weights = weigh(some, temperature, centroids)
        found: dict[str, Any] = {"data": name, "paired": temperature, "seed": seed, "centroids": centroids}
        for kind in ("exact", "approximate"):
            weight = torch.ones(len(train), dtype=torch.float64)
            weight[weights.order] = getattr(weights, kind)
            model = LogisticRegression(max_iter=300).fit(some[0], some[1], weight.numpy())
            report = audit(rows[1][test], model.predict(rows[0][test]), rows[2][test], replicates=2)
            found[kind] = 100 * report.overall["worst_group_accuracy"].value
        yield found


def large(rows: int) -> dict[str, Any]:
    """The time of very many rows, clustered as embeddings are, 64 dimensions."""
    rng = np.random.default_rng(0)
    label, attribute = rng.integers(0, 2, (2, rows))
    middle = rng.normal(size=(50, 64))
    embedding = (middle[rng.integers(0, 50, rows)] + rng.normal(size=(rows, 64))).astype(np.float32)
    found: dict[str, Any] = {"rows": rows, "threads": torch.get_num_threads()}
    for temperature, tolerance in ((0.1, 0.02), (0.2, 0.01)):
        begun = time.perf_counter(), time.process_time()
        _, certificate = aan_weights(
            embedding, label, attribute, temperature=temperature, tolerance=tolerance, return_certificate=True
        )
        found[str(temperature)] = {
            "seconds": time.perf_counter() - begun[0],
            "processor": time.process_time() - begun[1],
            "centroids": certificate.centroids,
            "median": 100 * certificate.median,
            "tail": 100 * certificate.tail,
        }
    return found


def show(records: list[dict[str, Any]]) -> None:
    """Print what was found."""
    print(
        "relative error of a weight in the worst cell, median/99 % in per cent: told by the certificate, and true"
    )
    for each in records:
        if "told" in each:
            told, true = ("/".join(f"{number:.2g}" for number in each[kind]) for kind in ("told", "true"))
            place = f"{each['data']:6s} temperature {each['temperature']:4} {each['centroids']:4} centroids"
            print(f"  {place}  told {told:10s} true {true:10s} ratio {each['told'][0] / each['true'][0]:.2f}")
    for name in ("text", "adult"):
        some = [each for each in records if "paired" in each and each["data"] == name]
        gain = np.array([each["approximate"] - each["exact"] for each in some])
        if len(gain) > 1:
            error, exact = gain.std(ddof=1) / len(gain) ** 0.5, np.mean([each["exact"] for each in some])
            how = f"temperature {some[0]['paired']}, {some[0]['centroids']} centroids"
            print(
                f"  {name:6s} worst group over {len(gain)} splits, {how}: exact {exact:.2f}, approximate "
                f"{gain.mean():+.2f} ± {error:.2f}, at most {np.abs(gain).max():.2f} apart"
            )
    for each in records:
        for warmth, cost in ((key, value) for key, value in each.items() if isinstance(value, dict)):
            print(
                f"  {each['rows']:,} x 64, temperature {warmth}: {cost['seconds']:.1f} s, "
                f"{cost['processor']:.1f} s of processor, {cost['centroids']} centroids, told "
                f"{cost['median']:.2g}/{cost['tail']:.2g}"
            )


def main() -> None:
    """Measure all, keep it, and print it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="the folder of text/ and adult/; else they are looked for")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--show", action="store_true", help="print what was kept, measure nothing")
    options = parser.parse_args()
    if not options.show:
        folder = options.data
        data = {"text": text(folder and folder / "text"), "adult": income(folder and folder / "adult")}
        records = [*certificates(data), *paired(data), large(options.rows)]
        RESULTS.write_text("".join(json.dumps(each) + "\n" for each in records))
    show([json.loads(line) for line in RESULTS.read_text().splitlines()])


if __name__ == "__main__":
    main()
