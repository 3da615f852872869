"""Writes distributions.json: what PyTorch's distributions say. Run it with PyTorch installed."""

import json
import pathlib
import sys

import torch
import torch.distributions

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from distribution_cases import everything  # noqa: E402

if __name__ == "__main__":
    text = json.dumps(everything(torch), indent=0, sort_keys=True)
    (HERE / "distributions.json").write_text(text + "\n")
