"""PyTorch's path of the tracer that rewrites asserts: `taeda.fx.rewriting_trace`."""

from taeda.fx.rewriting_trace import AST_Rewriter, RewritingTracer

__all__ = ["AST_Rewriter", "RewritingTracer"]
