// Pooling over small windows, unrolled: the elements of a window in the order of eager kernels.
// Each element of a gradient adds those of the windows it lies in.
#include "taeda/ops/pooling/lowerings.h"

#include <algorithm>

#include "taeda/ops/pooling/windows.h"

namespace taeda::lowering {
namespace {

using symbolic::ExprOp;

// Larger windows are calls.
constexpr int64_t kMostTaps = 36;

// One of the last two dimensions.
struct WindowDim {
  const Expr *in, *out;  // sizes
  int64_t kernel, stride, padding, dilation;
  bool reaches_out;  // over an end of the input

  const Expr* start(symbolic::ExprPool& pool, const Expr* o) const {
    return pool.subtract(pool.mul(o, pool.integer(stride)), pool.integer(padding));
  }
  const Expr* tap(symbolic::ExprPool& pool, const Expr* o, int64_t k) const {
    return pool.add(start(pool, o), pool.integer(k * dilation));
  }
  // The first tap inside.
  const Expr* first(symbolic::ExprPool& pool, const Expr* o) const {
    const Expr *from = start(pool, o), *step = pool.integer(dilation);
    if (padding == 0) return from;
    const Expr* skipped =
        pool.make(ExprOp::Max, pool.integer(0), pool.ceil_div(pool.negate(from), step));
    return pool.add(from, pool.mul(skipped, step));
  }
  // What a mean counts along the dimension, without dilation.
  const Expr* counted(symbolic::ExprPool& pool, const Expr* o, bool counts_padding) const {
    if (!reaches_out) return pool.integer(kernel);
    const Expr *from = start(pool, o), *to = pool.add(from, pool.integer(kernel));
    if (counts_padding)
      return pool.subtract(pool.make(ExprOp::Min, to, pool.add(in, pool.integer(padding))), from);
    const Expr* inside = pool.subtract(pool.make(ExprOp::Min, to, in),
                                       pool.make(ExprOp::Max, from, pool.integer(0)));
    return pool.make(ExprOp::Max, inside, pool.integer(0));
  }
  // How many windows an element lies in at most.
  int64_t covers() const { return (kernel + stride - 1) / stride; }
  // The k-th window that may hold element i, in order.
  const Expr* window(symbolic::ExprPool& pool, const Expr* i, int64_t k) const {
    const Expr* last = pool.floor_div(pool.add(i, pool.integer(padding)), pool.integer(stride));
    return pool.subtract(last, pool.integer(covers() - 1 - k));
  }
};

SymMask is_within(Emitter& e, const Expr* i, const Expr* size) {
  return (e.index(i) >= e.constant(0, Type::I64)) & (e.index(i) < e.index(size));
}

struct Windows {
  WindowDim h, w;

  Windows(const PoolWindow& window, const Tensor& in, const Tensor& out, bool ceil_mode) {
    Lowering& l = Lowering::current();
    const Place from = l.sizes(in), to = l.sizes(out);
    for (size_t d = 0; d < 2; ++d) {
      const size_t at = from.size() - 2 + d;
      (d ? w : h) = WindowDim{from[at],
                              to[at],
                              window.kernel[d],
                              window.stride[d],
                              window.padding[d],
                              window.dilation[d],
                              window.padding[d] > 0 || ceil_mode};
    }
  }
  bool is_small() const { return h.kernel * w.kernel <= kMostTaps; }
  // Whether vectors read the taps of neighbouring windows as they lie, or windows do not overlap.
  bool is_dense_or_apart() const { return w.stride == 1 || w.kernel <= w.stride; }
  bool is_dense() const { return h.dilation == 1 && w.dilation == 1; }
  // Whether an element belongs to one window at most. The gradient of windows that overlap would
  // look at each of them for each element, lane by lane; eager kernels go through windows.
  bool is_apart() const { return is_dense() && h.kernel <= h.stride && w.kernel <= w.stride; }

