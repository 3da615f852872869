// What compilers make, with the number and the kinds of its results checked at every run.
#pragma once

#include "taeda/fx/compiler.h"

namespace taeda::aot {

// Both call the compiler, which may be anybody's: what its function gives must be what the graph
// gives. AssertionError for results of a forward, a tensor where the graph has one.
fx::CompiledFn compile_forward(const fx::CompilerFn& compiler, const fx::Graph& graph,
                               fx::AttributeReader attributes);
// RuntimeError for those of a backward, tensors or None.
fx::CompiledFn compile_backward(const fx::CompilerFn& compiler, const fx::Graph& graph,
                                fx::AttributeReader attributes);

}  // namespace taeda::aot
