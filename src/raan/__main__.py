"""`python -m raan` is the command `raan`."""

from raan.cli import main

main()
