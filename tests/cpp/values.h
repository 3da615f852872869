// A tensor's values as a vector, for comparisons in tests.
#pragma once

#include <taeda/taeda.h>

#include <vector>

namespace taeda {

template <class T = double>
std::vector<T> values(const Tensor& t) {
  std::vector<T> out;
  const Tensor flat = t.detach().flatten();
  for (int64_t i = 0; i < flat.numel(); ++i) out.push_back(flat[i].item<T>());
  return out;
}

}  // namespace taeda
