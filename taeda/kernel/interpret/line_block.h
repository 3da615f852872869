// Which loops run in blocks of lines: Note [Lines].
#pragma once

#include <optional>
#include <set>

#include "taeda/kernel/ir/kernel.h"

namespace taeda::kernel {

// Whether several indices of axis `line` of a loop may go through its steps together: loops inside
// have one axis of the same extent for all of them, and every access moves evenly with the axis. An
// axis after it belongs to the tiles. Gives the local buffers that each line needs for itself;
// nothing where lines have to run one by one.
std::optional<std::set<int>> find_private_locals(const Kernel& kernel, const Loop& loop,
                                                 size_t line);

bool uses_symbol(const Expr* e, const Expr* symbol);

}  // namespace taeda::kernel
