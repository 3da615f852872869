// Copies and printed forms of parameters in containers.
#include "taeda/nn/modules/container.h"

#include "taeda/ops/functions.h"

namespace taeda::nn {
namespace {

Tensor copied(const Tensor& tensor, const std::optional<Device>& device) {
  const Tensor data = tensor.detach();
  Tensor copy = device ? data.to(*device, data.dtype(), false, /*copy=*/true) : data.clone();
  return copy.set_requires_grad(tensor.requires_grad());
}

void print_parameters(std::ostream& stream, const char* name,
                      const OrderedDict<std::string, Tensor>& parameters) {
  stream << layer_namespace() << name << "(\n";
  for (const auto& item : parameters)
    stream << str("(", item.key(), "): Parameter containing: [", item.value().dtype(), " of size ",
                  item.value().sizes(), "]\n");
  stream << ")";
}

}  // namespace

void ParameterListImpl::pretty_print(std::ostream& stream) const {
  print_parameters(stream, "ParameterList", parameters_);
}
void ParameterDictImpl::pretty_print(std::ostream& stream) const {
  print_parameters(stream, "ParameterDict", parameters_);
}

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
