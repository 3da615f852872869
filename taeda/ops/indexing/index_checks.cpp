// Checks of index shapes and of memory shared between arguments, with PyTorch's phrases.
#include "taeda/ops/indexing/index_checks.h"

#include "taeda/base/log.h"
#include "taeda/ops/shape.h"
#include "taeda/ops/spec.h"

namespace taeda {
namespace {

// A scalar counts as one dimension of size one.
int64_t ndim_of(const Tensor& t) { return std::max<int64_t>(t.dim(), 1); }
SymInt size_at(const Tensor& t, int64_t d) { return t.dim() == 0 ? SymInt(1) : t.sym_sizes()[d]; }

void check_index_dtype(const char* op, const Tensor& index) {
  // An empty index names nothing, whatever its dtype.
  TAEDA_CHECK(index.dtype() == DType::Int64 || index.dtype() == DType::Int32 ||
                  index.sym_numel() == SymInt(0),
              op, "(): Expected dtype int32/int64 for index");
}

}  // namespace

void check_gather(const Tensor& self, int64_t dim, const Tensor& index) {
  dim = wrap_dim(dim, self.dim());
  const Tensor* const inputs[] = {&self, &index};
  check_same_device("gather", inputs);
  check_index_dtype("gather", index);
  if (index.sym_numel() == SymInt(0)) return;
  TAEDA_CHECK(ndim_of(self) == ndim_of(index),
              "Index tensor must have the same number of dimensions as input tensor");
  for (int64_t d = 0; d < ndim_of(self); ++d)
    TAEDA_CHECK(d == dim || size_at(index, d) <= size_at(self, d),
                "Size does not match at dimension ", d, " expected index ", index.sym_sizes(),
                " to be no larger than self ", self.sym_sizes(), " apart from dimension ", dim);
}

void check_scatter(const Tensor& self, int64_t dim, const Tensor& index, const Tensor* src) {
  dim = wrap_dim(dim, self.dim());
  const Tensor* const inputs[] = {&self, &index, src ? src : &self};
  check_same_device("scatter", inputs);
  check_index_dtype("scatter", index);
  if (src)
    TAEDA_CHECK(self.dtype() == src->dtype(),
                "scatter(): Expected self.dtype to be equal to src.dtype");
  if (index.sym_numel() == SymInt(0)) return;
  TAEDA_CHECK(ndim_of(self) == ndim_of(index),
              "Index tensor must have the same number of dimensions as self tensor");
  if (src)
    TAEDA_CHECK(ndim_of(*src) == ndim_of(index),
                "Index tensor must have the same number of dimensions as src tensor");
  bool fits = true;
  for (int64_t d = 0; d < ndim_of(self); ++d) {
    if (d != dim) fits = fits && size_at(index, d) <= size_at(self, d);
    if (src) fits = fits && size_at(index, d) <= size_at(*src, d);
  }
  if (src)
    TAEDA_CHECK(fits, "Expected index ", index.sym_sizes(), " to be no larger than self ",
                self.sym_sizes(), " apart from dimension ", dim,
                " and to be no larger size than src ", src->sym_sizes());
  TAEDA_CHECK(fits, "Expected index ", index.sym_sizes(), " to be no larger than self ",
              self.sym_sizes(), " apart from dimension ", dim);
}

void check_disjoint(const Tensor& written, const Tensor& input) {
  if (written.is_meta() || written.numel() == 0 || input.numel() == 0 ||
      written.storage() != input.storage())
    return;
  const bool is_same_place = written.data() == input.data() && written.sizes() == input.sizes() &&
                             written.strides() == input.strides();
  TAEDA_CHECK(!is_same_place,
              "unsupported operation: some elements of the input tensor and the written-to tensor "
              "refer to a single "
              "memory location. Please clone() the tensor before performing the operation.");
  check_no_partial_overlap(written, input);
}

bool repeats_elements(const Tensor& t) {
  if (t.is_contiguous() || t.sym_numel() == SymInt(0)) return false;
  const SymIntList sizes = t.sym_sizes(), strides = t.sym_strides();
  for (size_t i = 0; i < sizes.size(); ++i)
    if (strides[i] == SymInt(0) && sizes[i] > SymInt(1)) return true;
  return false;
}

void warn_of_repeats(const Tensor& self, std::string_view op) {
  if (!repeats_elements(self)) return;
  warn(str("Use of ", op,
           " on expanded tensors is deprecated. Please clone() the tensor before performing this "
           "operation. This also applies to advanced indexing e.g. tensor[mask] = scalar"));
}

}  // namespace taeda
