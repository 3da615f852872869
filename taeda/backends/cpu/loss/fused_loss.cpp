// Losses reduced in the pass that computes them: cross entropy of (N, C) and squared differences.
#include "taeda/backends/cpu/loss/loss_rows.h"
#include "taeda/backends/cpu/loss/targets.h"
#include "taeda/backends/cpu/loss_declarations.h"
#include "taeda/backends/cpu/pointwise/convert.h"
#include "taeda/backends/cpu/pointwise/loop_nest.h"
#include "taeda/kernel/reduce_tree.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/shape.h"

namespace taeda::cpu {
namespace {

// The rows of a matrix as contiguous memory; a row with gaps is copied into a buffer.
template <class T>
class RowReader {
 public:
  explicit RowReader(const Tensor& matrix)
      : data_(static_cast<const T*>(matrix.data())),
        n_(matrix.sizes()[1]),
        row_(matrix.strides()[0]),
        step_(matrix.strides()[1]) {
    if (step_ != 1) buffer_.resize(static_cast<size_t>(n_));
  }
  const T* operator()(int64_t i) {
    const T* row = data_ + i * row_;
    if (step_ == 1) return row;
    for (int64_t j = 0; j < n_; ++j) buffer_[static_cast<size_t>(j)] = row[j * step_];
    return buffer_.data();
  }

 private:
  const T* data_;
  int64_t n_, row_, step_;
  std::vector<T> buffer_;
};

template <class F>
void visit_real(DType dtype, F&& f) {
  if (dtype == DType::Double)
    f(double{});
  else
    f(float{});
}

// Two tensors over their common shape in row-major order, in which reductions add, whatever the
// strides are. Operands 1 and 2 are the tensors; operand 0, which decides about the order, has the
// strides of a contiguous tensor and no memory.
LoopNest row_major_nest(const Tensor& a, const Tensor& b, IntList shape) {
  LoopNest nest;
  nest.num_operands = 1;
  nest.base[0] = nullptr;
  nest.strides[0].resize(shape.size());
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0; stride *= shape[i]) nest.strides[0][i] = stride;
  nest.add(a, shape);
  nest.add(b, shape);
  nest.finish(shape);
  return nest;
}

}  // namespace

void _fused_cross_entropy(const Tensor& self, const Tensor& target, int64_t reduction,
                          SymInt ignore_index, Tensor& output, Tensor& norms, Tensor& count) {
  const int64_t rows = self.sizes()[0], classes = self.sizes()[1],
                ignored = ignore_index.expect_int();
  check_targets(target, classes, ignored);
  visit_real(self.dtype(), [&](auto tag) {
    using T = decltype(tag);
    const auto* targets = static_cast<const int64_t*>(target.data());
    const int64_t step = target.strides()[0], each = reduction == 0 ? output.strides()[0] : 0;
    T* out = static_cast<T*>(output.data());
    auto* row_norms = static_cast<RowNorm<T>*>(norms.data());
    std::vector<T> losses(static_cast<size_t>(rows));
    parallel_for(0, rows, std::max<int64_t>(1, 16384 / std::max<int64_t>(classes, 1)),
                 [&](int64_t first, int64_t last) {
                   RowReader<T> row_at(self);
                   for (int64_t i = first; i < last; ++i) {
                     const int64_t k = targets[i * step];
                     const T* row = row_at(i);
                     const RowNorm<T> norm = row_norms[i] = loss_rows<T>().norm(row, classes);
                     losses[static_cast<size_t>(i)] =
                         k == ignored ? T(0) : norm.maximum - row[k] + norm.log_sum;
                     if (reduction == 0) out[i * each] = losses[static_cast<size_t>(i)];
                   }
                 });
    double counted = 0;
    for (int64_t i = 0; i < rows; ++i) counted += targets[i * step] != ignored;
    *static_cast<T*>(count.data()) = static_cast<T>(counted);
    if (reduction == 0) return;
    const double total = tree_sum(
        rows, [&](int64_t i) { return static_cast<double>(losses[static_cast<size_t>(i)]); });
    *out = static_cast<T>(reduction == 1 ? total / counted : total);
  });
}

