"""The parts of `./run`, on the standard library alone: environment, build, checks, tests."""
