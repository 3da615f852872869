// embedding, its gradient, its renormalization and one_hot on the CPU.
#include <algorithm>
#include <cmath>

#include "taeda/backends/cpu/embedding_declarations.h"
#include "taeda/backends/cpu/index/index_plan.h"
#include "taeda/backends/cpu/index/index_values.h"
#include "taeda/backends/cpu/index/slice_map.h"
#include "taeda/base/parallel.h"
#include "taeda/ops/embedding/declarations.h"
#include "taeda/ops/functions.h"

namespace taeda::cpu {
namespace {

Tensor checked_rows(const Tensor& indices, int64_t rows) {
  const Tensor index = int64_index(indices);
  TAEDA_CHECK_INDEX(!first_outside(index, 0, rows), "index out of range in self");
  return index;
}

// Pairs the rows of a table with those of a tensor of the indices' shape and a last dimension.
SliceMap rows_of(const Tensor& plain, const Tensor& table, const Tensor& index) {
  const int64_t step = table.strides()[0] * table.element_size();
  return SliceMap(plain, 0, index.dim(), table, {1},
                  wrapped_offsets(index, table.sizes()[0], step));
}

// Divides each row by the number of its indices.
void scale_by_frequency(Tensor& out, const Tensor& index) {
  std::vector<double> counts(static_cast<size_t>(out.sizes()[0]));
  for (int64_t i : wrapped_offsets(index, 0, 1)) counts[static_cast<size_t>(i)] += 1;
  Tensor factors = make_tensor({out.sizes()[0], 1}, DType::Double, out.device());
  for (size_t i = 0; i < counts.size(); ++i)
    static_cast<double*>(factors.data())[i] = counts[i] > 0 ? 1 / counts[i] : 1;
  out.mul_(factors.to(out.dtype()));
}

template <class T>
double norm_of(const T* row, int64_t n, int64_t stride, double p) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) {
    const double v = std::abs(static_cast<double>(static_cast<float>(row[i * stride])));
    const double exact =
        std::is_same_v<T, double> ? std::abs(static_cast<double>(row[i * stride])) : v;
    if (p == 2)
      sum += exact * exact;
    else if (std::isinf(p))
      sum = std::max(sum, exact);
    else
      sum += std::pow(exact, p);
  }
  return p == 2 ? std::sqrt(sum) : std::isinf(p) ? sum : std::pow(sum, 1 / p);
}

}  // namespace

void embedding(const Tensor& weight, const Tensor& indices, SymInt, bool, bool, Tensor& out) {
  rows_of(out, weight, checked_rows(indices, weight.sizes()[0])).read();
}

void embedding_dense_backward(const Tensor& grad_output, const Tensor& indices, SymInt num_weights,
                              SymInt padding_idx, bool scale_grad_by_freq, Tensor& out) {
  const int64_t rows = num_weights.expect_int(), padding = padding_idx.expect_int();
  const Tensor index = checked_rows(indices, rows);
  out.fill_(Scalar(0));
  rows_of(grad_output, out, index).add(Scalar(1));
  if (padding >= 0 && padding < rows) out.select(0, SymInt(padding)).fill_(Scalar(0));
  if (scale_grad_by_freq) scale_by_frequency(out, index);
}

Tensor& embedding_renorm_(Tensor& self, const Tensor& indices, double max_norm, double norm_type) {
  impl::embedding_renorm__meta(self, indices, max_norm, norm_type);
  std::vector<int64_t> rows = wrapped_offsets(checked_rows(indices, self.sizes()[0]), 0, 1);
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  const int64_t n = self.sizes()[1], stride = self.strides()[1];
  visit_dtype(self.dtype(), [&](auto tag) {
    using T = decltype(tag);
    if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double> ||
                  std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
      parallel_for(
          0, static_cast<int64_t>(rows.size()),
          std::max<int64_t>(1, 32768 / std::max<int64_t>(n, 1)), [&](int64_t first, int64_t last) {
            for (int64_t k = first; k < last; ++k) {
              T* row =
                  static_cast<T*>(self.data()) + rows[static_cast<size_t>(k)] * self.strides()[0];
              const double norm = norm_of(row, n, stride, norm_type);
              if (!(norm > max_norm)) continue;  // NaN on either side changes nothing
              const double scale = max_norm / (norm + 1e-7);
              for (int64_t i = 0; i < n; ++i)
                row[i * stride] = static_cast<T>(
                    static_cast<std::conditional_t<std::is_same_v<T, double>, double, float>>(
                        row[i * stride]) *
                    static_cast<std::conditional_t<std::is_same_v<T, double>, double, float>>(
                        scale));
            }
          });
    } else {
      fail(ErrorKind::NotImplemented, "\"embedding_renorm_cpu\" not implemented for '",
           self.dtype(), "'");
    }
  });
  return self;
}

Tensor one_hot(const Tensor& self, int64_t num_classes) {
  TAEDA_CHECK(self.dtype() == DType::Int64,
              "one_hot is only applicable to index tensor of type LongTensor.");
  TAEDA_CHECK(self.numel() > 0 || num_classes > 0,
              "Can not infer total number of classes from empty tensor.");
  TAEDA_CHECK(!first_outside(self, 0, std::numeric_limits<int64_t>::max()),
              "Class values must be non-negative.");
  const std::vector<int64_t> classes = wrapped_offsets(self, 0, 1);
  const int64_t most = classes.empty() ? -1 : *std::max_element(classes.begin(), classes.end());
  if (num_classes == -1) num_classes = most + 1;
  TAEDA_CHECK(most < num_classes, "Class values must be smaller than num_classes.");
  IntVec sizes(self.sizes());
  sizes.push_back(num_classes);
  Tensor out = make_tensor(sizes, DType::Int64, self.device());
  out.fill_(Scalar(0));
  auto* data = static_cast<int64_t*>(out.data());
  for (size_t i = 0; i < classes.size(); ++i)
    data[static_cast<int64_t>(i) * num_classes + classes[i]] = 1;
  return out;
}

}  // namespace taeda::cpu
