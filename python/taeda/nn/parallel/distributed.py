"""DistributedDataParallel: the name, which says that there is no communication of processes."""

from taeda.nn.modules.module import Module

__all__ = ["DistributedDataParallel"]


class DistributedDataParallel(Module):
    """Gradients averaged over processes, which needs communication that Taeda does not have."""

    def __init__(self, module, *args, **kwargs):
        raise NotImplementedError(
            "[DistributedDataParallel] communication between processes is not implemented; train "
            "the module itself in one process"
        )
