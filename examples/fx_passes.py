"""Six passes over one model: each says what it changed, and that the results agree.

./run python examples/fx_passes.py [picture.html]
"""

import sys

from taeda.fx.experimental.const_fold import split_const_subgraphs
from taeda.fx.experimental.optimization import remove_dropout
from taeda.fx.passes.graph_drawer import FxGraphDrawer
from taeda.fx.passes.quantize_dequantize import calibrate, insert_quantize_dequantize
from taeda.fx.passes.shape_prop import ShapeProp
from taeda.fx.passes.timing import NodeTiming

import taeda
import taeda.nn as nn
from taeda import fx


@fx.wrap
def mul_add(y, gain, x):
    """What the fusing pass puts in place of a product and a sum."""
    return taeda.addcmul(x, y, gain)


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.first = nn.Linear(width, 4 * width)
        self.drop = nn.Dropout(0.1)
        self.second = nn.Linear(4 * width, width)
        self.gain = nn.Parameter(taeda.zeros(width))

    def forward(self, x):
        y = self.second(self.drop(taeda.relu(self.first(self.norm(x)))))
        return y * (self.gain.exp() + 1) + x


def count(module):
    return len(module.graph.nodes)


def difference(first, second, x):
    return (first(x) - second(x)).abs().max().item()


def main(picture=None):
    taeda.manual_seed(0)
    model = nn.Sequential(*[Block(64) for _ in range(4)]).eval()
    x = taeda.randn(32, 64)
    traced = fx.symbolic_trace(model)
    print(f"traced: {count(traced)} nodes")

    lean = remove_dropout(model)
    print(f"remove dropout: {count(lean)} nodes, differs by {difference(lean, model, x):.1e}")

    fused = fx.symbolic_trace(lean)
    places = fx.replace_pattern(
        fused, lambda y, gain, x: y * gain + x, lambda y, gain, x: mul_add(y, gain, x)
    )
    print(f"fuse: {len(places)} places, differs by {difference(fused, model, x):.1e}")

    folded = split_const_subgraphs(lean)
    print(
        f"fold constants: {count(lean)} to {count(folded)} nodes, "
        f"differs by {difference(folded, model, x):.1e}"
    )

    smooth = fx.symbolic_trace(lean)
    places = fx.replace_pattern(smooth, lambda a: taeda.relu(a), lambda a: nn.functional.gelu(a))
    print(f"relu to gelu: {len(places)} places, differs by {difference(smooth, model, x):.1e}")

    quantized = fx.symbolic_trace(lean)
    ranges = calibrate(quantized, [(taeda.randn(32, 64),) for _ in range(4)])
    quantized = insert_quantize_dequantize(quantized, ranges)
    print(f"eight bits: {count(quantized)} nodes, differs by {difference(quantized, model, x):.1e}")

    timing = NodeTiming(lean)
    for _ in range(20):
        timing.run(x)
    print(timing.summary(top=5))

    if picture is not None:
        ShapeProp(lean).propagate(x)
        FxGraphDrawer(lean, "model").write(picture)
        print(f"wrote {picture}")


if __name__ == "__main__":
    main(*sys.argv[1:])
