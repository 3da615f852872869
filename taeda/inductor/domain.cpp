// Matching products of sizes.
#include "taeda/inductor/domain.h"

#include "taeda/base/str.h"

namespace taeda::inductor {

namespace {

// Where the extent is a number, the name has it, as one name stands for one range.
const Expr* axis_variable(symbolic::ExprPool& pool, int number, const Expr* extent) {
  if (!extent->is_constant() || extent->value.integer < 1)
    return pool.symbol(str("i", number), SymKind::Int, {0, symbolic::IntRange::kMax}, {});
  const int64_t n = extent->value.integer;
  return pool.symbol(str("i", number, "_", n), SymKind::Int, {0, n - 1}, {});
}

// The number of factors from `first` on whose product is `wanted`; 0 where there is none.
template <class Extent>
size_t factors(symbolic::ExprPool& pool, const Expr* wanted, size_t first, size_t end,
               Extent&& extent) {
  const Expr* product = pool.integer(1);
  for (size_t i = first; i < end; ++i) {
    product = pool.mul(product, extent(i));
    if (product == wanted) return i - first + 1;
  }
  return 0;
}

}  // namespace

std::optional<Fit> fit(symbolic::ExprPool& pool, const std::vector<DomainAxis>& axes,
                       const Place& sizes, uint64_t rows, bool is_per_row, int& next) {
  Fit made;
  made.at = Place(sizes.size(), pool.integer(0));
  std::vector<size_t> dims;
  for (size_t d = 0; d < sizes.size(); ++d)
    if (!sizes[d]->is_constant(1)) dims.push_back(d);
  size_t d = 0;
  for (size_t a = 0; a < axes.size();) {
    if (is_per_row && axes[a].is_row) {
      made.axes.push_back(axes[a++]);
      continue;
    }
    if (d == dims.size()) return std::nullopt;
    const auto size = [&](size_t i) { return sizes[dims[i]]; };
    const auto extent = [&](size_t i) { return axes[i].extent; };
    const auto flagged = [&](const DomainAxis& axis, size_t dim) {
      DomainAxis copy = axis;
      copy.is_row = axis.is_row || (rows >> dim & 1);
      return copy;
    };
    // One dimension over several axes, none of them passed over.
    size_t end = a;
    while (end < axes.size() && !(is_per_row && axes[end].is_row)) ++end;
    if (const size_t count = factors(pool, size(d), a, end, extent)) {
      const Expr* at = pool.integer(0);
      for (size_t i = a; i < a + count; ++i) {
        at = pool.add(pool.mul(at, axes[i].extent), axes[i].var);
        made.axes.push_back(flagged(axes[i], dims[d]));
      }
      made.at[dims[d++]] = at;
      a += count;
      continue;
    }
    // One axis over several dimensions: it is split.
    const size_t count = factors(pool, axes[a].extent, d, dims.size(), size);
    if (count == 0) return std::nullopt;
    const Expr* whole = pool.integer(0);
    for (size_t i = d; i < d + count; ++i) {
      DomainAxis part =
          flagged({axis_variable(pool, next++, size(i)), size(i), axes[a].is_row}, dims[i]);
      whole = pool.add(pool.mul(whole, part.extent), part.var);
      made.at[dims[i]] = part.var;
      made.axes.push_back(part);
    }
    made.replaced[axes[a].var] = whole;
    d += count;
    ++a;
  }
  if (d != dims.size()) return std::nullopt;
  return made;
}

Fit first_fit(symbolic::ExprPool& pool, const Place& sizes, uint64_t rows, int& next) {
  Fit made;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d]->is_constant(1)) {
      made.at.push_back(pool.integer(0));
      continue;
    }
    made.axes.push_back({axis_variable(pool, next++, sizes[d]), sizes[d], (rows >> d & 1) != 0});
    made.at.push_back(made.axes.back().var);
  }
  return made;
}

}  // namespace taeda::inductor
