"""A pool whose workers let go of their tensors before they end."""

import gc
import multiprocessing.pool

__all__ = ["Pool", "clean_worker"]


def clean_worker(*args, **kwargs):
    """The loop of a worker, and then the destructors, which Python leaves out."""
    multiprocessing.pool.worker(*args, **kwargs)
    gc.collect()


class Pool(multiprocessing.pool.Pool):
    """multiprocessing's Pool; tensors of arguments and results lie in shared memory."""

    @staticmethod
    def Process(ctx, *args, target, **kwargs):
        return ctx.Process(*args, target=clean_worker, **kwargs)
