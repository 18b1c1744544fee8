"""Figures as files."""

from pathlib import Path

from matplotlib.figure import Figure

from raan.files.write import write_whole


def save_figure(figure: Figure, path: str | Path) -> None:
    """Write the figure as the file's ending says, .png, .svg or .pdf: whole or not at all."""
    kind = Path(path).suffix.lower().removeprefix(".") or "png"
    # An SVG without the time of its drawing: the same numbers give the same picture.
    metadata = {"Date": None} if kind == "svg" else None
    with write_whole(path) as part:
        figure.savefig(part, format=kind, dpi=150, metadata=metadata)
