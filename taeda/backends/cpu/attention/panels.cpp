// The added mask of attention.
#include "taeda/backends/cpu/attention/panels.h"

#include "taeda/ops/functions.h"

namespace taeda::cpu::attention {

template <class T>
AddedMask<T>::AddedMask(const Tensor& given, const Tensor& query, const Tensor& key) {
  if (!given.defined()) return;
  BelowADInplaceOrView guard;
  const DType wide = is_reduced_float(query.dtype()) ? DType::Float : query.dtype();
  is_narrow_ = given.dtype() == query.dtype() && wide != query.dtype();
  mask_ = (is_narrow_ ? given : given.to(wide))
              .expand({query.size(0), query.size(1), query.size(2), key.size(2)});
}

template <class T>
void AddedMask<T>::fill(int64_t b, int64_t h, int64_t first_query, int64_t queries,
                        int64_t first_key, int64_t keys, Acc* panel) const {
  const auto pack = [&]<class M>(const Kernels<M>& kernels) {
    const Operand<const M> from(mask_);
    const Matrix<const M> at = from.at(b, h, first_query);
    kernels.pack(queries, keys, at.data + first_key * at.col_stride, at.row_stride, at.col_stride,
                 kernels.nr, panel);
  };
  if (is_narrow_)
    pack(gemm_kernels::kernels().get<T>());
  else
    pack(gemm_kernels::kernels().get<Acc>());
}

template class AddedMask<float>;
template class AddedMask<double>;
template class AddedMask<Half>;
template class AddedMask<BFloat16>;

}  // namespace taeda::cpu::attention
