// Repetitions, and a fixed number of coordinates.
#include "taeda/ops/functions.h"
#include "taeda/ops/shape.h"
#include "taeda/ops/unique/declarations.h"
#include "taeda/ops/unique/functions.h"

namespace taeda::impl {
// ---- repetitions ----

Tensor repeat_interleave_self_Tensor(const Tensor& self, const Tensor& repeats,
                                     std::optional<int64_t> dim,
                                     std::optional<SymInt> output_size) {
  const Tensor input = dim ? self : self.flatten();
  const int64_t along = wrap_dim(dim.value_or(0), input.dim());
  const SymInt length = input.dim() == 0 ? SymInt(1) : input.sym_size(along);
  Tensor times = repeats;
  if (repeats.dim() == 0 || (repeats.dim() == 1 && repeats.sym_size(0) == SymInt(1))) {
    times = repeats.reshape({SymInt(1)}).expand({length});
  } else {
    TAEDA_CHECK(repeats.dim() == 1, "repeats must be 0-dim or 1-dim tensor");
    TAEDA_CHECK(repeats.sym_size(0) == length,
                "repeats must have the same size as input along dim, but got repeats.size(0) = ",
                repeats.sym_size(0), " and input.size(", along, ") = ", length);
  }
  const Tensor places = taeda::repeat_interleave(times, output_size);
  const Tensor lines = input.dim() == 0 ? input.reshape({SymInt(1)}) : input;
  return lines.index_select(along, places);
}

Tensor repeat_interleave_self_int(const Tensor& self, SymInt repeats, std::optional<int64_t> dim,
                                  std::optional<SymInt> output_size) {
  TAEDA_CHECK(repeats >= SymInt(0), "Repeats must be non-negative");
  const Tensor input = dim && self.dim() > 0 ? self : self.reshape({SymInt(-1)});
  const int64_t along = wrap_dim(dim.value_or(0), input.dim());
  const SymInt size = input.sym_size(along) * repeats;
  TAEDA_CHECK(!output_size || *output_size == size,
              "repeat_interleave: Invalid output_size, expected ", size, " but got ",
              output_size.value_or(SymInt(0)));
  SymIntVec spread(input.sym_sizes()), joined(input.sym_sizes());
  spread.insert(static_cast<size_t>(along) + 1, repeats);
  joined[along] = size;
  return input.unsqueeze(along + 1).expand(spread).clone(MemoryFormat::Contiguous).reshape(joined);
}

OutSpec nonzero_static_spec(const Tensor& self, SymInt size, int64_t) {
  TAEDA_CHECK(size >= SymInt(0), "nonzero_static: 'size' must be an non-negative integer");
  return OutSpec(SymIntList({size, SymInt(self.dim())}), DType::Int64, self.device());
}

}  // namespace taeda::impl
