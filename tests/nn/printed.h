// The text that a module prints.
#pragma once

#include <sstream>
#include <string>

namespace taeda::nn {

template <class M>
std::string printed(const M& module) {
  std::ostringstream out;
  out << module;
  return out.str();
}

// The values of a tensor as doubles.
inline std::vector<double> values(const Tensor& tensor) {
  const Tensor flat = tensor.detach().to(kDouble).reshape({-1}).contiguous();
  return {flat.data_ptr<double>(), flat.data_ptr<double>() + flat.numel()};
}

}  // namespace taeda::nn
