// Dims: where the batch stands in the arguments or results of a function under vmap.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "taeda/func/tree.h"

namespace taeda::func {

// A dimension for every tensor (0), none (std::nullopt: the same for every example), or one entry
// for each part, nested as far as the arguments are: {0, std::nullopt}, {0, {1, std::nullopt}}.
class TAEDA_API Dims {
 public:
  using Dim = std::optional<int64_t>;

  Dims(int dim) : dim_(dim) {}
  Dims(int64_t dim) : dim_(dim) {}
  Dims(std::nullopt_t) {}
  Dims(Dim dim) : dim_(dim) {}
  Dims(std::initializer_list<Dims> parts) : parts_(parts), is_list_(true) {}
  explicit Dims(std::vector<Dims> parts) : parts_(std::move(parts)), is_list_(true) {}

  bool is_list() const { return is_list_; }
  Dim dim() const { return dim_; }
  const std::vector<Dims>& parts() const { return parts_; }
  std::string text() const;  // as in Python: (0, None)

 private:
  Dim dim_;
  std::vector<Dims> parts_;
  bool is_list_ = false;
};

namespace func_detail {

// Appends the dimension of each tensor of the tree; false where the lists do not fit it.
template <class T>
bool append_dims(const T& tree, const Dims& dims, std::vector<Dims::Dim>& out) {
  if (!dims.is_list()) {
    visit_tensors(tree, [&](const Tensor&) { out.push_back(dims.dim()); });
    return true;
  }
  size_t next = 0;
  bool fits = true;
  visit_children(tree, [&](const auto& child) {
    fits = fits && next < dims.parts().size() && append_dims(child, dims.parts()[next], out);
    ++next;
  });
  return fits && next == dims.parts().size();
}

}  // namespace func_detail
}  // namespace taeda::func
