"""The module that the Python tests exercise: Taeda, or what TAEDA_TEST_MODULE names instead.

`TAEDA_TEST_MODULE=torch pytest tests/python` runs the same tests on PyTorch, which shows that they
ask for PyTorch's behaviour.
"""

import importlib
import os

NAME = os.environ.get("TAEDA_TEST_MODULE", "taeda")
t = importlib.import_module(NAME)
