"""Control flow as operators: a branch, loops and scans that a tracer records as one call each.

One operator per file: `branch.py` (cond), `loop.py` (while_loop), `slice_map.py` (map),
`sequential_scan.py` and `parallel_scan.py`, `streamed_attention.py` (compiled flex_attention);
`mode_scopes.py` runs functions under a mode. Their
functions become regions in `_capture.py`, `_lifting.py` and `_regions.py`. Everything else about
the operators is C++: `taeda/fx/control_flow`.
"""

from taeda.fx.control_flow.branch import cond
from taeda.fx.control_flow.loop import while_loop
from taeda.fx.control_flow.mode_scopes import wrap_with_autocast, wrap_with_set_grad_enabled
from taeda.fx.control_flow.parallel_scan import associative_scan
from taeda.fx.control_flow.sequential_scan import scan
from taeda.fx.control_flow.slice_map import map
from taeda.fx.control_flow.streamed_attention import streamed_attention

__all__ = [
    "associative_scan",
    "cond",
    "map",
    "scan",
    "streamed_attention",
    "while_loop",
    "wrap_with_autocast",
    "wrap_with_set_grad_enabled",
]
