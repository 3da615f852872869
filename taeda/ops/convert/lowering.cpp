// Copies: the same elements in another dtype or layout.
#include "taeda/ops/convert/lowerings.h"

#include "taeda/ops/index_map.h"

namespace taeda::lowering {
namespace {

void copied(const Tensor& from, const Tensor& out) {
  Lowering& l = Lowering::current();
  symbolic::ExprPool& pool = l.pool();
  l.view(out, from, [&pool, to = l.sizes(from), sizes = l.sizes(out)](const Place& at) {
    return broadcast_place(pool, sizes, to, at);
  });
}

}  // namespace

void clone(const Tensor& self, std::optional<MemoryFormat>, const Tensor& out) {
  copied(self, out);
}
void copy(const Tensor&, const Tensor& src, bool, const Tensor& out) { copied(src, out); }
void _to_copy(const Tensor& self, std::optional<DType>, std::optional<Layout>,
              std::optional<Device>, std::optional<bool>, bool, std::optional<MemoryFormat>,
              const Tensor& out) {
  copied(self, out);
}

void fill_Scalar(const Tensor&, const Scalar& value, const Tensor& out) { filled(out, value); }

}  // namespace taeda::lowering
