"""raan demo."""


def demo() -> None:
    """Train Vanilla, RAAN and RL-RAAN on Adult, five seeds: the table, the trade-off and a figure."""
