// A default dtype for the length of a scope.
#pragma once

#include <optional>

#include "taeda/core/dtype.h"

namespace taeda {

// Sets the default dtype of this thread until the end of the scope, whatever that of the process
// is. What is set inside ends with it.
class TAEDA_API WithDefaultDType {
 public:
  explicit WithDefaultDType(DType t);
  ~WithDefaultDType();
  WithDefaultDType(const WithDefaultDType&) = delete;

 private:
  std::optional<DType> saved_;
};

}  // namespace taeda