  // Calls each(kh, kw, element, is inside) for the taps of a result, rows first.
  template <class Each>
  void for_taps(Emitter& e, const Definition& x, const Place& at, bool columns_first,
                Each&& each) const {
    const int64_t outer = columns_first ? w.kernel : h.kernel,
                  inner = columns_first ? h.kernel : w.kernel;
    for (int64_t a = 0; a < outer; ++a)
      for (int64_t b = 0; b < inner; ++b) {
        const int64_t kh = columns_first ? b : a, kw = columns_first ? a : b;
        const size_t last = at.size() - 1;
        Place place = at;
        place[last - 1] = h.tap(e.pool(), at[last - 1], kh);
        place[last] = w.tap(e.pool(), at[last], kw);
        SymMask inside(true);
        if (h.reaches_out) inside = inside & is_within(e, place[last - 1], h.in);
        if (w.reaches_out) inside = inside & is_within(e, place[last], w.in);
        const bool is_masked = h.reaches_out || w.reaches_out;
        each(kh, kw, place, is_masked ? e.read_if(inside, x, place) : e.read(x, place), inside);
      }
  }
  // The same for the windows of an element, whose results `grad` has: each(place of the window,
  // element, is there).
  template <class Each>
  void for_windows(Emitter& e, const Place& at, Each&& each) const {
    const size_t last = at.size() - 1;
    for (int64_t a = 0; a < h.covers(); ++a)
      for (int64_t b = 0; b < w.covers(); ++b) {
        Place place = at;
        place[last - 1] = h.window(e.pool(), at[last - 1], a);
        place[last] = w.window(e.pool(), at[last], b);
        each(a, b, place, is_within(e, place[last - 1], h.out) & is_within(e, place[last], w.out));
      }
  }
};

struct Greatest {
  Sym value, index;
};

// Of equal elements the first counts, of several that are no numbers the last.
Greatest greatest(Emitter& e, const Windows& windows, const Definition& x, const Place& at) {
  symbolic::ExprPool& pool = e.pool();
  const size_t last = at.size() - 1;
  const Type type = kernel::compute_type(x.dtype);
  const auto number = [&](const Expr* row, const Expr* column) {
    return e.index(pool.add(pool.mul(row, windows.w.in), column));
  };
  Greatest best{Sym::from_id(kernel::sym_extreme(type, false)),
                number(windows.h.first(pool, at[last - 1]), windows.w.first(pool, at[last]))};
  windows.for_taps(e, x, at, false,
                   [&](int64_t, int64_t, const Place& place, Sym value, SymMask inside) {
                     const SymMask takes = inside & ((value > best.value) | isnan(value));
                     best.index = where(takes, number(place[last - 1], place[last]), best.index);
                     best.value = where(takes, value, best.value);
                   });
  return best;
}

void define_greatest(const Windows& windows, const Tensor& self, const Tensor& values,
                     const Tensor& places) {
  Lowering& l = Lowering::current();
  const Definition& x = l.of(self);
  l.define(values, [windows, &x](Emitter& e, const Place& at) {
    return greatest(e, windows, x, at).value;
  });
  l.define(places, [windows, &x](Emitter& e, const Place& at) {
    return greatest(e, windows, x, at).index;
  });
}

// Gradients are added at the places that are kept of them, in the order of windows. A window
// without elements has a place behind the plane, and nothing is added for it.
void scatter_windows(const Windows& windows, const Definition& grad, const Definition& places,
                     const Tensor& out) {
  Lowering& l = Lowering::current();
  const Type type = kernel::compute_type(grad.dtype);
  const auto zero = [type](Emitter& e, const Place&) { return e.constant(0, type); };
  const Scatter updates{grad.sizes, [windows, type, &grad, &places](Emitter& e, const Place& at) {
                          symbolic::ExprPool& pool = e.pool();
                          const Expr *width = windows.w.in, *size = pool.mul(windows.h.in, width);
                          const Sym given = e.read(places, at), first = e.constant(0, Type::I64);
                          const SymMask is_inside = given < e.index(size);
                          const Expr* place =
                              e.indirect(where(is_inside, given, first), size, false);
                          const Sym value = where(is_inside, e.read(grad, at), e.constant(0, type));
                          Place to = at;
                          to[to.size() - 2] = pool.floor_div(place, width);
                          to[to.size() - 1] = pool.modulo(place, width);
                          return Scatter::Update{to, value};
                        }};
  if (item_size(grad.dtype) >= item_size(DType::Float)) return l.scatter(out, zero, updates);
  // Half types are added up in float.
  const Definition& sums = l.scatter(DType::Float, l.sizes(out), zero, updates);
  l.define(out, [&sums](Emitter& e, const Place& at) { return e.read(sums, at); });
}

// Means of windows, or what they divide by.
struct MeanWindows {
  Windows windows;
  bool counts_padding;
  std::optional<int64_t> divisor;

