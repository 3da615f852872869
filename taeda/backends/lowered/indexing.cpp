// Advanced indexing, take, embeddings: elements at places that index tensors name.
#include "taeda/backends/lowered/indexing_declarations.h"

#include "taeda/backends/lowered/domain.h"
#include "taeda/backends/lowered/embedding_declarations.h"
#include "taeda/backends/lowered/indexed.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/indexing/index_checks.h"
#include "taeda/ops/indexing/index_shape.h"
#include "taeda/ops/shape.h"

namespace taeda::lowered {

namespace {

using kernel::StoreMode;

// Integer indices with the dimension of self that each one goes along; masks taken apart.
struct Indices {
  std::vector<IndexEntry> entries;
  std::vector<std::pair<int64_t, Tensor>> along;

  Indices(const Tensor& self, TensorList given) {
    int64_t dim = 0;
    for (const Tensor& t : given) {
      if (!t.defined()) {
        ++dim;
        continue;
      }
      const Tensor here = t.to(self.device());
      if (!is_mask_dtype(t.dtype())) {
        entries.push_back({dim, 1, SymIntVec(t.sym_sizes())});
        along.emplace_back(dim++, here);
        continue;
      }
      const Tensor places = here.nonzero();
      entries.push_back({dim, t.dim(), {SymInt(places.sizes()[0])}});
      for (int64_t d = 0; d < t.dim(); ++d) along.emplace_back(dim++, places.select(1, SymInt(d)));
    }
  }
};

// A launch over the result's shape of advanced indexing.
class IndexedLaunch {
 public:
  IndexedLaunch(std::string_view name, const Tensor& self, TensorList given)
      : self_(self),
        indices_(self, given),
        shape(self, indices_.entries),
        launch(name, self.device()) {}

  IntVec sizes() const { return IntVec(as_int(shape.sizes)); }
  // `plain` has the result's shape; steps(k, plain, indexed, place) writes the loop's inside.
  template <class Steps>
  void run(const Tensor& plain, Steps&& steps) {
    const IntVec extents = sizes();
    if (std::find(extents.begin(), extents.end(), 0) != extents.end()) return check_empty();
    launch.compute_in(kernel::compute_type(self_.dtype()));
    axes_ = launch.axes(extents);
    const int y = launch.operand(plain, plain.strides()), x = launch.operand(self_, kept_strides());
    std::vector<int> reads, extent, step;
    for (const auto& [dim, index] : indices_.along) {
      reads.push_back(launch.operand(index, index_strides(index)));
      extent.push_back(launch.param(self_.sizes()[dim]));
      step.push_back(launch.param(self_.strides()[dim]));
    }
    std::vector<std::pair<int64_t, int64_t>> places;  // the dimension and its size, by index
    for (const auto& [dim, index] : indices_.along) places.emplace_back(dim, self_.sizes()[dim]);
    launch.on_bad_index([places = std::move(places)](int check, int64_t bad) {
      refuse_index(bad, places[check].first, places[check].second);
    });
    launch.run([&](KernelBuilder& k) {
      std::vector<const Expr*> symbols;
      const Expr* plus = k.integer(0);
      for (size_t i = 0; i < reads.size(); ++i) {
        const Sym value = k.cast(k.load(reads[i]), Type::I64);
        symbols.push_back(k.indirect(value, launch.param(k, extent[i]), true));
        plus = k.pool().add(plus, k.pool().mul(launch.param(k, step[i]), symbols.back()));
      }
      checked_first(k, axes_, symbols);
      k.loop(axes_, [&] { steps(k, y, x, Coordinates{{}, plus}); });
    });
  }

 private:
  const Tensor& self_;
  Indices indices_;

 public:
  IndexShape shape;
  Launch launch;

 private:
  // Of self along the result's dimensions that no index covers.
  IntVec kept_strides() const {
    IntVec strides(shape.sizes.size(), 0);
    const size_t covered = shape.index_sizes.size(), place = static_cast<size_t>(shape.place);
    for (size_t i = 0; i < shape.kept.size(); ++i)
      strides[i < place ? i : i + covered] = self_.strides()[shape.kept[i]];
    return strides;
  }
  IntVec index_strides(const Tensor& index) const {
    IntVec strides(shape.sizes.size(), 0);
    const IntVec wide = broadcast_strides(index, as_int(shape.index_sizes));
    for (size_t i = 0; i < wide.size(); ++i) strides[shape.place + i] = wide[i];
    return strides;
  }
  // Indices are checked where there is nothing to take as well.
  void check_empty() const {
    for (const auto& [dim, index] : indices_.along) {
      const int64_t size = self_.sizes()[dim];
      check_indices(index, -size, size,
                    [dim = dim, size](int64_t bad) { refuse_index(bad, dim, size); });
    }
  }

