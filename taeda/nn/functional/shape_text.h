// Shapes in messages as Python prints them.
#pragma once

#include <string>

#include "taeda/core/symint.h"

namespace taeda::nn::functional {

// The shape of a tensor: torch.Size([2, 3]).
inline std::string size_text(SymIntList sizes) { return str("torch.Size(", sizes, ")"); }

// A shape that was expected: (2, 3).
inline std::string tuple_text(SymIntList sizes) {
  std::string out = str(sizes);
  out.front() = '(';
  out.back() = ')';
  if (sizes.size() == 1) out.insert(out.size() - 1, ",");
  return out;
}

}  // namespace taeda::nn::functional
