// Copies of parameters in containers.
#include "taeda/nn/modules/container.h"

#include "taeda/ops/functions.h"

namespace taeda::nn {
namespace {

Tensor copied(const Tensor& tensor, const std::optional<Device>& device) {
  const Tensor data = tensor.detach();
  Tensor copy = device ? data.to(*device, data.dtype(), false, /*copy=*/true) : data.clone();
  return copy.set_requires_grad(tensor.requires_grad());
}

}  // namespace

Module::Ptr ParameterListImpl::clone(const std::optional<Device>& device) const {
  const auto copy = std::make_shared<ParameterListImpl>();
  for (const Item& item : parameters_) copy->append(copied(item.value(), device));
  return copy;
}

Module::Ptr ParameterDictImpl::clone(const std::optional<Device>& device) const {
  const auto copy = std::make_shared<ParameterDictImpl>();
  for (const Item& item : parameters_) copy->insert(item.key(), copied(item.value(), device));
  return copy;
}

}  // namespace taeda::nn
