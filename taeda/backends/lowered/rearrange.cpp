// Copies, fills, ranges, and operators that only move elements.
#include "taeda/backends/lowered/rearrange_declarations.h"

#include "taeda/backends/device_kernels.h"
#include "taeda/backends/lowered/convert_declarations.h"
#include "taeda/backends/lowered/domain.h"
#include "taeda/backends/lowered/factory_declarations.h"
#include "taeda/backends/lowered/join_declarations.h"
#include "taeda/backends/lowered/pointwise.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/number_range.h"
#include "taeda/ops/shape.h"
#include "taeda/ops/spec.h"

namespace taeda::lowered {

namespace {

using kernel::Expr;

// Writes value(k) to every element of `out`; `add` gives the launch what the value needs.
template <class Add, class Value>
void fill_with(std::string_view name, Tensor& out, Type type, Add&& add, Value&& value) {
  if (out.numel() == 0) return;
  Launch launch(name, out.device());
  launch.compute_in(type);
  // The place in logical order is a second walk beside that through memory.
  IntVec logical(as_int(contiguous_strides(out.sym_sizes())));
  Domain domain(out.sizes(), {IntVec(out.strides()), std::move(logical)});
  domain.merge();
  const std::vector<int> axes = launch.axes(domain.sizes);
  const int y = launch.operand(out, domain.strides[0]);
  std::vector<int> steps;
  for (int64_t stride : domain.strides[1]) steps.push_back(launch.param(stride));
  add(launch);
  launch.run([&](KernelBuilder& k) {
    const Expr* place = k.integer(0);
    for (size_t d = 0; d < axes.size(); ++d)
      place = k.pool().add(place, k.pool().mul(launch.param(k, steps[d]), k.var(axes[d])));
    const Sym made = value(k, launch, place);
    k.loop(axes, [&] { k.store(y, made); });
  });
}

// The type in which a range is computed: doubles but for integers.
Type wide_type(DType dtype) {
  if (is_complex(dtype)) return Type::C128;
  return is_floating(dtype) ? Type::F64 : Type::I64;
}

// The elements of `out` in logical order are those of `self` at other places along some axes.
template <class Place>
void move_elements(std::string_view name, const Tensor& self, Tensor& out,
                   FunctionRef<void(Launch&)> add, Place&& place) {
  if (out.numel() == 0) return;
  Launch launch(name, out.device());
  launch.compute_in(kernel::compute_type(out.dtype()));
  const std::vector<int> axes = launch.axes(out.sizes());
  const int y = launch.operand(out, out.strides()), x = launch.operand(self, self.strides());
  add(launch);
  launch.run(
      [&](KernelBuilder& k) { k.loop(axes, [&] { k.store(y, k.load(x, place(k, launch))); }); });
}

void triangle(const char* name, bool is_upper, const Tensor& self, SymInt diagonal, Tensor& out) {
  if (out.numel() == 0) return;
  Launch launch(name, out.device());
  const Type type = kernel::compute_type(out.dtype());
  launch.compute_in(type);
  const std::vector<int> axes = launch.axes(out.sizes());
  const int y = launch.operand(out, out.strides()), x = launch.operand(self, self.strides());
  const int number = launch.number(Scalar(diagonal.expect_int()), Type::I64);
  launch.run([&](KernelBuilder& k) {
    const auto place = [&](int axis) {
      return k.extent(axis)->is_constant(1) ? k.index(k.integer(0)) : k.index(k.var(axis));
    };
    const int row = axes[axes.size() - 2], column = axes.back();
    const Sym distance = place(column) - place(row), limit = launch.uniform(k, number);
    const SymMask is_kept = is_upper ? distance >= limit : distance <= limit;
    const Sym zero = Sym::from_id(k.graph().constant(0, type));
    const Sym value = k.load(x);
    const Sym result = type == Type::Mask ? Sym::from_id((k.as_mask(value) & is_kept).id)
                                          : where(is_kept, value, zero);
    k.loop(axes, [&] { k.store(y, result); });
  });
}

}  // namespace

// ---- copies and fills ----
Tensor& copy_(Tensor& self, const Tensor& src, bool non_blocking) {
  const bool is_here = self.defined() && src.defined() && self.device() == src.device();
  if (!is_here || self.is_same(src)) return devices::copy_between(self, src, non_blocking);
  const SymIntVec shape = broadcast_shapes(self.sym_sizes(), src.sym_sizes());
  TAEDA_CHECK(SymIntList(shape) == self.sym_sizes(), "output with shape ", self.sizes(),
              " doesn't match the broadcast shape ", shape);
  if (self.numel() == 0) return self;
  check_no_internal_overlap(self);
  check_no_partial_overlap(self, src);
  Domain domain(self.sizes(), {IntVec(self.strides()), broadcast_strides(src, self.sizes())});
  domain.arrange();
  Launch launch("copy", self.device());
  launch.compute_in(kernel::compute_type(src.dtype()));
  const std::vector<int> axes = launch.axes(domain.sizes);
  const int y = launch.operand(self, domain.strides[0]), x = launch.operand(src, domain.strides[1]);
  // Conjugates and negatives are made while they are copied.
  const bool is_conj = self.is_conj() != src.is_conj(), is_neg = self.is_neg() != src.is_neg();
  launch.fact(is_conj);
  launch.fact(is_neg);
  launch.run([&](KernelBuilder& k) {
    Sym value = k.load(x);
    if (is_conj) value = conj(value);
    if (is_neg) value = -value;
    k.loop(axes, [&] { k.store(y, value); });
  });
  return self;
}

Tensor& fill__Scalar(Tensor& self, const Scalar& value) {
  if (self.numel() == 0) return self;
  check_fits(value, self.dtype());
  const Type type = kernel::compute_type(self.dtype());
  // Elements that share their memory are written once.
  Tensor places = devices::distinct_places(self);
  int number = -1;
  fill_with(
      "fill", places, type, [&](Launch& launch) { number = launch.number(value, type); },
      [&](KernelBuilder& k, Launch& launch, const Expr*) { return launch.uniform(k, number); });
  return self;
}

// ---- ranges ----
Tensor& _fill_range_(Tensor& self, const Scalar& start, const Scalar& step) {
  const Type type = wide_type(self.dtype());
  int from = -1, by = -1;
  fill_with(
      "fill_range", self, type,
      [&](Launch& launch) {
        from = launch.number(start, type);
        by = launch.number(step, type);
      },
      [&](KernelBuilder& k, Launch& launch, const Expr* place) {
        return launch.uniform(k, from) + k.cast(k.index(place), type) * launch.uniform(k, by);
      });
  return self;
}

Tensor& _fill_spaced_(Tensor& self, const Scalar& start, const Scalar& end,
                      std::optional<double> base) {
  const int64_t steps = self.numel();
  if (steps == 0) return self;
  const bool is_whole = !is_floating(self.dtype()) && !is_complex(self.dtype());
  // Integers count from whole numbers; their exponents are floats, as PyTorch's.
  const Type type = is_complex(self.dtype()) ? Type::C128
                    : is_whole && base       ? Type::F32
                                             : Type::F64;
  const auto whole = [&](const Scalar& s) { return is_whole ? Scalar(s.to_int()) : s; };
  int from = -1, to = -1, by = -1, half = -1, last = -1, power = -1;
  fill_with(
      base ? "fill_powers" : "fill_spaced", self, type,
      [&](Launch& launch) {
        const Scalar first = whole(start), end_number = whole(end);
        const double parts = static_cast<double>(std::max<int64_t>(steps - 1, 1));
        const Complex<double> step =
            (end_number.to_complex() - first.to_complex()) / Complex<double>(parts);
        from = launch.number(first, type);
        to = launch.number(end_number, type);
        by = launch.number(is_complex(self.dtype()) ? Scalar(step) : Scalar(step.re), type);
        half = launch.number(Scalar(steps == 1 ? 1 : steps / 2), Type::I64);
        last = launch.number(Scalar(steps - 1), Type::I64);
        if (base) power = launch.number(Scalar(*base), Type::F64);
      },
      [&](KernelBuilder& k, Launch& launch, const Expr* place) {
        const Sym i = k.index(place), step = launch.uniform(k, by);
        // From both ends, so that both are met exactly.
        const Sym up = launch.uniform(k, from) + k.cast(i, type) * step;
        const Sym down = launch.uniform(k, to) - k.cast(launch.uniform(k, last) - i, type) * step;
        Sym value = where(i < launch.uniform(k, half), up, down);
        if (!base) return value;
        const Type wide = type == Type::F32 ? Type::F64 : type;
        return pow(k.cast(launch.uniform(k, power), wide), k.cast(value, wide));
      });
  return self;
}

// ---- moved elements ----
void repeat(const Tensor& self, SymIntList repeats, Tensor& out) {
  // Each dimension of the result is one of repetitions and one of elements.
  const size_t ndim = repeats.size(), missing = ndim - self.sizes().size();
  IntVec sizes, strides;
  SymIntVec shape;
  for (size_t d = 0; d < ndim; ++d) {
    const int64_t size = d < missing ? 1 : self.sizes()[d - missing];
    sizes.push_back(repeats[d].expect_int());
    strides.push_back(out.strides()[d] * size);
    sizes.push_back(size);
    strides.push_back(out.strides()[d]);
    shape.push_back(SymInt(1));
    shape.push_back(SymInt(size));
  }
  if (out.numel() == 0) return;
  Tensor blocks = make_alias(out, sizes, strides, out.storage_offset());
  blocks.copy_(self.reshape(shape));
}

void roll(const Tensor& self, SymIntList shifts, IntList dims, Tensor& out) {
  if (dims.empty()) {
    // Without dimensions the elements are rolled in logical order.
    if (out.numel() == 0) return;
    Tensor flat = self.reshape({SymInt(-1)}), made = taeda::empty_like(flat);
    const int64_t along[] = {0};
    roll(flat, shifts, along, made);
    out.copy_(made.reshape(self.sym_sizes()));
    return;
  }
  std::vector<int64_t> back(self.sizes().size(), 0);
  for (size_t i = 0; i < dims.size(); ++i) {
    const int64_t dim = wrap_dim(dims[i], self.dim()), size = self.sizes()[dim];
    if (size == 0) return;
    back[dim] = ((back[dim] - shifts[i].expect_int()) % size + size) % size;
  }
  std::vector<int> params;
  move_elements(
      "roll", self, out,
      [&](Launch& launch) {
        for (int64_t b : back) params.push_back(launch.param(b));
      },
      [&](KernelBuilder& k, Launch& launch) {
        Coordinates at;
        for (size_t d = 0; d < params.size(); ++d) {
          const int axis = static_cast<int>(d);
          if (k.extent(axis)->is_constant(1)) continue;
          at.along[axis] = k.pool().modulo(k.pool().add(k.var(axis), launch.param(k, params[d])),
                                           k.extent(axis));
        }
        return at;
      });
}

void flip(const Tensor& self, IntList dims, Tensor& out) {
  const uint64_t bits = dims.empty() ? 0 : dim_bitset(dims, self.dim(), false);
  move_elements(
      "flip", self, out, [&](Launch& launch) { launch.fact(static_cast<int64_t>(bits)); },
      [&](KernelBuilder& k, Launch&) {
        Coordinates at;
        for (int64_t d = 0; d < self.dim(); ++d) {
          const int axis = static_cast<int>(d);
          if (!(bits >> d & 1) || k.extent(axis)->is_constant(1)) continue;
          at.along[axis] =
              k.pool().subtract(k.pool().subtract(k.extent(axis), k.integer(1)), k.var(axis));
        }
        return at;
      });
}

void tril(const Tensor& self, SymInt diagonal, Tensor& out) {
  triangle("tril", false, self, diagonal, out);
}
void triu(const Tensor& self, SymInt diagonal, Tensor& out) {
  triangle("triu", true, self, diagonal, out);
}

// ---- joining ----
void cat(TensorList tensors, int64_t dim, Tensor& out) {
  dim = wrap_dim(dim, out.dim());
  int64_t at = 0;
  for (const Tensor& t : tensors) {
    // An empty vector joins with anything.
    if (t.dim() == 1 && t.numel() == 0 && out.dim() != 1) continue;
    const int64_t size = t.sizes()[dim];
    out.narrow(dim, SymInt(at), SymInt(size)).copy_(t);
    at += size;
  }
}

void stack(TensorList tensors, int64_t dim, Tensor& out) {
  dim = wrap_dim(dim, out.dim());
  for (size_t i = 0; i < tensors.size(); ++i)
    out.select(dim, SymInt(static_cast<int64_t>(i))).copy_(tensors[i]);
}

}  // namespace taeda::lowered
