"""Attention block by block, with functions for what happens to a block of scores."""

from taeda.fx.control_flow._capture import ControlFlow, closed_graphs

__all__ = ["streamed_attention"]


class StreamedAttention(ControlFlow):
    """`streamed_attention(full_step, cut_step, operands, places, others, blocks, settings)`.

    See Note [Streamed attention] in `taeda/fx/control_flow/streamed_attention.cpp`. Operands are
    query, key and value; places are like the arguments of a step before `others`; blocks are the
    lists of a BlockMask, cut blocks first, or nothing; settings hold the scale. The results are
    the output, the logarithms of the sums and the largest scores.
    """

    graph_names = ("full_step_graph", "cut_step_graph")

    def __init__(self):
        super().__init__("streamed_attention")

    def closed(self, tracer, full_step, cut_step, operands, places, others, blocks, settings):
        graphs, captured = closed_graphs(tracer, (full_step, cut_step), (*places, *others))
        return *graphs, operands, places, (*others, *captured), blocks, settings


class StreamedAttentionBackward(ControlFlow):
    """What autograd calls for the gradients of `streamed_attention`; its steps are graphs."""

    graph_names = ("full_step_graph", "cut_step_graph")

    def __init__(self):
        super().__init__("streamed_attention_backward")

    def closed(self, tracer, full_step, cut_step, operands, places, others, blocks, settings):
        graphs, captured = closed_graphs(
            tracer, (full_step, cut_step), (*places, *others, places[0])
        )
        if captured:
            raise RuntimeError("a step of the backward pass takes a tensor that is no operand")
        return *graphs, operands, places, others, blocks, settings


streamed_attention = StreamedAttention()
streamed_attention_backward = StreamedAttentionBackward()
