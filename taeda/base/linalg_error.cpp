// The error of a factorization that found no answer.
#include "taeda/base/linalg_error.h"

namespace taeda {

LinAlgError::~LinAlgError() = default;

}  // namespace taeda