  std::vector<int> axes_;
};

// Rows of a table beside a tensor of the indices' shape and a last dimension.
template <class Steps>
void over_rows(std::string_view name, const Tensor& plain, const Tensor& table,
               const Tensor& indices, Steps&& steps) {
  if (plain.numel() == 0) return;
  Launch launch(name, table.device());
  launch.compute_in(kernel::compute_type(table.dtype()));
  const std::vector<int> axes = launch.axes(plain.sizes());
  IntVec row(plain.sizes().size(), 0), index(indices.strides());
  row.back() = table.strides()[1];
  index.push_back(0);
  const int y = launch.operand(plain, plain.strides()), x = launch.operand(table, row),
            i = launch.operand(indices, index);
  const int extent = launch.param(table.sizes()[0]), step = launch.param(table.strides()[0]);
  launch.run([&](KernelBuilder& k) {
    const Expr* symbol = k.indirect(k.cast(k.load(i), Type::I64), launch.param(k, extent), false);
    const Coordinates at{{}, k.pool().mul(launch.param(k, step), symbol)};
    k.loop(axes, [&] { steps(k, y, x, at); });
  });
}

void check_rows(const Tensor& indices, int64_t rows) {
  check_indices(indices, 0, rows,
                [](int64_t) { fail(ErrorKind::Index, "index out of range in self"); });
}

}  // namespace

Tensor index_Tensor(const Tensor& self, TensorList indices) {
  if (!check_index(self, indices)) return self.clone();
  IndexedLaunch indexed("index", self, indices);
  Tensor out = make_tensor_strided(indexed.sizes(), as_int(indexed.shape.strides(self, indices)),
                                   self.dtype(), self.device());
  indexed.run(out, [](KernelBuilder& k, int to, int from, const Coordinates& at) {
    k.store(to, k.load(from, at));
  });
  return out;
}

Tensor& _index_put_impl_(Tensor& self, TensorList indices, const Tensor& values, bool accumulate,
                         bool) {
  if (!has_index(indices)) return put_whole(self, indices, values, accumulate);
  check_index_put(self, indices, values);
  IndexedLaunch indexed("index_put", self, indices);
  check_put_shape(values, indexed.shape.sizes);
  check_put_dtype(self, values);
  const Tensor source = values.to(self.device()).expand(indexed.shape.sizes);
  indexed.launch.fact(accumulate);
  indexed.run(source, [&](KernelBuilder& k, int from, int to, const Coordinates& at) {
    lowered::accumulate(k, to, k.load(from), at,
                        accumulate ? StoreMode::AtomicAdd : StoreMode::Write);
  });
  return self;
}

void take(const Tensor& self, const Tensor& index, Tensor& out) {
  check_disjoint(out, self);
  check_disjoint(out, index);
  if (index.numel() == 0) return;
  const int64_t numel = self.numel();
  TAEDA_CHECK_INDEX(numel > 0, "take(): tried to take from an empty tensor");
  const Tensor flat = self.contiguous();
  const Tensor at = with_dim(index), to = with_dim(out);
  Launch launch("take", out.device());
  launch.compute_in(kernel::compute_type(out.dtype()));
  const std::vector<int> axes = launch.axes(at.sizes());
  const int y = launch.operand(to, to.strides()), i = launch.operand(at, at.strides()),
            x = launch.operand(flat, IntVec(axes.size(), 0));
  const int extent = launch.param(numel);
  launch.on_bad_index([numel](int, int64_t bad) {
    fail(ErrorKind::Index, "out of range: tried to access index ", bad, " on a tensor of ", numel,
         " elements.");
  });
  launch.run([&](KernelBuilder& k) {
    const Expr* symbol = k.indirect(k.cast(k.load(i), Type::I64), launch.param(k, extent), true);
    checked_first(k, axes, {symbol});
    k.loop(axes, [&] { k.store(y, k.load(x, {{}, symbol})); });
  });
}

// ---- truth values ----
// The places of elements that are not zero: their number is read from the device, then each writes
// its coordinates to the row that a running count gives it.
Tensor nonzero(const Tensor& self) {
  const Tensor flags = self.to(DType::Bool).contiguous();
  if (self.numel() == 0) return make_tensor({0, self.dim()}, DType::Int64, self.device());
  const Tensor rows = flags.reshape({SymInt(-1)}).cumsum(0);
  const int64_t count = rows.select(0, SymInt(-1)).item().to_int();
  // Each coordinate in one piece: they are mostly taken apart.
  Tensor out = make_tensor_strided({count, self.dim()}, {1, count}, DType::Int64, self.device());
  if (out.numel() == 0) return out;
  const Tensor flag = with_dim(flags);
  Launch launch("nonzero", self.device());
  launch.compute_in(Type::I64);
  const std::vector<int> axes = launch.axes(flag.sizes());
  std::vector<int> to;
  for (int64_t d = 0; d < self.dim(); ++d)
    to.push_back(launch.operand(out.select(1, SymInt(d)), IntVec(axes.size(), 0)));
  const int x = launch.operand(flag, flag.strides()), row = launch.operand(rows, flag.strides());
  const int rows_here = launch.param(count);
  launch.run([&](KernelBuilder& k) {
    const SymMask is_here = k.as_mask(k.load(x));
    const Sym one = Sym::from_id(k.graph().constant_int(1, Type::I64));
    // Elements that are zero have no row; theirs is the first, and nothing is written to it.
    const Sym place = where(is_here, k.load(row) - one, one - one);
    const Expr* symbol = k.indirect(place, launch.param(k, rows_here), false);
    k.loop(axes, [&] {
      for (size_t d = 0; d < to.size(); ++d) {
        const Expr* at = k.extent(axes[d])->is_constant(1) ? k.integer(0) : k.var(axes[d]);
        k.store_if(is_here, to[d], k.index(at), {{}, symbol});
      }
    });
  });
  return out;
}

Tensor masked_select(const Tensor& self, const Tensor& mask) {
  TAEDA_CHECK(mask.dtype() == DType::Bool, "masked_select: expected BoolTensor for mask");
  const SymIntVec shape = broadcast_shapes(self.sym_sizes(), mask.sym_sizes());
  const Tensor values = self.expand(shape).reshape({SymInt(-1)});
  const Tensor places = mask.expand(shape).reshape({SymInt(-1)}).nonzero();
  return values.index_select(0, places.select(1, SymInt(0)));
}

// ---- embeddings ----
void embedding(const Tensor& weight, const Tensor& indices, SymInt, bool, bool, Tensor& out) {
  check_rows(indices, weight.sizes()[0]);
  over_rows("embedding", out, weight, indices,
            [](KernelBuilder& k, int to, int from, const Coordinates& at) {
              k.store(to, k.load(from, at));
            });
}

void embedding_dense_backward(const Tensor& grad_output, const Tensor& indices, SymInt num_weights,
                              SymInt padding_idx, bool scale_grad_by_freq, Tensor& out) {
  const int64_t rows = num_weights.expect_int(), padding = padding_idx.expect_int();
  check_rows(indices, rows);
  out.fill_(Scalar(0));
  over_rows("embedding_backward", grad_output, out, indices,
            [](KernelBuilder& k, int from, int to, const Coordinates& at) {
              accumulate(k, to, k.load(from), at, StoreMode::AtomicAdd);
            });
  if (padding >= 0 && padding < rows) out.select(0, SymInt(padding)).fill_(Scalar(0));
  if (!scale_grad_by_freq) return;
  Tensor counts = make_tensor({rows, 1}, DType::Double, out.device());
  counts.fill_(Scalar(0));
  Tensor ones = make_tensor(IntVec(indices.sizes()), DType::Double, out.device());
  ones.fill_(Scalar(1));
  over_rows("embedding_count", ones.unsqueeze(-1), counts, indices,
            [](KernelBuilder& k, int from, int to, const Coordinates& at) {
              k.store(to, k.load(from), at, StoreMode::AtomicAdd);
            });
  out.mul_(counts.clamp_min(Scalar(1)).reciprocal().to(out.dtype()));
}

Tensor one_hot(const Tensor& self, int64_t num_classes) {
  TAEDA_CHECK(self.dtype() == DType::Int64,
              "one_hot is only applicable to index tensor of type LongTensor.");
  TAEDA_CHECK(self.numel() > 0 || num_classes > 0,
              "Can not infer total number of classes from empty tensor.");
  const int64_t most = self.numel() ? self.max().item().to_int() : -1;
  TAEDA_CHECK(!self.numel() || self.min().item().to_int() >= 0,
              "Class values must be non-negative.");
  if (num_classes == -1) num_classes = most + 1;
  TAEDA_CHECK(most < num_classes, "Class values must be smaller than num_classes.");
  IntVec sizes(self.sizes());
  sizes.push_back(num_classes);
  Tensor out = make_tensor(sizes, DType::Int64, self.device());
  if (out.numel() == 0) return out;
  Launch launch("one_hot", self.device());
  launch.compute_in(Type::I64);
  const std::vector<int> axes = launch.axes(sizes);
  IntVec strides(self.strides());
  strides.push_back(0);
  const int y = launch.operand(out, out.strides()), x = launch.operand(self, strides);
  launch.run([&](KernelBuilder& k) {
    const Expr* last = k.extent(axes.back())->is_constant(1) ? k.integer(0) : k.var(axes.back());
    const Sym is_class = Sym::from_id((k.load(x) == k.index(last)).id);
    k.loop(axes, [&] { k.store(y, is_class); });
  });
  return out;
}

}  // namespace taeda::lowered
