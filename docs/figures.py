"""Draw the pictures of the docs from committed results; `make figures`. `raan demo` draws the trade-off."""

import json
from pathlib import Path

from raan.report.pictures import draw

DOCS = Path(__file__).parent

if __name__ == "__main__":
    draw(json.loads((DOCS.parent / "results" / "figure-1.json").read_text()), DOCS / "images" / "toy.png")
