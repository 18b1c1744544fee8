"""The run-time type checker of the tests: beartype, taking an int where a float is meant, as mypy does."""

from beartype import BeartypeConf, beartype

checked = beartype(conf=BeartypeConf(is_pep484_tower=True))
