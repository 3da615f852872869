"""Values that PyTorch gives for the records' samples, kept under tests/golden.

`./run golden` makes them (`python -m golden_values`); tests/python/test_golden.py compares Taeda's
with them, without PyTorch. Both sides run `evaluate.evaluate`, which is written once for the two.
"""
