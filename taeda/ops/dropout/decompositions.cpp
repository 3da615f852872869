// The gradient of dropout as a function of core operators.
#include "taeda/ops/decompositions.h"
#include "taeda/ops/dropout/operators.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/wide.h"

namespace taeda {

TAEDA_DECOMPOSITION(native_dropout_backward,
                    (const Tensor& grad_output, const Tensor& mask, double scale)) {
  if (is_integral(grad_output.dtype(), true))
    return grad_output * (mask.to(default_dtype()) * Scalar(scale));
  const Wide w({&grad_output});
  return w.rounded(w(grad_output) * (mask.to(w.compute()) * Scalar(scale)));
}

}  // namespace taeda
