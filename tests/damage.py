"""Damage to files, and what became of reading them."""

import numpy as np

from commands import said


def damages(content, number, seed=0):
    """The content with a bit flipped, a range overwritten, cut out or doubled, or the end cut off."""
    rng = np.random.default_rng(seed)
    for which in range(number):
        begin, end = sorted(rng.integers(0, len(content), size=2).tolist())
        end = min(end, begin + 50)
        middle = [
            bytes([content[begin] ^ 1 << int(rng.integers(8))]) + content[begin + 1 : end],
            rng.bytes(end - begin),
            b"",
            2 * content[begin:end],
        ]
        yield content[:begin] if which % 5 == 4 else content[:begin] + middle[which % 5] + content[end:]


def flips(content, number):
    """The content with one bit flipped, at places all over it."""
    for place in np.linspace(0, len(content) - 1, number).astype(int).tolist():
        yield content[:place] + bytes([content[place] ^ 1 << place % 8]) + content[place + 1 :]


def attempt(read, *refusals):
    """What is read and no words, or nothing and the words of the error if it is one of the refusals."""
    try:
        return read(), ""
    except refusals as error:
        return None, str(error)


def check(done, *names):
    """Done, or refused in a paragraph that names one of the files."""
    assert done.returncode in (0, 2), done.stderr
    assert "Traceback" not in done.stderr
    if done.returncode == 2:
        assert any(name in said(done) for name in names), said(done)
    return done.returncode
