"""The methods by name. METHODS is a plain dict: a new method is one file and one line."""

from raan.errors import needing

with needing("raan.methods"):
    from raan.data.batches import Sampling
    from raan.lab.methods.adversarial import Adversarial
    from raan.lab.methods.decisions import CommonThreshold, NetworkFrontier
    from raan.lab.methods.dfr import DFR
    from raan.lab.methods.group_dro import GroupDRO
    from raan.lab.methods.irm import IRM
    from raan.lab.methods.penalties import EOR, HSIC, GapPenalty
    from raan.lab.methods.rnf import RNF
    from raan.methods.erm import ERM, GroupWeights, Reweighing
    from raan.methods.method import GroupUse, Memory, Method, Refit, Scope, grid, stack
    from raan.methods.raan import RAAN, FixedAffinities

METHODS: dict[str, Method | Refit] = {
    # The paper's.
    "Vanilla": ERM(),
    "RNF": RNF(),
    "Adversarial (DP)": Adversarial("DP"),
    "Adversarial (EO)": Adversarial("EO"),
    "EOR": EOR(scope=Scope.HEAD),
    "RL-EOR": EOR(scope=Scope.MODEL),
    "GroupDRO": GroupDRO(),
    "IRM": IRM(),
    "RAAN": RAAN(scope=Scope.HEAD),
    "RL-RAAN": RAAN(scope=Scope.MODEL),
    # Affinities without a gradient.
    "RL-RAAN (fixed affinities)": FixedAffinities(),
    # What of a gain is balancing.
    "Balancing only": RAAN(temperature=float("inf"), scope=Scope.HEAD),
    "RL-Balancing only": RAAN(temperature=float("inf"), scope=Scope.MODEL),
    "ERM (balanced batches)": ERM(sampling=Sampling.BALANCED),
    "ERM (group weights)": GroupWeights(),
    # What needs the first stage only.
    "Plain + threshold": CommonThreshold(),
    "FairFrontier": NetworkFrontier(),
    # Other baselines.
    "Reweighing": Reweighing(),
    "DFR": DFR(),
    "HSIC": HSIC(),
    "DP penalty": GapPenalty("DP"),
    "EO penalty": GapPenalty("EO", weight=0.1),
}
"""Every method by the name that studies and tables give it, with its default settings."""

__all__ = [
    "DFR",
    "EOR",
    "ERM",
    "HSIC",
    "IRM",
    "METHODS",
    "RAAN",
    "RNF",
    "Adversarial",
    "CommonThreshold",
    "FixedAffinities",
    "GapPenalty",
    "GroupDRO",
    "GroupUse",
    "GroupWeights",
    "Memory",
    "Method",
    "NetworkFrontier",
    "Refit",
    "Reweighing",
    "Sampling",
    "Scope",
    "grid",
    "stack",
]
