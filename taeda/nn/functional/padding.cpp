// Padding as a function.
#include "taeda/nn/functional/padding.h"

#include "taeda/ops/padding/functions.h"

namespace taeda::nn::functional {

Tensor pad(const Tensor& input, const PadFuncOptions& options) {
  static constexpr const char* kModes[] = {"constant", "reflect", "replicate", "circular"};
  const bool is_constant = std::holds_alternative<enumtype::kConstant>(options.mode());
  return taeda::pad(input, options.pad(), kModes[options.mode().index()],
                    is_constant ? std::optional(options.value()) : std::nullopt);
}

}  // namespace taeda::nn::functional
