// The text form of graphs: stable, readable, and read back.
//
//   graph(x: f32[2, 3], y: f32[3]) {
//     add: f32[2, 3] = aten::add.Tensor(x, y, alpha=2)
//     w = attr("linear.weight")
//     split = aten::split.Tensor(add, 1)
//     getitem = builtin::getitem(split, 0)
//     return (getitem, [w, None, 1.5, "text", dtype.float32, device("cpu"), slice(0, None, 2)])
//   }
//
// A region is written in place of an argument, as a graph. What is no core value is printed between
// angle brackets and cannot be read back: parse takes closed graphs.
#pragma once

#include "taeda/fx/graph.h"

namespace taeda::fx {

TAEDA_API std::string to_text(const Graph& graph);
TAEDA_API std::string to_text(const Arg& arg);
// "f32[2, 3]", with strides in braces where they are not contiguous and the device where it is not
// the CPU; "(f32[2], i64[2])" for several results, "Sym(s0)" for a symbolic number.
TAEDA_API std::string type_text(const Value& val);
// Short names of dtypes: f32, bf16, i64, b8, c64...
TAEDA_API const char* short_name(DType dtype);

// Gives a symbolic number its node; null where symbols are refused.
using SymbolReader = FunctionRef<Value(std::string_view expression)>;

// Throws RuntimeError with line and column. Nesting is bounded.
TAEDA_API IntrusivePtr<Graph> parse_graph(std::string_view text);
TAEDA_API IntrusivePtr<Graph> parse_graph(std::string_view text, SymbolReader symbols);
// One constant argument: what to_text(arg) gives for arguments without nodes, regions and symbols.
TAEDA_API Arg parse_arg(std::string_view text);

}  // namespace taeda::fx
