// Index expressions as C++.
#pragma once

#include <string>

#include "taeda/base/function_ref.h"
#include "taeda/symbolic/expr.h"

namespace taeda::kernel {

// The value as an expression of 64-bit integers, valid in every dialect; `name` spells symbols.
std::string print_index(const symbolic::Expr* e,
                        FunctionRef<std::string(const symbolic::Expr*)> name);

}  // namespace taeda::kernel
