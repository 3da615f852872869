// Tensors one behind the other.
#include "taeda/ops/join/lowerings.h"

namespace taeda::lowering {

// Joined parts that a kernel reads where they are; more are copied.
constexpr size_t kMaxParts = 8;

void cat(TensorList tensors, int64_t dim, const Tensor& out) {
  Lowering& l = Lowering::current();
  const size_t along = static_cast<size_t>(wrap_dim(dim, out.dim()));
  std::vector<const Definition*> parts;
  for (const Tensor& t : tensors) {
    if (t.dim() != out.dim()) continue;  // an empty vector joins with anything
    parts.push_back(&l.of(t));
  }
  // Each element looks at every part.
  if (parts.size() > kMaxParts) return;
  l.define(out, [parts, along, dtype = out.dtype()](Emitter& e, const Place& at) {
    symbolic::ExprPool& pool = e.pool();
    const Type type = kernel::compute_type(dtype);
    const Sym here = e.index(at[along]);
    const Expr* start = pool.integer(0);
    Sym value;
    for (size_t i = 0; i < parts.size(); ++i) {
      const Expr* end = pool.add(start, parts[i]->sizes[along]);
      Place place = at;
      place[along] = pool.subtract(at[along], start);
      // Tensors behind it are chosen over it further on, so that its end needs a test of memory
      // alone.
      const SymMask is_behind = here >= e.index(start), is_before = here < e.index(end);
      const Sym part = e.cast(e.read_if(is_behind & is_before, *parts[i], place), type);
      value = i == 0 ? part : Sym(where(is_behind, part, value));
      start = end;
    }
    return value;
  });
}

}  // namespace taeda::lowering
