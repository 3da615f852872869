// Several parts at once.
#include "taeda/ops/split/lowerings.h"

namespace taeda::lowering {
namespace {

void parts(const Tensor& self, int64_t dim, const std::vector<Tensor>& out) {
  Lowering& l = Lowering::current();
  symbolic::ExprPool& pool = l.pool();
  const size_t along = static_cast<size_t>(wrap_dim(dim, self.dim()));
  const Expr* start = pool.integer(0);
  for (const Tensor& part : out) {
    l.view(part, self, [&pool, along, start](const Place& at) {
      Place place = at;
      place[along] = pool.add(start, at[along]);
      return place;
    });
    start = pool.add(start, l.sizes(part)[along]);
  }
}

}  // namespace

void split_Tensor(const Tensor& self, SymInt, int64_t dim, const std::vector<Tensor>& out) {
  parts(self, dim, out);
}
void split_with_sizes(const Tensor& self, SymIntList, int64_t dim, const std::vector<Tensor>& out) {
  parts(self, dim, out);
}
void unbind_int(const Tensor& self, int64_t dim, const std::vector<Tensor>& out) {
  Lowering& l = Lowering::current();
  symbolic::ExprPool& pool = l.pool();
  const size_t along = static_cast<size_t>(wrap_dim(dim, self.dim()));
  for (size_t i = 0; i < out.size(); ++i)
    l.view(out[i], self, [along, row = pool.integer(static_cast<int64_t>(i))](const Place& at) {
      Place place;
      for (size_t d = 0; d <= at.size(); ++d)
        place.push_back(d == along ? row : at[d < along ? d : d - 1]);
      return place;
    });
}

}  // namespace taeda::lowering
