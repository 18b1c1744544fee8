"""Tests of what only some systems have."""

import os
import sys

import pytest

posix = pytest.mark.skipif(os.name == "nt", reason="signals, links, pipes and permissions as POSIX has them")
linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc, or memory as Linux counts it")
