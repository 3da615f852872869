// Takes brackets apart: views for numbers, slices and new dimensions, then the indexing operators.
#include "taeda/ops/indexing/tensor_index.h"

#include "taeda/ops/functions.h"
#include "taeda/ops/indexing/index_shape.h"
#include "taeda/ops/print.h"

namespace taeda {
namespace {

using indexing::EllipsisType;
using indexing::Slice;

// How many dimensions of the source an item stands for.
int64_t dimensions_of(const TensorIndex& item) {
  if (const auto* t = std::get_if<Tensor>(&item.value))
    return t->dtype() == DType::Bool ? t->dim() : 1;
  return std::holds_alternative<SymInt>(item.value) || std::holds_alternative<Slice>(item.value);
}

// The view that numbers, slices, None and `...` give, and the tensors left over by dimension.
struct Taken {
  Tensor view;
  std::vector<Tensor> tensors;  // undefined where a whole dimension stays
  int64_t dim = 0;              // the next dimension of the view
  int64_t source_dim = 0;       // and that of the source

  void keep(int64_t count) { dim += count; }
  void operator()(std::nullopt_t) {
    view = view.unsqueeze(dim);
    keep(1);
  }
  void operator()(bool b) { (*this)(full({}, b, DType::Bool)); }
  void operator()(const SymInt& n) {
    const SymInt size = view.sym_size(dim);
    if (!n.is_symbolic() && !size.is_symbolic())
      TAEDA_CHECK_INDEX(n >= -size && n < size, "index ", n, " is out of bounds for dimension ",
                        source_dim, " with size ", size);
    view = view.select(dim, n);
  }
  void operator()(const Slice& s) {
    TAEDA_CHECK_VALUE(!s.step || *s.step > SymInt(0), "step must be greater than zero");
    view = view.slice(dim, s.start, s.stop, s.step.value_or(SymInt(1)));
    keep(1);
  }
  void operator()(const Tensor& t) {
    if (t.dtype() != DType::Bool) return add(t);
    if (t.dim() == 0) {
      view = view.unsqueeze(dim);
      return add(t.unsqueeze(0));
    }
    for (const Tensor& positions : t.nonzero().unbind(1)) add(positions);
  }
  void add(const Tensor& t) {
    tensors.resize(static_cast<size_t>(dim));
    tensors.push_back(t);
    keep(1);
  }
};

Taken take_apart(const Tensor& self, Span<TensorIndex> indices) {
  int64_t given = 0, ellipses = 0;
  for (const TensorIndex& item : indices) {
    given += dimensions_of(item);
    ellipses += std::holds_alternative<EllipsisType>(item.value);
  }
  TAEDA_CHECK_INDEX(given <= self.dim(), "too many indices for tensor of dimension ", self.dim());
  TAEDA_CHECK_INDEX(ellipses <= 1, "an index can only have a single ellipsis ('...')");
  Taken taken{self, {}};
  for (const TensorIndex& item : indices) {
    const bool is_ellipsis = std::holds_alternative<EllipsisType>(item.value);
    if (is_ellipsis)
      taken.keep(self.dim() - given);
    else
      std::visit(
          [&](const auto& value) {
            if constexpr (!std::is_same_v<std::remove_cvref_t<decltype(value)>, EllipsisType>)
              taken(value);
          },
          item.value);
    taken.source_dim += is_ellipsis ? self.dim() - given : dimensions_of(item);
  }
  return taken;
}

// What PyTorch prints for an end that was left out.
constexpr int64_t kLastIndex = (int64_t{1} << 62) - 1;

struct Printer {
  std::ostream& out;
  void operator()(std::nullopt_t) { out << "None"; }
  void operator()(EllipsisType) { out << "..."; }
  void operator()(bool b) { out << (b ? "true" : "false"); }
  void operator()(const SymInt& n) { out << str(n); }
  void operator()(const Tensor& t) { out << t; }
  void operator()(const Slice& s) {
    const SymInt step = s.step.value_or(SymInt(1));
    out << str(s.start.value_or(SymInt(0)), ":", s.stop.value_or(SymInt(kLastIndex)), ":", step);
  }
};

}  // namespace

Tensor without_leading_ones(const Tensor& value, int64_t ndim) {
  int64_t extra = 0;
  while (value.dim() - extra > ndim && value.sym_size(extra) == SymInt(1)) ++extra;
  if (extra == 0) return value;
  return taeda::view(value, value.sym_sizes().drop_front(static_cast<size_t>(extra)));
}

std::ostream& operator<<(std::ostream& out, const TensorIndex& index) {
  std::visit(Printer{out}, index.value);
  return out;
}

Tensor Tensor::index(std::initializer_list<TensorIndex> indices) const {
  return index(Span<TensorIndex>(indices));
}

Tensor Tensor::index(Span<TensorIndex> indices) const {
  const Taken taken = take_apart(*this, indices);
  if (!taken.tensors.empty()) return taeda::index(taken.view, taken.tensors);
  return taken.view.is_same(*this) ? alias(*this) : taken.view;
}

Tensor& Tensor::index_put_(std::initializer_list<TensorIndex> indices, const Tensor& values) const {
  return index_put_(Span<TensorIndex>(indices), values);
}

Tensor& Tensor::index_put_(std::initializer_list<TensorIndex> indices, const Scalar& value) const {
  return index_put_(Span<TensorIndex>(indices), value);
}

Tensor& Tensor::index_put_(Span<TensorIndex> indices, const Tensor& values) const {
  Taken taken = take_apart(*this, indices);
  if (taken.tensors.empty())
    taken.view.copy_(without_leading_ones(values, taken.view.dim()));
  else
    taken.view.index_put_(TensorList(taken.tensors), without_leading_ones(values, 0));
  return const_cast<Tensor&>(*this);
}

Tensor& Tensor::index_put_(Span<TensorIndex> indices, const Scalar& value) const {
  return index_put_(indices, full({}, value, dtype(), std::nullopt, device()));
}

}  // namespace taeda
