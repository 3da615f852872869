// The error of a factorization that found no answer: `linalg.LinAlgError` in Python.
#pragma once

#include "taeda/base/error.h"

namespace taeda {

class TAEDA_API LinAlgError : public Error {
 public:
  explicit LinAlgError(std::string message) : Error(ErrorKind::Runtime, std::move(message)) {}
  ~LinAlgError() override;
};

}  // namespace taeda
