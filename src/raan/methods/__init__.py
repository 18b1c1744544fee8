"""The methods, one small file each. METHODS is a plain dict: a new method is one file and one line."""

from raan.methods.erm import ERM
from raan.methods.method import Memory, Method, Scope, stack
from raan.methods.raan import RAAN

METHODS: dict[str, Method] = {
    "Vanilla": ERM(),
    "RAAN": RAAN(scope=Scope.HEAD),
    "RL-RAAN": RAAN(scope=Scope.MODEL),
}

__all__ = ["ERM", "METHODS", "RAAN", "Memory", "Method", "Scope", "stack"]
