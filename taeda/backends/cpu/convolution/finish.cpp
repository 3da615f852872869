// Cutting results of convolutions into blocks.
#include "taeda/backends/cpu/convolution/finish.h"

#include <algorithm>

#include "taeda/base/parallel.h"

namespace taeda::cpu::convolution_kernels {
namespace {

// Elements that are worth a thread, where all are final; and elements that stay in the cache next
// to a core until the caller has seen them.
constexpr int64_t kThreadElements = 32768, kBlockElements = 65536;

}  // namespace

Finish::Finish(const ProductOptions& options, const Tensor& result)
    : block(options.finish),
      are_channels_columns(options.are_channels_columns),
      images(result.sizes()[0]),
      channels(result.sizes()[1]),
      places(1),
      post_ops(options.post_ops) {
  for (int64_t d = 2; d < result.dim(); ++d) places *= result.sizes()[d];
}

void Finish::operator()(int64_t channel, int64_t count, int64_t place, int64_t run) const {
  if (!block) return;
  if (are_channels_columns) return (*block)(place, run, channel, count);
  while (run > 0) {
    const int64_t image = place / places, first = place % places;
    const int64_t length = std::min(run, places - first);
    (*block)(image* channels + channel, count, first, length);
    place += length;
    run -= length;
  }
}

void Finish::rows(int64_t row, int64_t count) const {
  if (block) (*block)(row, count, 0, row_length());
}

int64_t Finish::rows_at_once() const {
  return std::max<int64_t>(kBlockElements / std::max<int64_t>(row_length(), 1), 1);
}

void Finish::all() const {
  if (!block) return;
  const int64_t lines = images * (are_channels_columns ? places : channels);
  const int64_t grain = kThreadElements / std::max<int64_t>(row_length(), 1);
  parallel_for(0, lines, std::max<int64_t>(grain, 1), [&](int64_t first, int64_t last) {
    const int64_t step = rows_at_once();
    for (int64_t row = first; row < last; row += step) rows(row, std::min(step, last - row));
  });
}

}  // namespace taeda::cpu::convolution_kernels
