// Values as dtypes hold them, and bodies put into the graph of a kernel.
#pragma once

#include "taeda/base/export.h"
#include "taeda/base/function_ref.h"
#include "taeda/kernel/sym.h"

namespace taeda::kernel {

// The value as a dtype would hold it, still in its compute type: rounded or wrapped.
TAEDA_API Sym narrowed(ExprGraph& graph, Sym value, DType dtype);
// The value as it is read after a store to memory of a dtype: in that dtype's compute type.
TAEDA_API Sym as_stored(ExprGraph& graph, Sym value, DType dtype);
// The traced nodes of another graph in this one, with leaves of its own.
TAEDA_API NodeId inlined(ExprGraph& graph, const ExprGraph& from, NodeId root,
                         FunctionRef<NodeId(const Node&)> leaf);

}  // namespace taeda::kernel
