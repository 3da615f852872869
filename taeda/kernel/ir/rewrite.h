// Replacing symbols in all that a loop computes.
#pragma once

#include <string>

#include "taeda/base/function_ref.h"
#include "taeda/kernel/ir/kernel.h"

namespace taeda::kernel {

// A new index for an old one.
using IndexMap = FunctionRef<const Expr*(const Expr* at)>;

// Rewrites indices, extents and values of the steps under `steps`. Values that other loops use too
// are kept for them: nodes are added, never changed.
void rewrite_indices(Kernel& kernel, std::vector<Step>& steps, IndexMap map);

// Puts one value in the place of another under `steps`, the same way.
void replace_value(Kernel& kernel, std::vector<Step>& steps, NodeId from, NodeId to);

// Every index expression under the steps, of loads and stores and values.
std::vector<const Expr*> indices_of(const Kernel& kernel, const std::vector<Step>& steps);

// The roots of the values that the steps and those inside of their loops compute.
std::vector<NodeId> roots_under(const Kernel& kernel, const std::vector<Step>& steps);

// A variable of a name that nothing in the kernel has: the name itself, or one with a number.
const Expr* fresh_axis(Kernel& kernel, const std::string& name);

// A buffer of a name that no other has: the name itself, or one with a number.
int add_buffer(Kernel& kernel, const std::string& name, DType dtype, const Expr* numel,
               Space space);
// The dtype that holds values of a type as they are.
DType dtype_of(Type type);
// Whether an expression is made of parameters alone.
bool is_of_params(const Kernel& kernel, const Expr* e);
// ValueError where an expression is made of more than parameters.
void check_params(const Kernel& kernel, const Expr* e);

}  // namespace taeda::kernel
