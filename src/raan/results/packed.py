"""A run's many points in few numbers: of two classes, how many rows of each cell are given the second.

The rest follows from how many rows the cells have, the same at every point. Cells without rows are left out.
"""

from collections.abc import Mapping
from typing import Any

PARTS = ("validation", "test")


def pack(content: Mapping[str, Any]) -> dict[str, Any]:
    """The content of a record in few numbers, where its threshold is a dial and it has two classes."""
    if not content.get("switched") or len(content["classes"]) != 2:
        return dict(content)
    cells = {part: [sum(pair) for pair in _pairs(content[part][0])] for part in PARTS}
    packed = {
        part: [_some([pair[1] for pair in _pairs(row)], cells[part]) for row in content[part]] for part in PARTS
    }
    switched = [_some(row, cells["validation"]) for row in content["switched"]]
    return {**content, "cells": cells, **packed, "switched": switched}


def unpack(content: Mapping[str, Any]) -> dict[str, Any]:
    """The content as it was before; what was not packed is as it is."""
    if "cells" not in content:
        return dict(content)
    cells = {part: [int(size) for size in content["cells"][part]] for part in PARTS}
    unpacked: dict[str, Any] = {}
    for part, sizes in cells.items():
        rows = (_whole(row, sizes) for row in content[part])
        unpacked[part] = [
            [number for size, second in zip(sizes, row, strict=True) for number in (size - second, second)]
            for row in rows
        ]
    switched = [_whole(row, cells["validation"]) for row in content["switched"]]
    return {name: value for name, value in content.items() if name != "cells"} | unpacked | {"switched": switched}


def _pairs(row: list[int]) -> list[tuple[int, int]]:
    """The counts of one point, [label, attribute, prediction] in a row, by cell."""
    return list(zip(row[::2], row[1::2], strict=True))


def _some(row: list[int], sizes: list[int]) -> list[int]:
    """What belongs to cells that have rows."""
    return [number for number, size in zip(row, sizes, strict=True) if size]


def _whole(row: list[int], sizes: list[int]) -> list[int]:
    """What belongs to all cells: 0 for those without rows."""
    if len(row) != sum(size > 0 for size in sizes):
        raise ValueError(f"{len(row)} numbers for {sum(size > 0 for size in sizes)} cells that have rows")
    numbers = iter(row)
    return [next(numbers) if size else 0 for size in sizes]
