"""Programs that say `import torch` run with Taeda: `taeda run`, `taeda shell`.

Note [Answering torch]: a finder (`answer.py`) stands before all others. `torch.x` is the module
object `taeda.x` under a second key of sys.modules, never a copy, and PyTorch's files are not looked
for. Classes say `torch` as their package, as libraries expect that read `type(x).__module__`. Child
processes get the same finder from a folder on PYTHONPATH (`startup/`), whether they are spawned by
multiprocessing or are commands of their own.
"""

from taeda.run.answer import PYTORCH_VERSION, install

__all__ = ["PYTORCH_VERSION", "install"]