void _fused_cross_entropy_backward(const Tensor& grad_output, const Tensor& self,
                                   const Tensor& target, int64_t reduction, SymInt ignore_index,
                                   const Tensor& norms, const Tensor& count, Tensor& out) {
  const int64_t rows = self.sizes()[0], classes = self.sizes()[1],
                ignored = ignore_index.expect_int();
  check_targets(target, classes, ignored);
  TAEDA_CHECK(norms.numel() == 2 * rows && norms.is_contiguous() && norms.dtype() == self.dtype() &&
                  grad_output.dtype() == self.dtype() && count.dtype() == self.dtype(),
              "_fused_cross_entropy_backward: norms, count and gradients are not the operator's");
  visit_real(self.dtype(), [&](auto tag) {
    using T = decltype(tag);
    const auto* targets = static_cast<const int64_t*>(target.data());
    const T* grads = static_cast<const T*>(grad_output.data());
    const auto* row_norms = static_cast<const RowNorm<T>*>(norms.data());
    const int64_t each = grad_output.dim() ? grad_output.strides()[0] : 0;
    const T divisor = reduction == 1 ? *static_cast<const T*>(count.data()) : T(1);
    parallel_for(0, rows, std::max<int64_t>(1, 16384 / std::max<int64_t>(classes, 1)),
                 [&](int64_t first, int64_t last) {
                   RowReader<T> row_at(self);
                   for (int64_t i = first; i < last; ++i) {
                     const int64_t k = targets[i * target.strides()[0]];
                     T* to = static_cast<T*>(out.data()) + i * classes;
                     if (k == ignored) {
                       std::fill_n(to, classes, T(0));
                       continue;
                     }
                     const T scale = grads[i * each] / divisor;
                     loss_rows<T>().scaled_softmax(row_at(i), to, classes, row_norms[i], scale);
                     to[k] -= scale;
                   }
                 });
  });
}

void _reduced_squared_difference(const Tensor& self, const Tensor& target, bool mean, Tensor& out) {
  const IntVec shape(as_int(broadcast_shapes(self.sym_sizes(), target.sym_sizes())));
  const LoopNest nest = row_major_nest(self, target, shape);
  const ComputeType compute = compute_type(out.dtype());
  const LoadFn load[2] = {load_fn(self.dtype(), compute), load_fn(target.dtype(), compute)};
  constexpr int64_t kChunk = kernel::kReduceChunk;
  const int64_t cols = nest.sizes[0], chunks = (nest.numel + kChunk - 1) / kChunk;
  visit_real(compute_dtype(compute), [&](auto tag) {
    using T = decltype(tag);
    constexpr int64_t item = sizeof(T);
    const bool is_direct = cols == nest.numel && self.dtype() == target.dtype() &&
                           DTypeOf<T>::value == self.dtype() && nest.strides[1][0] == item &&
                           nest.strides[2][0] == item;
    std::vector<T> parts(static_cast<size_t>(chunks));
    parallel_for(0, chunks, 8, [&](int64_t first, int64_t last) {
      std::vector<T> buffers[2];
      for (auto& b : buffers) b.resize(is_direct ? 0 : kChunk);
      for (int64_t c = first; c < last; ++c) {
        const int64_t begin = c * kChunk, n = std::min(kChunk, nest.numel - begin);
        const T* sides[2];
        for (int k = 0; k < 2; ++k) {
          if (is_direct) {
            sides[k] = reinterpret_cast<const T*>(nest.base[k + 1]) + begin;
            continue;
          }
          sides[k] = buffers[k].data();
          for (int64_t i = 0; i < n;) {
            const int64_t col = (begin + i) % cols, run = std::min(cols - col, n - i);
            const char* at = nest.base[k + 1] + col * nest.strides[k + 1][0];
            int64_t rest = (begin + i) / cols;
            for (size_t d = 1; d < nest.sizes.size(); rest /= nest.sizes[d], ++d)
              at += rest % nest.sizes[d] * nest.strides[k + 1][d];
            load[k](at, Block{1, run, 0, nest.strides[k + 1][0]},
                    reinterpret_cast<char*>(buffers[k].data() + i));
            i += run;
          }
        }
        parts[static_cast<size_t>(c)] = loss_rows<T>().squared_difference(sides[0], sides[1], n);
      }
    });
    const T total = joined_chunks<TreeSum<T>>(parts.data(), chunks);
    out.fill_(Scalar(static_cast<double>(mean ? total / static_cast<T>(nest.numel) : total)));
  });
}

}  // namespace taeda::cpu
