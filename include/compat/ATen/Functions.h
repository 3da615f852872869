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
  }                                                                                                \
  template <std::integral Size>                                                                    \
  Tensor name(Size size) {                                                                         \
    return ::taeda::name({SymInt(static_cast<int64_t>(size))});                                    \
  }                                                                                                \
  template <std::integral Size, OptionsLike Options>                                               \
  Tensor name(Size size, const Options& options) {                                                 \
    const int64_t sizes[] = {static_cast<int64_t>(size)};                                          \
    return name(SymIntArrayRef(IntArrayRef(sizes)), options);                                      \
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

using ::taeda::complex;
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

inline Tensor sum(const Tensor& self, Tensor::Dims dim, bool keepdim = false) {
  return self.sum(dim, keepdim);
}
inline Tensor mean(const Tensor& self, Tensor::Dims dim, bool keepdim = false) {
  return self.mean(dim, keepdim);
}
inline bool is_floating_point(const Tensor& self) { return self.is_floating_point(); }
inline bool is_complex(const Tensor& self) { return self.is_complex(); }

// A tensor over memory that somebody else made; `deleter(data)` runs when the last view is gone.
template <class Deleter>
  requires std::invocable<Deleter, void*>
Tensor from_blob(void* data, IntArrayRef sizes, IntArrayRef strides, Deleter deleter,
                 const TensorOptions& options = {}) {
  const auto nbytes =
      static_cast<size_t>(::taeda::storage_bytes(sizes, strides, 0, options.dtype()));
  struct Owner {
    void* data;
    Deleter deleter;
  };
  auto* owner = new Owner{data, std::move(deleter)};
  const auto drop = [](void* context) {
    auto* o = static_cast<Owner*>(context);
    o->deleter(o->data);
    delete o;
  };
  auto storage =
      ::taeda::make_intrusive<::taeda::StorageImpl>(data, nbytes, options.device(), +drop, owner);
  Tensor t(::taeda::make_intrusive<::taeda::TensorImpl>(
      std::move(storage), options.dtype(), ::taeda::dense_keys(options.device()), sizes));
  t.impl()->set_geometry(sizes, strides, 0);
  return options.requires_grad() ? t.set_requires_grad(true) : t;
}
template <class Deleter>
  requires std::invocable<Deleter, void*>
Tensor from_blob(void* data, IntArrayRef sizes, Deleter deleter,
                 const TensorOptions& options = {}) {
  std::vector<int64_t> strides(sizes.size(), 1);
  for (size_t d = sizes.size(); d-- > 1;)
    strides[d - 1] = strides[d] * std::max<int64_t>(sizes[d], 1);
  return from_blob(data, sizes, IntArrayRef(strides), std::move(deleter), options);
}
// Over memory that stays the caller's.
inline Tensor from_blob(void* data, IntArrayRef sizes, const TensorOptions& options = {}) {
  return from_blob(data, sizes, [](void*) {}, options);
}
inline Tensor from_blob(void* data, IntArrayRef sizes, IntArrayRef strides,
                        const TensorOptions& options = {}) {
  return from_blob(data, sizes, strides, [](void*) {}, options);
}

inline void manual_seed(uint64_t seed) { ::taeda::default_cpu_generator().manual_seed(seed); }

template <class... Args>
Tensor norm(const Tensor& self, const Args&... args) {
  return self.norm(args...);
}

// Composed of other operators until there is one of its own.
inline Tensor elu(const Tensor& self, const Scalar& alpha = 1) {
  return where(self > 0, self, (self.exp() - 1) * alpha);
}

}  // namespace at
