"""Writes dispatch.json: what a dispatch mode of PyTorch sees of the calls in dispatch_calls.py.

Run with an interpreter that has PyTorch: python tests/python/golden/make_dispatch.py
"""

import json
import sys
from pathlib import Path

import torch
from torch.utils._python_dispatch import TorchDispatchMode

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parent))
from dispatch_calls import calls, seen  # noqa: E402

rows = {e: seen(torch, torch.nn.functional, TorchDispatchMode, e) for e in calls()}
lines = ",\n".join(f"{json.dumps(e)}: {json.dumps(found)}" for e, found in rows.items())
(FOLDER / "dispatch.json").write_text(f"{{\n{lines}\n}}\n")
