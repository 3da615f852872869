// Normalization by the squares of neighbouring channels.
#include "taeda/ops/functions.h"
#include "taeda/ops/normalization/declarations.h"
#include "taeda/ops/padding/functions.h"
#include "taeda/ops/pooling/functions.h"

namespace taeda::impl {
namespace {

// The means of `size` neighbouring channels, of which those outside count as zeros. They are
// windows of one column, as in PyTorch, which decides over dtypes under autocast and means of
// integers.
Tensor channel_means(const Tensor& t, int64_t size) {
  const SymInt before(size / 2), after((size - 1) / 2), none(0);
  if (t.dim() == 3) {
    const SymInt pad[] = {none, none, before, after};
    const int64_t window[] = {size, 1}, stride[] = {1, 1};
    return taeda::avg_pool2d(taeda::constant_pad_nd(t.unsqueeze(1), pad), window, stride)
        .squeeze(1);
  }
  SymInt rest = 1;
  for (int64_t d = 3; d < t.dim(); ++d) rest *= t.sym_size(d);
  const Tensor volume = t.reshape({t.sym_size(0), SymInt(1), t.sym_size(1), t.sym_size(2), rest});
  const SymInt pad[] = {none, none, none, none, before, after};
  const int64_t window[] = {size, 1, 1}, stride[] = {1, 1, 1};
  const Tensor means = taeda::avg_pool3d(taeda::constant_pad_nd(volume, pad), window, stride);
  return means.squeeze(1).reshape(t.sym_sizes());
}

}  // namespace

Tensor local_response_norm(const Tensor& input, int64_t size, double alpha, double beta, double k) {
  TAEDA_CHECK_VALUE(input.dim() >= 3,
                    "Expected 3D or higher dimensionality "
                    "                         input (got ",
                    input.dim(), " dimensions)");
  TAEDA_CHECK(size > 0, "[local_response_norm] size must be positive: got ", size);
  if (input.sym_numel() == SymInt(0)) return input;
  const Tensor mean = channel_means(input.mul(input), size);
  return input.div(mean.mul(Scalar(alpha)).add(Scalar(k)).pow(Scalar(beta)));
}

}  // namespace taeda::impl
