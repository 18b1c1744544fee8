"""Draws the pictures that the docs show; `make figures`. The trade-off's comes from `raan demo`."""

from pathlib import Path

from raan.report.figures import toy_panels
from raan.study.toy import figure_1

IMAGES = Path(__file__).parent / "images"

if __name__ == "__main__":
    toy_panels(figure_1(), IMAGES / "toy.png")
