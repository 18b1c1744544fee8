"""Small files in the forms in which AHRQ publishes HC-181: SAS transport, Stata and fixed-width text."""

import struct
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

Person = dict[str, float]


def write_transport(path: Path, people: Sequence[Person]) -> Path:
    """A SAS transport file, version 5, by the letter of its published definition."""
    names = list(people[0])
    date = b"01JAN26:00:00:00"
    library = _header(b"LIBRARY HEADER RECORD!!!!!!!" + b"0" * 30) + _record(
        b"SAS     SAS     SASLIB  9.4     X", date
    )
    member = (
        _header(b"MEMBER  HEADER RECORD!!!!!!!000000000000000001600000000140")
        + _header(b"DSCRPTR HEADER RECORD!!!!!!!" + b"0" * 30)
        + _record(b"SAS     H181    SASDATA 9.4     X", date)
        + date.ljust(80)
    )
    count = f"{len(names):04}".encode()
    described = b"".join(_namestr(number, name) for number, name in enumerate(names))
    variables = _header(b"NAMESTR HEADER RECORD!!!!!!!000000" + count + b"0" * 20) + _padded(described)
    values = b"".join(_ibm(person[name]) for person in people for name in names)
    data = _header(b"OBS     HEADER RECORD!!!!!!!" + b"0" * 30) + _padded(values)
    path.write_bytes(library + date.ljust(80) + member + variables + data)
    return path


def _header(text: bytes) -> bytes:
    return (b"HEADER RECORD*******" + text).ljust(80)


def _record(text: bytes, date: bytes) -> bytes:
    return text.ljust(64) + date


def _padded(data: bytes) -> bytes:
    return data + b" " * (-len(data) % 80)


def _namestr(number: int, name: str) -> bytes:
    numeric, length = 1, 8
    start = struct.pack(">hhhh", numeric, 0, length, number + 1) + name.encode().ljust(8) + b" " * 40
    form = b" " * 8 + struct.pack(">hhh2s", 0, 0, 0, b"  ") + b" " * 8 + struct.pack(">hh", 0, 0)
    return start + form + struct.pack(">l", number * length) + b" " * 52


def _ibm(value: float) -> bytes:
    """The number in the floating point of IBM's mainframes: 16 to a power, times a fraction of 56 bits."""
    if value == 0:
        return bytes(8)
    exponent, fraction = 64, abs(value)
    while fraction >= 1:
        exponent, fraction = exponent + 1, fraction / 16
    while fraction < 1 / 16:
        exponent, fraction = exponent - 1, fraction * 16
    return bytes([exponent | (128 if value < 0 else 0)]) + int(fraction * 2**56).to_bytes(7, "big")


def write_stata(path: Path, people: Sequence[Person]) -> Path:
    """A Stata file, whose names AHRQ writes in small letters."""
    pd.DataFrame(people).rename(columns=str.lower).astype(np.float64).to_stata(path, write_index=False)
    return path


def write_fixed_width(path: Path, people: Sequence[Person]) -> Path:
    """Fixed-width text, eight characters a column, the person's identifier first."""
    lines = [
        f"{number:08}" + "".join(_eight_wide(value) for value in person.values())
        for number, person in enumerate(people)
    ]
    path.write_text("\r\n".join(lines) + "\r\n", encoding="ascii")
    return path


def _eight_wide(value: float) -> str:
    return f"{value:8.0f}" if value == int(value) else f"{value:8.2f}"


def sas_statements(names: Sequence[str]) -> str:
    """How AHRQ tells SAS where the columns stand, prose included."""
    places = "\n".join(f"      @{9 + 8 * number:<6} {name:<9} 8.0" for number, name in enumerate(names))
    return (
        "There are two ways to create a permanent SAS dataset, using either the SAS\n"
        "transport data file (H181.SSP) or the ASCII data file (H181.DAT).\n\n"
        f"INFILE IN1 LRECL=5307;\nINPUT @1      DUPERSID $8.0\n{places}\n;\n"
        "FORMAT SEX SEX. ;\nLABEL SEX ='SEX';\n"
    )


def stata_statements(names: Sequence[str]) -> str:
    """The same for Stata."""
    places = "\n".join(f"  double {name} {9 + 8 * number}-{16 + 8 * number}" for number, name in enumerate(names))
    return f"clear\n\n* INPUT ALL VARIABLES;\ninfix\n  str    DUPERSID 1-8\n{places}\nusing h181.dat;\n"
