"""Mutants of the files that raan loads: one number, one shape, one type or one name is changed at a time.

As a program it is a child process that loads mutants and reports what became of each. It imports everything once,
and its parent limits its memory and kills it when a mutant takes too long.
"""

import copy
import io
import json
import os
import resource
import select
import shutil
import subprocess
import sys
import time
import warnings
import zipfile
from collections import Counter
from pathlib import Path

import numpy as np

MEMORY = 4 * 2**30
"""Bytes of address space of the child, of which the libraries take more than half."""

SECONDS = 20
"""Processor time that one mutant may take; ten times as much may pass on a busy machine."""

NUMBERS = [0, -1, 1, 2, 7, 255, 2**15, 2**31, 2**62, 10**30, 0.5, -1e-300, 1e300, 1e999, -1e999, float("nan")]
OTHERS = [None, True, "", "text", "0", [], {}, [1, 2], {"float": "nan"}, {"array": "0"}, {"estimator": 0}]
DTYPES = ["f8", "f4", "i8", "i4", "u1", "b1", "U5", "c16"]


def leaves(value, path=()):
    """The paths of everything in a JSON value."""
    yield path
    for key, each in (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    ):
        yield from leaves(each, (*path, key))


def mutate_json(value, rng):
    """The value with one part changed, removed, doubled or renamed."""
    value = copy.deepcopy(value)
    paths = list(leaves(value))[1:]
    *way, last = paths[rng.integers(len(paths))]
    parent = value
    for key in way:
        parent = parent[key]
    old, how = parent[last], rng.integers(8)
    if how == 0:
        del parent[last]
    elif how == 1 and isinstance(parent, list):
        parent.insert(last, copy.deepcopy(old))
    elif how == 1:
        parent[f"{last}x"] = parent.pop(last)
    elif how == 2 and isinstance(old, list) and len(old) > 1:
        parent[last] = old[::-1]
    elif isinstance(old, int | float) and not isinstance(old, bool) and how < 6:
        parent[last] = [*NUMBERS, old + 1, -old, old * 2][rng.integers(len(NUMBERS) + 3)]
    elif isinstance(old, str) and how < 6:
        words = [each for path in paths if isinstance(each := _at(value, path), str)]
        parent[last] = words[rng.integers(len(words))] if how < 5 else old[:-1]
    else:
        parent[last] = OTHERS[rng.integers(len(OTHERS))]
    return value


def _at(value, path):
    for key in path:
        value = value[key]
    return value


def mutate_array(array, rng):
    """The array with one number, its shape, its type or its length changed."""
    array, how = array.copy(), rng.integers(8)
    if array.size and how < 4:
        place = tuple(rng.integers(size) for size in array.shape)
        fields = array.dtype.names
        part = array[fields[rng.integers(len(fields))]] if fields else array
        with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
            try:
                new = NUMBERS[rng.integers(len(NUMBERS))] if part.dtype.kind in "fc" else rng.integers(-300, 300)
                part[place] = np.asarray(new).astype(part.dtype)
            except (ValueError, OverflowError, TypeError):
                part[place] = 0
        return array
    if how == 4:
        return array[:-1] if array.ndim else array.reshape(1)
    if how == 5:
        return np.concatenate([array, array]) if array.ndim else array
    if how == 6 and not array.dtype.names:
        with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
            try:
                return array.astype(DTYPES[rng.integers(len(DTYPES))])
            except (ValueError, TypeError):
                return array[None]
    return array.T if array.ndim > 1 else array.reshape(-1, 1)


def mutate_npy(content, rng):
    """The bytes of an array with its values or its header changed."""
    if rng.integers(6) == 0:
        size = int.from_bytes(content[8:10], "little")
        header = content[10 : 10 + size].decode("latin1")
        new = header.replace("'shape': (", f"'shape': ({NUMBERS[rng.integers(10)]}, ", 1)
        new = new if rng.integers(2) else header.replace("'<f8'", "'|O'").replace("'<i8'", "'<f8'")
        raw = new.encode("latin1")
        return content[:8] + len(raw).to_bytes(2, "little") + raw + content[10 + size :]
    stream = io.BytesIO()
    np.save(stream, mutate_array(np.load(io.BytesIO(content), allow_pickle=False), rng))
    return stream.getvalue()


def mutate_zip(content, rng):
    """The archive with one member changed, removed or called otherwise."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    arrays = [name for name in members if name.endswith((".npy", ".npz"))]
    others = [name for name in members if name not in arrays]
    chosen = others if others and (not arrays or rng.integers(2)) else arrays
    name = chosen[rng.integers(len(chosen))]
    if name.endswith(".npz"):
        members[name] = mutate_zip(members[name], rng)
    elif name.endswith(".npy") and "words" in name:
        words = json.loads(str(np.load(io.BytesIO(members[name]))))
        stream = io.BytesIO()
        np.save(stream, np.array(json.dumps(mutate_json(words, rng))))
        members[name] = stream.getvalue()
    elif name.endswith(".npy"):
        if rng.integers(12) == 0:
            members[f"{name[:-4]}x.npy"] = members.pop(name)
        else:
            members[name] = mutate_npy(members[name], rng)
    else:
        members[name] = json.dumps(mutate_json(json.loads(members[name]), rng)).encode()
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for each, data in members.items():
            archive.writestr(each, data)
    return stream.getvalue()


def mutate_tensors(content, rng):
    """A safetensors file with its header or one byte of its numbers changed."""
    size = int.from_bytes(content[:8], "little")
    header, body = json.loads(content[8 : 8 + size]), bytearray(content[8 + size :])
    if rng.integers(2):
        body[rng.integers(len(body))] ^= 1 << int(rng.integers(8))
    else:
        header = mutate_json(header, rng)
    raw = json.dumps(header).encode()
    return len(raw).to_bytes(8, "little") + raw + bytes(body)


def mutate(name, content, rng):
    """A file of a model's folder, or an outcome, changed in one place."""
    if name.endswith(".json"):
        return json.dumps(mutate_json(json.loads(content), rng)).encode()
    return (mutate_tensors if name.endswith(".safetensors") else mutate_zip)(content, rng)


