// Lookup in the generated table of symbolic bodies.
#include "taeda/ops/symbolic.h"

namespace taeda {

const SymbolicBody* find_symbolic_body(std::string_view name) {
  for (const SymbolicBody* b : symbolic_bodies())
    if (name == b->name) return b;
  return nullptr;
}

}  // namespace taeda
