// Parameters as one vector, and back.
#pragma once

#include <vector>

#include "taeda/core/tensor.h"

namespace taeda::nn::utils {

TAEDA_API Tensor parameters_to_vector(const std::vector<Tensor>& parameters);
// The parameters become views of parts of the vector, one after the other.
TAEDA_API void vector_to_parameters(const Tensor& vec, const std::vector<Tensor>& parameters);

}  // namespace taeda::nn::utils
