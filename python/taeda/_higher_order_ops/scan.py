"""PyTorch's path of scan, which is in `taeda.fx.control_flow.sequential_scan`."""

from taeda.fx.control_flow.sequential_scan import scan, scan_op

__all__ = ["scan", "scan_op"]
