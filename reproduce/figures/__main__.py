"""Compute a picture of the paper and draw it: `python -m reproduce.figures figure-1`, figure-2 or theorem.

The numbers go to results/NAME.json, the drawing to docs/images/NAME.png.
"""

import sys
from pathlib import Path

from raan.lab.study.study import read_study
from reproduce.figures.draw import draw, told
from reproduce.figures.run import carry_out_picture

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


def main(names: list[str]) -> None:
    """Compute and draw each of the pictures named."""
    known = sorted(file.stem for file in HERE.glob("*.toml"))
    for name in names:
        if name not in known:
            raise SystemExit(f"{name} is no picture; expected some of {', '.join(known)}")
    for name in names or known:
        content = carry_out_picture(read_study(HERE / f"{name}.toml"), ROOT / "results" / f"{name}.json")
        draw(content, ROOT / "docs" / "images" / f"{name}.png")
        for line in told(content):
            print(line)


if __name__ == "__main__":
    main(sys.argv[1:])