def write_mutant(base, folder, number):
    """Copy a folder with one file changed; return whether its manifest vouches for the change."""
    from raan.io.files import MANIFEST, describe

    rng = np.random.default_rng(number)
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(base, folder)
    names = sorted(file.name for file in base.iterdir())
    name = names[rng.integers(len(names))]
    (folder / name).write_bytes(mutate(name, (base / name).read_bytes(), rng))
    sealed = name != MANIFEST and (folder / MANIFEST).is_file() and bool(rng.integers(4))  # most of them
    if sealed:
        manifest = json.loads((folder / MANIFEST).read_text())
        manifest["files"][name] = describe(folder / name)
        (folder / MANIFEST).write_text(json.dumps(manifest))
    return sealed or not (folder / MANIFEST).is_file()


def use(folder, rows):
    """All that a model predicts, or all that an outcome holds, as text to compare."""
    import raan
    from raan.fit.outcome import Outcome

    if (folder / "outcome.npz").is_file():
        outcome = Outcome.load(folder)
        arrays = *vars(outcome.points).values(), outcome.test, outcome.switched
        return lambda: repr(
            (outcome.to_dict(), outcome.facts, outcome.promise, *(each.tolist() for each in arrays))
        )
    model = raan.load(folder)
    return lambda: repr((model.predict(rows).tolist(), np.asarray(model.predict_proba(rows)).tolist()))


def attempt(base, folder, rows, expected, number):
    """What became of a mutant: a word, and for a fault what was wrong."""
    from raan.io import CorruptModel, WrongEncoder

    sealed = write_mutant(base, folder, number)
    try:
        found = use(folder, rows)
    except (CorruptModel, WrongEncoder):
        return "refused", ""
    except Exception as error:
        return "fault", f"load: {type(error).__name__}: {error}"[:300]
    try:
        same = found() == expected
    except MemoryError as error:
        return "fault", f"predict: MemoryError: {error}"[:300]
    except Exception as error:
        return (
            ("refused at predict", f"{type(error).__name__}: {error}"[:200]) if sealed else ("fault", str(error))
        )
    if same:
        return "same", ""
    return ("another model", "") if sealed else ("fault", "another prediction by a folder with a wrong checksum")


def main(base, folder, begin, end):
    """Try mutants one by one; a line before and after each."""
    import pandas as pd

    base, folder = Path(base), Path(folder)
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    rows = pd.read_pickle(base.parent / f"{base.name}.rows")
    expected = use(base, rows)()
    for number in range(int(begin), int(end)):
        sys.stdout.write(f"{number}\n")
        sys.stdout.flush()
        sys.stdout.write(json.dumps([number, *attempt(base, folder, rows, expected, number)]) + "\n")
        sys.stdout.flush()


def limit():
    """Bound the memory of the process that is about to run."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def processor_seconds(pid):
    """How long a process has computed: a busy machine may keep it waiting much longer."""
    try:
        words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:  # not Linux: then the time that passes
        return time.monotonic()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def run(base, folder, numbers):
    """Try the mutants of these numbers in child processes; how many ended how, and the faults."""
    counts, faults, begin = Counter(), [], numbers.start
    while begin < numbers.stop:
        command = [sys.executable, __file__, base, folder, begin, numbers.stop]
        child = subprocess.Popen(
            list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=limit
        )
        last, done, seconds = None, False, 10 * SECONDS  # the first line comes after the imports
        while not done:
            ready, used = [], processor_seconds(child.pid)
            for _ in range(10):
                ready = ready or select.select([child.stdout], [], [], seconds)[0]
                if ready or processor_seconds(child.pid) - used > SECONDS:
                    break
            line = child.stdout.readline() if ready else ""
            if not line:
                child.kill()
                said = child.stderr.read()[-500:]
                code = child.wait()
                if last is None or begin > last:
                    if begin < numbers.stop:
                        raise AssertionError(f"the child ended before its first mutant: {said}")
                    done = True
                    break
                faults.append((last, f"{'ended with code ' + str(code) if ready else 'hangs'}: {said}"))
                counts["crash or hang"] += 1
                begin, done = last + 1, True
                break
            found, seconds = json.loads(line), SECONDS
            if isinstance(found, int):
                last = found
            else:
                number, word, why = found
                counts[word] += 1
                faults += [(number, why)] if word == "fault" else []
                begin = number + 1
        child.stdout.close()
        child.stderr.close()
    return counts, faults


if __name__ == "__main__":
    main(*sys.argv[1:])
