// Parameters as one vector, and back.
#include "taeda/nn/utils/convert_parameters.h"

#include "taeda/ops/functions.h"

namespace taeda::nn::utils {
namespace {

void check_device(const Tensor& first, const Tensor& other) {
  TAEDA_CHECK(first.device() == other.device(),
              "Found two parameters on different devices, this is currently not supported.");
}

}  // namespace

Tensor parameters_to_vector(const std::vector<Tensor>& parameters) {
  std::vector<Tensor> parts;
  for (const Tensor& parameter : parameters) {
    check_device(parameters[0], parameter);
    parts.push_back(parameter.reshape({-1}));
  }
  return taeda::cat(parts);
}

void vector_to_parameters(const Tensor& vec, const std::vector<Tensor>& parameters) {
  int64_t from = 0;
  for (Tensor parameter : parameters) {
    check_device(parameters[0], parameter);
    const int64_t count = parameter.numel();
    parameter.set_data(vec.detach().narrow(0, from, count).view_as(parameter));
    from += count;
  }
}

}  // namespace taeda::nn::utils
