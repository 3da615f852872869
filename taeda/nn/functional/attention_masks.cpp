#include "taeda/nn/functional/attention_masks.h"

#include <limits>

#include "taeda/base/log.h"
#include "taeda/nn/functional/shape_text.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/padding/functions.h"

namespace taeda::nn::functional::attention {

Tensor canonical_mask(const Tensor& mask, std::string_view name, std::optional<DType> other_dtype,
                      std::string_view other_name, DType target) {
  if (!mask.defined()) return mask;
  const DType dtype = mask.dtype();
  TAEDA_CHECK_KIND(ErrorKind::Assertion, is_floating(dtype) || dtype == DType::Bool,
                   "only bool and floating types of ", name, " are supported");
  if (other_dtype && *other_dtype != dtype) {
    warn(str("Support for mismatched ", name, " and ", other_name,
             " is deprecated. Use same type for both instead."));
  }
  if (is_floating(dtype)) return mask;
  return taeda::zeros_like(mask, target)
      .masked_fill_(mask, Scalar(-std::numeric_limits<double>::infinity()));
}

Tensor mask_of_scores(const Tensor& mask, const SymInt& heads, const SymInt& queries,
                      const SymInt& keys) {
  if (!mask.defined()) return mask;
  TAEDA_CHECK(mask.dim() == 2 || mask.dim() == 3, "attn_mask's dimension ", mask.dim(),
              " is not supported");
  const SymInt all[] = {heads, queries, keys};
  const SymIntList expected = mask.dim() == 3 ? SymIntList(all) : SymIntList(all).drop_front();
  TAEDA_CHECK(mask.sym_sizes() == expected, "The shape of the ", mask.dim(), "D attn_mask is ",
              size_text(mask.sym_sizes()), ", but should be ", tuple_text(expected), ".");
  return mask.dim() == 2 ? mask.unsqueeze(0) : mask;
}

Tensor one_wider(const Tensor& mask) {
  return mask.defined() ? taeda::constant_pad_nd(mask, {SymInt(0), SymInt(1)}) : mask;
}

Tensor joined_mask(const Tensor& mask, const Tensor& padding, const SymInt& batch, int64_t heads,
                   const SymInt& keys) {
  if (!padding.defined()) return mask;
  const SymInt expected[] = {batch, keys};
  for (int64_t dim = 0; dim < 2; ++dim) {
    TAEDA_CHECK_KIND(ErrorKind::Assertion, padding.sym_size(dim) == expected[dim],
                     "Expected key_padded_mask.shape[", dim, "] to be ", expected[dim],
                     ", but got ", padding.sym_size(dim));
  }
  const Tensor by_head = padding.view({batch, SymInt(1), SymInt(1), keys})
                             .expand({SymInt(-1), SymInt(heads), SymInt(-1), SymInt(-1)})
                             .reshape({batch * SymInt(heads), SymInt(1), keys});
  return mask.defined() ? mask.add(by_head) : by_head;
}

}  // namespace taeda::nn::functional::attention
