"""PyTorch's path of associative_scan, which is in `taeda.fx.control_flow.parallel_scan`."""

from taeda.fx.control_flow.parallel_scan import associative_scan, associative_scan_op

__all__ = ["associative_scan", "associative_scan_op"]
