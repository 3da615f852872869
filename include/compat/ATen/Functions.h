// Factories that take TensorOptions, and functions that PyTorch has beside its operators.
#pragma once

#include "ATen/core_names.h"

namespace at {

// Options, or what stands for them: a dtype, a device. As templates these fit better than the
// operators' own optional arguments.
template <class T>
concept OptionsLike = std::convertible_to<const T&, TensorOptions>;

#define TAEDA_FACTORY(name)                                                                        \
  using ::taeda::name;                                                                             \
  template <OptionsLike Options>                                                                   \
  Tensor name(SymIntArrayRef size, const Options& options) {                                       \
    const TensorOptions o = options;                                                               \
    Tensor t =                                                                                     \
        ::taeda::name(size, o.dtype_opt(), o.layout_opt(), o.device_opt(), o.pinned_memory_opt()); \
    return o.requires_grad() ? t.set_requires_grad(true) : t;                                      \
  }
TAEDA_FACTORY(empty)
TAEDA_FACTORY(zeros)
TAEDA_FACTORY(ones)
TAEDA_FACTORY(rand)
TAEDA_FACTORY(randn)
#undef TAEDA_FACTORY

#define TAEDA_FACTORY_LIKE(name)                                                                   \
  using ::taeda::name;                                                                             \
  template <OptionsLike Options>                                                                   \
  Tensor name(const Tensor& self, const Options& options) {                                        \
    const TensorOptions o = options;                                                               \
    Tensor t =                                                                                     \
        ::taeda::name(self, o.dtype_opt(), o.layout_opt(), o.device_opt(), o.pinned_memory_opt()); \
    return o.requires_grad() ? t.set_requires_grad(true) : t;                                      \
  }
TAEDA_FACTORY_LIKE(empty_like)
TAEDA_FACTORY_LIKE(zeros_like)
TAEDA_FACTORY_LIKE(ones_like)
#undef TAEDA_FACTORY_LIKE

using ::taeda::full;
template <OptionsLike Options>
Tensor full(SymIntArrayRef size, const Scalar& value, const Options& options) {
  const TensorOptions o = options;
  return ::taeda::full(size, value, o.dtype_opt(), o.layout_opt(), o.device_opt(),
                       o.pinned_memory_opt());
}
using ::taeda::arange;
template <OptionsLike Options>
  requires(!std::convertible_to<const Options&, Scalar>)
Tensor arange(const Scalar& end, const Options& options) {
  const TensorOptions o = options;
  return ::taeda::arange(end, o.dtype_opt(), o.layout_opt(), o.device_opt(), o.pinned_memory_opt());
}

using ::taeda::mean;
using ::taeda::sum;
inline Tensor sum(const Tensor& self, int64_t dim, bool keepdim = false) {
  return self.sum(dim, keepdim);
}
inline Tensor mean(const Tensor& self, int64_t dim, bool keepdim = false) {
  return self.mean(dim, keepdim);
}

// A tensor over memory that stays the caller's.
inline Tensor from_blob(void* data, IntArrayRef sizes, const TensorOptions& options = {}) {
  size_t nbytes = static_cast<size_t>(::taeda::item_size(options.dtype()));
  for (const int64_t n : sizes) nbytes *= static_cast<size_t>(n);
  auto storage = ::taeda::make_intrusive<::taeda::StorageImpl>(
      data, nbytes, options.device(), +[](void*) {}, nullptr);
  return Tensor(::taeda::make_intrusive<::taeda::TensorImpl>(
      std::move(storage), options.dtype(), ::taeda::dense_keys(options.device()), sizes));
}

// Composed of other operators until there is one of its own.
inline Tensor elu(const Tensor& self, const Scalar& alpha = 1) {
  return where(self > 0, self, (self.exp() - 1) * alpha);
}

}  // namespace at