  Sym divided(Emitter& e, Sym total, const Expr* oh, const Expr* ow) const {
    symbolic::ExprPool& pool = e.pool();
    const Expr* by = divisor ? pool.integer(*divisor)
                             : pool.mul(windows.h.counted(pool, oh, counts_padding),
                                        windows.w.counted(pool, ow, counts_padding));
    const Type type = e.type_of(total);
    const Sym n = e.cast(e.index(by), type), zero = e.constant(0, type);
    if (by->is_constant()) return total / n;
    return where(n == zero, zero, total / n);
  }

  // Rows are added first, then their columns.
  void define(const Tensor& self, const Tensor& out) const {
    Lowering& l = Lowering::current();
    const Definition& x = l.of(self);
    l.define(out, [self = *this, &x](Emitter& e, const Place& at) {
      const Sym zero = e.constant(0, kernel::compute_type(x.dtype));
      Sym total = zero, column;
      const int64_t last = self.windows.h.kernel - 1;
      self.windows.for_taps(
          e, x, at, true, [&](int64_t kh, int64_t, const Place&, Sym value, SymMask inside) {
            const bool is_masked = self.windows.h.reaches_out || self.windows.w.reaches_out;
            column =
                (kh == 0 ? zero : column) + (is_masked ? Sym(where(inside, value, zero)) : value);
            if (kh == last) total = total + column;
          });
      return self.divided(e, total, at[at.size() - 2], at.back());
    });
  }

