// A tensor's place in the backward graph, kept to be put back.
#pragma once

#include "taeda/autograd/variable.h"

namespace taeda::autograd {

// What in-place writes change of a tensor's history. A view's base has one of its own to be kept.
class TAEDA_API KeptHistory {
 public:
  explicit KeptHistory(const Tensor& t);
  KeptHistory(KeptHistory&&) = default;
  ~KeptHistory();
  // Behind the tensor's version, which is put back before.
  void put_back() const;

 private:
  Tensor tensor_;
  IntrusivePtr<Node> node_;
  uint32_t output_nr_ = 0, view_version_ = 0;
  bool has_requires_grad_;
};

}  // namespace taeda::autograd
