// repeat, roll, flip, tril and triu on the CPU, for any strides of input and result.
#include <algorithm>
#include <cstring>

#include "taeda/backends/cpu/convert_declarations.h"
#include "taeda/backends/cpu/pointwise/copy.h"
#include "taeda/backends/cpu/rearrange_declarations.h"
#include "taeda/base/parallel.h"

namespace taeda::cpu {

void repeat(const Tensor& self, SymIntList repeats, Tensor& out) {
  if (out.numel() == 0) return;
  // Each dimension of the result is seen as repetitions of the input's.
  IntVec sizes, from, to;
  const size_t lead = repeats.size() - static_cast<size_t>(self.dim());
  for (size_t i = 0; i < repeats.size(); ++i) {
    const int64_t own = i < lead ? 1 : self.sizes()[i - lead];
    sizes.push_back(repeats[i].expect_int());
    from.push_back(0);
    to.push_back(out.strides()[i] * own);
    if (i < lead) continue;
    sizes.push_back(own);
    from.push_back(self.strides()[i - lead]);
    to.push_back(out.strides()[i]);
  }
  Tensor target = make_alias(out, sizes, to, out.storage_offset());
  cpu::copy_(target, make_alias(self, sizes, from, self.storage_offset()), false);
}

namespace {

Tensor range_of(const Tensor& t, int64_t dim, int64_t start, int64_t length) {
  IntVec sizes(t.sizes());
  sizes[dim] = length;
  return make_alias(t, sizes, t.strides(), t.storage_offset() + start * t.strides()[dim]);
}

void roll_into(const Tensor& self, SymIntList shifts, IntList dims, const Tensor& out) {
  if (dims.empty()) {
    Tensor target = out;
    cpu::copy_(target, self, false);
    return;
  }
  const int64_t dim = wrap_dim(dims[0], self.dim()), size = self.sizes()[dim];
  const int64_t shift = ((shifts[0].expect_int() % size) + size) % size;
  const SymIntList rest = shifts.drop_front();
  if (shift == 0) return roll_into(self, rest, dims.drop_front(), out);
  roll_into(range_of(self, dim, 0, size - shift), rest, dims.drop_front(),
            range_of(out, dim, shift, size - shift));
  roll_into(range_of(self, dim, size - shift, shift), rest, dims.drop_front(),
            range_of(out, dim, 0, shift));
}

}  // namespace

void roll(const Tensor& self, SymIntList shifts, IntList dims, Tensor& out) {
  const int64_t numel = out.numel();
  if (numel == 0) return;
  if (self.dim() == 0) return roll_into(self, {}, {}, out);
  if (!dims.empty()) {
    // A dimension given twice moves twice: one after the other, the second time within the result's
    // order.
    IntVec once;
    SymIntVec by;
    for (size_t i = 0; i < dims.size(); ++i) {
      const int64_t d = wrap_dim(dims[i], self.dim());
      const auto at = std::find(once.begin(), once.end(), d);
      if (at != once.end())
        by[at - once.begin()] += shifts[i];
      else {
        once.push_back(d);
        by.push_back(shifts[i]);
      }
    }
    return roll_into(self, by, once, out);
  }
  // Without dimensions the elements move in logical order: runs of it, row by row.
  const int64_t shift = ((shifts[0].expect_int() % numel) + numel) % numel,
                item = self.element_size();
  const int64_t last = self.dim() - 1, cols = self.sizes()[last];
  auto offset_of = [&](const Tensor& t, int64_t index) {
    int64_t at = 0;
    for (int64_t d = last; d >= 0; --d) {
      at += index % t.sizes()[d] * t.strides()[d];
      index /= t.sizes()[d];
    }
    return at * item;
  };
  parallel_for(
      0, numel / cols, std::max<int64_t>(1, 32768 / cols), [&](int64_t first, int64_t end) {
        for (int64_t r = first; r < end; ++r) {
          for (int64_t c = 0; c < cols;) {
            const int64_t to = r * cols + c, from = (to - shift + numel) % numel;
            const int64_t n = std::min(cols - c, cols - from % cols);
            char* dst = static_cast<char*>(out.data()) + offset_of(out, to);
            const char* src = static_cast<const char*>(self.data()) + offset_of(self, from);
            const int64_t ds = out.strides()[last] * item, ss = self.strides()[last] * item;
            if (ds == item && ss == item)
              std::memcpy(dst, src, static_cast<size_t>(n * item));
            else
              for (int64_t i = 0; i < n; ++i)
                std::memcpy(dst + i * ds, src + i * ss, static_cast<size_t>(item));
            c += n;
          }
        }
      });
}

void flip(const Tensor& self, IntList dims, Tensor& out) {
  if (out.numel() == 0) return;
  LoopNest nest;
  nest.add(out, out.sizes());
  nest.add(self, out.sizes());
  for (int64_t d : dims) {
    if (self.dim() == 0) break;
    d = wrap_dim(d, self.dim());
    nest.base[1] += (self.sizes()[d] - 1) * nest.strides[1][d];
    nest.strides[1][d] = -nest.strides[1][d];
  }
  nest.finish(out.sizes());
  copy_same(nest, out.element_size());
}

namespace {

// Columns [from, to) of a row are kept, the rest is zero.
void write_row(char* dst, const char* src, int64_t cols, int64_t from, int64_t to, int64_t ds,
               int64_t ss, size_t item) {
  auto zero = [&](int64_t a, int64_t b) {
    if (ds == static_cast<int64_t>(item)) {
      if (b > a) std::memset(dst + a * ds, 0, static_cast<size_t>(b - a) * item);
      return;
    }
    for (int64_t i = a; i < b; ++i) std::memset(dst + i * ds, 0, item);
  };
  zero(0, from);
  zero(to, cols);
  if (dst == src && ds == ss) return;
  if (ds == static_cast<int64_t>(item) && ss == ds && to > from)
    std::memcpy(dst + from * ds, src + from * ss, static_cast<size_t>(to - from) * item);
  else
    for (int64_t i = from; i < to; ++i) std::memcpy(dst + i * ds, src + i * ss, item);
}

void triangle(const Tensor& self, int64_t diagonal, bool is_upper, const Tensor& out) {
  if (out.numel() == 0) return;
  const int64_t rows = out.size(-2), cols = out.size(-1), item = out.element_size(),
                batch_dims = out.dim() - 2;
  const int64_t ds = out.stride(-1) * item, ss = self.stride(-1) * item;
  parallel_for(
      0, out.numel() / cols, std::max<int64_t>(1, 32768 / cols), [&](int64_t first, int64_t last) {
        for (int64_t r = first; r < last; ++r) {
          const int64_t row = r % rows;
          int64_t rest = r / rows, to = row * out.stride(-2), from = row * self.stride(-2);
          for (int64_t d = batch_dims; d-- > 0;) {
            const int64_t i = rest % out.sizes()[d];
            rest /= out.sizes()[d];
            to += i * out.strides()[d];
            from += i * self.strides()[d];
          }
          // The diagonal may lie far outside of the matrix.
          const int64_t edge =
              diagonal > cols ? cols
              : diagonal < -rows
                  ? 0
                  : std::clamp<int64_t>(row + diagonal + (is_upper ? 0 : 1), 0, cols);
          write_row(static_cast<char*>(out.data()) + to * item,
                    static_cast<const char*>(self.data()) + from * item, cols, is_upper ? edge : 0,
                    is_upper ? cols : edge, ds, ss, static_cast<size_t>(item));
        }
      });
}

}  // namespace

void tril(const Tensor& self, SymInt diagonal, Tensor& out) {
  triangle(self, diagonal.expect_int(), false, out);
}
void triu(const Tensor& self, SymInt diagonal, Tensor& out) {
  triangle(self, diagonal.expect_int(), true, out);
}

}  // namespace taeda::cpu