  // Shares are spread along a row first, then to its rows.
  void define_backward(const Tensor& grad_output, const Tensor& out) const {
    Lowering& l = Lowering::current();
    const Definition& grad = l.of(grad_output);
    l.define(out, [self = *this, &grad](Emitter& e, const Place& at) {
      const Windows& windows = self.windows;
      const Sym zero = e.constant(0, kernel::compute_type(grad.dtype));
      Sym total = zero, row;
      windows.for_windows(e, at, [&](int64_t, int64_t b, const Place& place, SymMask is_there) {
        const size_t last = at.size() - 1;
        // The windows of an element end behind it.
        const auto ends_behind = [&](const WindowDim& d, const Expr* o, const Expr* i) {
          return e.index(i) <
                 e.index(e.pool().add(d.start(e.pool(), o), e.pool().integer(d.kernel)));
        };
        const SymMask counts = is_there & ends_behind(windows.h, place[last - 1], at[last - 1]) &
                               ends_behind(windows.w, place[last], at[last]);
        const Sym share =
            self.divided(e, e.read_if(counts, grad, place), place[last - 1], place[last]);
        row = (b == 0 ? zero : row) + where(counts, share, zero);
        if (b == windows.w.covers() - 1) total = total + row;
      });
      return total;
    });
  }
};

// Windows of one size that cover the input evenly, where sizes are numbers that allow it.
std::optional<MeanWindows> even_windows(const Tensor& in, const Tensor& out) {
  Lowering& l = Lowering::current();
  const Place from = l.sizes(in), to = l.sizes(out);
  PoolWindow window;
  for (size_t d = from.size() - 2; d < from.size(); ++d) {
    if (!from[d]->is_constant() || !to[d]->is_constant() || to[d]->is_constant(0)) return {};
    const int64_t n = from[d]->value.integer, m = to[d]->value.integer;
    if (n % m != 0) return {};
    window.kernel.push_back(n / m);
    window.stride.push_back(n / m);
    window.padding.push_back(0);
    window.dilation.push_back(1);
  }
  return MeanWindows{Windows(window, in, out, false), true, {}};
}

}  // namespace

void max_pool2d_with_indices(const Tensor& self, IntList kernel_size, IntList stride,
                             IntList padding, IntList dilation, bool ceil_mode, const Tensor& out0,
                             const Tensor& out1) {
  const PoolWindow window = pool_window("max_pool2d", 2, kernel_size, stride, padding, dilation);
  const Windows windows(window, self, out0, ceil_mode);
  // Windows that overlap share the greatest elements of columns, which the library's kernel finds
  // in vectors; an element for each of them would be read lane by lane.
  if (windows.is_small() && windows.is_dense_or_apart()) define_greatest(windows, self, out0, out1);
}

void adaptive_max_pool2d(const Tensor& self, IntList, const Tensor& out0, const Tensor& out1) {
  const std::optional<MeanWindows> even = even_windows(self, out0);
  if (even && even->windows.is_small()) define_greatest(even->windows, self, out0, out1);
}

void max_pool2d_with_indices_backward(const Tensor& grad_output, const Tensor& self,
                                      IntList kernel_size, IntList stride, IntList padding,
                                      IntList dilation, bool ceil_mode, const Tensor& indices,
                                      const Tensor& out) {
  const PoolWindow window = pool_window("max_pool2d", 2, kernel_size, stride, padding, dilation);
  const Windows windows(window, self, grad_output, ceil_mode);
  Lowering& l = Lowering::current();
  const Definition &grad = l.of(grad_output), &places = l.of(indices);
  // Each element would look at all windows it lies in: windows bring theirs instead. Channels that
  // lie innermost would do so lane by lane, in memory that other lanes write between.
  if (!windows.is_apart()) {
    if (self.is_contiguous()) scatter_windows(windows, grad, places, out);
    return;
  }
  l.define(out, [windows, &grad, &places](Emitter& e, const Place& at) {
    const size_t last = at.size() - 1;
    const Sym zero = e.constant(0, kernel::compute_type(grad.dtype));
    const Sym own = e.index(e.pool().add(e.pool().mul(at[last - 1], windows.w.in), at[last]));
    Sym total = zero;
    windows.for_windows(e, at, [&](int64_t, int64_t, const Place& place, SymMask is_there) {
      const SymMask is_own = is_there & (e.read_if(is_there, places, place) == own);
      total = total + where(is_own, e.read_if(is_there, grad, place), zero);
    });
    return total;
  });
}

void avg_pool2d(const Tensor& self, IntList kernel_size, IntList stride, IntList padding,
                bool ceil_mode, bool count_include_pad, std::optional<int64_t> divisor_override,
                const Tensor& out) {
  const PoolWindow window = pool_window("avg_pool2d", 2, kernel_size, stride, padding);
  const MeanWindows means{Windows(window, self, out, ceil_mode), count_include_pad,
                          divisor_override};
  if (means.windows.is_small()) means.define(self, out);
}

void avg_pool2d_backward(const Tensor& grad_output, const Tensor& self, IntList kernel_size,
                         IntList stride, IntList padding, bool ceil_mode, bool count_include_pad,
                         std::optional<int64_t> divisor_override, const Tensor& out) {
  const PoolWindow window = pool_window("avg_pool2d", 2, kernel_size, stride, padding);
  const MeanWindows means{Windows(window, self, grad_output, ceil_mode), count_include_pad,
                          divisor_override};
  if (means.windows.is_apart()) means.define_backward(grad_output, out);
}

void _adaptive_avg_pool2d(const Tensor& self, SymIntList, const Tensor& out) {
  const std::optional<MeanWindows> means = even_windows(self, out);
  if (means && means->windows.is_small()) means->define(self, out);
}

void _adaptive_avg_pool2d_backward(const Tensor& grad_output, const Tensor& self,
                                   const Tensor& out) {
  const std::optional<MeanWindows> means = even_windows(self, grad_output);
  if (means && means->windows.is_apart()) means->define_backward(grad_output, out);
}

}  // namespace taeda::lowering
