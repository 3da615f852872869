// Tensor: a value that refers to a TensorImpl. Operators are methods too, declared by the
// generator.
#pragma once

#include <concepts>
#include <functional>
#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

#include "taeda/core/accessor.h"
#include "taeda/core/device.h"
#include "taeda/core/generator.h"
#include "taeda/core/scalar.h"
#include "taeda/core/tensor_impl.h"
#include "taeda/core/tensor_options.h"

namespace taeda {

using TensorList = Span<Tensor>;
class TensorIndex;  // what stands between brackets, see ops/indexing/tensor_index.h
// A new tensor, tracked by autograd where the options say so.
TAEDA_API Tensor track_if_asked(Tensor t, const TensorOptions& options);
namespace autograd {
class Node;
}

// Copying shares; an undefined tensor (default-constructed) stands for "none" in signatures.
// Concurrent reads are safe; writes to one tensor need the caller's order.
class TAEDA_API Tensor {
 public:
  Tensor() = default;
  explicit Tensor(IntrusivePtr<TensorImpl> impl) : impl_(std::move(impl)) {}
  Tensor(const Tensor&) = default;
  Tensor(Tensor&&) noexcept = default;
  ~Tensor() = default;
  // A variable refers to another tensor; what an expression gives is written: x[0] = y.
  Tensor& operator=(const Tensor&) & = default;
  Tensor& operator=(Tensor&&) & noexcept = default;
  Tensor& operator=(const Tensor& values) &&;
  Tensor& operator=(const Scalar& value) &&;

  bool defined() const { return static_cast<bool>(impl_); }
  TensorImpl* impl() const { return impl_.get(); }
  const IntrusivePtr<TensorImpl>& impl_ptr() const { return impl_; }
  IntrusivePtr<TensorImpl> take_impl() { return std::move(impl_); }
  bool is_same(const Tensor& o) const { return impl_ == o.impl_; }
  void reset() { impl_.reset(); }

  int64_t dim() const { return get().dim(); }
  int64_t numel() const { return get().numel(); }
  IntList sizes() const { return get().sizes(); }
  IntList strides() const { return get().strides(); }
  SymIntList sym_sizes() const { return get().sym_sizes(); }
  SymIntList sym_strides() const { return get().sym_strides(); }
  SymInt sym_numel() const { return get().sym_numel(); }
  // Negative dimensions count from the end; IndexError with PyTorch's phrase outside.
  int64_t size(int64_t d) const;
  int64_t stride(int64_t d) const;
  SymInt sym_size(int64_t d) const;
  int64_t storage_offset() const { return get().storage_offset(); }
  DType dtype() const { return get().dtype(); }
  Device device() const { return get().device(); }
  Layout layout() const { return Layout::Strided; }
  int64_t element_size() const { return item_size(dtype()); }
  int64_t nbytes() const { return numel() * element_size(); }
  KeySet keys() const { return get().keys(); }
  const Storage& storage() const { return get().storage(); }
  bool is_contiguous(MemoryFormat f = MemoryFormat::Contiguous) const {
    return f == MemoryFormat::Contiguous ? get().is_contiguous() : get().is_contiguous(f);
  }
  bool is_complex() const { return taeda::is_complex(dtype()); }
  bool is_floating_point() const { return is_floating(dtype()); }
  bool is_signed() const { return taeda::is_signed(dtype()); }
  bool is_cpu() const { return keys().has(DeviceType::CPU); }
  bool is_meta() const { return keys().has(DeviceType::Meta); }
  bool is_conj() const { return get().is_conj(); }
  bool is_neg() const { return get().is_neg(); }
  bool is_inference() const { return get().is_inference(); }
  bool is_view() const { return get().view_base() != nullptr; }
  uint32_t version() const { return get().version(); }
  // The memory format that `preserve_format` stands for.
  MemoryFormat suggested_format() const;

  void* data() const { return get().data(); }
  template <class T>
  T* data() const {
    TAEDA_CHECK(DTypeOf<T>::value == dtype(), "expected scalar type ", DTypeOf<T>::value,
                " but found ", dtype());
    return static_cast<T*>(get().data());
  }

  // ---- further names of PyTorch's C++ interface ----
  DType scalar_type() const { return dtype(); }
  int64_t itemsize() const { return element_size(); }
  int64_t ndimension() const { return dim(); }
  int64_t get_device() const { return device().index(); }
  bool is_cuda() const { return keys().has(DeviceType::CUDA); }
  bool is_privateuseone() const { return keys().has(DeviceType::PrivateUse1); }
  bool is_mps() const { return device().is_mps(); }
  bool is_xpu() const { return device().is_xpu(); }
  bool is_sparse() const { return false; }
  bool is_quantized() const { return false; }
  bool has_storage() const { return defined(); }
  int8_t get_device_index() const { return device().index(); }
  TensorTypeProperties type() const { return {dtype(), device().type()}; }
  // "CPUFloatType"
  std::string toString() const;
  // Writes "[CPUFloatType [2, 3]]" and a line end to the standard error stream.
  void print() const;
  uint32_t _version() const { return version(); }
  KeySet key_set() const { return keys(); }
  TensorImpl* unsafeGetTensorImpl() const { return impl(); }
  uint32_t use_count() const { return impl_ ? impl_->use_count() : 0; }
  bool is_alias_of(const Tensor& o) const { return storage() == o.storage(); }
  bool is_same_size(const Tensor& o) const { return sizes() == o.sizes(); }
  IntrusivePtr<TensorImpl> getIntrusivePtr() const { return impl_; }
  MemoryFormat suggest_memory_format() const { return suggested_format(); }
  TensorOptions options() const { return TensorOptions(dtype()).device(device()).layout(layout()); }
  void* data_ptr() const { return data(); }
  template <class T>
  T* data_ptr() const {
    return data<std::remove_const_t<T>>();
  }
  const void* const_data_ptr() const { return data(); }
  void* mutable_data_ptr() const { return data(); }
  template <class T>
  const T* const_data_ptr() const {
    return data<std::remove_const_t<T>>();
  }
  template <class T>
  T* mutable_data_ptr() const {
    return data<T>();
  }
  // The one element.
  Scalar item() const;
  // RuntimeError where the element is no T.
  template <class T>
  T item() const {
    return item().checked<T>();
  }
  // Whether the one element is not zero.
  bool is_nonzero() const;
  // See core/accessor.h; N is the number of dimensions.
  template <class T, size_t N>
  TensorAccessor<T, N> accessor() const& {
    check_accessor<std::remove_const_t<T>, N>();
    return {data_ptr<T>(), sizes().data(), strides().data()};
  }
  template <class T, size_t N>
  TensorAccessor<T, N> accessor() && = delete;
  template <class T, size_t N, template <class> class Traits = DefaultPtrTraits,
            class Index = int64_t>
  PackedTensorAccessor<T, N, Traits, Index> generic_packed_accessor() const {
    check_accessor<std::remove_const_t<T>, N>();
    return {data_ptr<T>(), sizes().data(), strides().data()};
  }
  template <class T, size_t N, template <class> class Traits = DefaultPtrTraits>
  PackedTensorAccessor32<T, N, Traits> packed_accessor32() const {
    TAEDA_CHECK(numel() <= INT32_MAX,
                "numel needs to be smaller than int32_t max; otherwise, please "
                "use packed_accessor64");
    return generic_packed_accessor<T, N, Traits, int32_t>();
  }
  template <class T, size_t N, template <class> class Traits = DefaultPtrTraits>
  PackedTensorAccessor64<T, N, Traits> packed_accessor64() const {
    return generic_packed_accessor<T, N, Traits, int64_t>();
  }
  // The oldest of its names.
  template <class T, size_t N, template <class> class Traits = DefaultPtrTraits,
            class Index = int64_t>
  PackedTensorAccessor<T, N, Traits, Index> packed_accessor() const {
    return generic_packed_accessor<T, N, Traits, Index>();
  }
  // Autograd's part, defined there.
  bool requires_grad() const;
  const Tensor& set_requires_grad(bool value) const;
  const Tensor& requires_grad_(bool value = true) const { return set_requires_grad(value); }
  bool is_leaf() const;
  // Undefined without one.
  Tensor grad() const;
  // Into the leaves, or only into `inputs`; the graph is kept where another one is made.
  void backward(const Tensor& gradient = Tensor(), std::optional<bool> retain_graph = std::nullopt,
                bool create_graph = false, std::optional<TensorList> inputs = std::nullopt) const;
  // The node that made this tensor, null for leaves; include taeda/autograd/node.h to look at it.
  IntrusivePtr<autograd::Node> grad_fn() const;
  int64_t output_nr() const;
  void retain_grad() const;
  bool retains_grad() const;
  // The place of the gradient, to be assigned or reset.
  Tensor& mutable_grad() const;
  // The same values without history.
  Tensor variable_data() const;
  Tensor tensor_data() const { return variable_data(); }
  // Cuts the tensor itself off its history.
  Tensor& detach_() const;
  void set_data(const Tensor& source) const;
  // `hook` sees the gradient when it is computed, and may return another.
  template <class F>
  uint64_t register_hook(F&& hook) const {
    if constexpr (std::is_void_v<std::invoke_result_t<F, const Tensor&>>)
      return add_hook([f = std::forward<F>(hook)](const Tensor& g) { return f(g), Tensor(); });
    else
      return add_hook(std::forward<F>(hook));
  }
  bool remove_hook(uint64_t id) const;

#if __has_include("taeda/core/tensor_methods.inc")
#  include "taeda/core/tensor_methods.inc"
  Tensor operator[](int64_t i) const { return select(0, i); }
  // By the number in a tensor of one element.
  Tensor operator[](const Tensor& i) const;
  Tensor& operator+=(const Tensor& o) { return add_(o); }
  Tensor& operator-=(const Tensor& o) { return sub_(o); }
  Tensor& operator*=(const Tensor& o) { return mul_(o); }
  Tensor& operator/=(const Tensor& o) { return div_(o); }
  Tensor& operator&=(const Tensor& o) { return bitwise_and_(o); }
  Tensor& operator|=(const Tensor& o) { return bitwise_or_(o); }
  Tensor& operator^=(const Tensor& o) { return bitwise_xor_(o); }
  Tensor& operator+=(const Scalar& o) { return add_(o); }
  Tensor& operator-=(const Scalar& o) { return sub_(o); }
  Tensor& operator*=(const Scalar& o) { return mul_(o); }
  Tensor& operator/=(const Scalar& o) { return div_(o); }
  template <std::same_as<TensorOptions> Options>
  Tensor to(const Options& options, bool non_blocking = false, bool copy = false) const {
    return to(options.device_opt(), options.dtype_opt(), non_blocking, copy,
              options.memory_format_opt());
  }
  // Elements by index, as brackets in Python: x.index({0, Slice(1), mask}).
  Tensor index(std::initializer_list<TensorIndex> indices) const;
  Tensor index(Span<TensorIndex> indices) const;
  Tensor& index_put_(std::initializer_list<TensorIndex> indices, const Tensor& values) const;
  Tensor& index_put_(std::initializer_list<TensorIndex> indices, const Scalar& value) const;
  Tensor& index_put_(Span<TensorIndex> indices, const Tensor& values) const;
  Tensor& index_put_(Span<TensorIndex> indices, const Scalar& value) const;
  Tensor mT() const { return transpose(-2, -1); }
  Tensor toType(DType type) const { return to(type); }
  Tensor type_as(const Tensor& other) const { return to(other.device(), other.dtype()); }
  Tensor cpu() const { return to(Device(DeviceType::CPU), std::nullopt); }
  Tensor cuda() const { return to(Device(DeviceType::CUDA), std::nullopt); }
#endif

 private:
  uint64_t add_hook(std::function<Tensor(const Tensor&)> hook) const;

  template <class T, size_t N>
  void check_accessor() const {
    static_assert(N > 0, "accessor is used for indexing tensor, for scalars use *data_ptr<T>()");
    TAEDA_CHECK(dim() == static_cast<int64_t>(N), "TensorAccessor expected ", N,
                " dims but tensor has ", dim());
    TAEDA_CHECK(DTypeOf<T>::value == dtype(), "expected scalar type ", DTypeOf<T>::value,
                " but found ", dtype());
  }

  // What every question goes through: an undefined tensor has no answer.
  TensorImpl& get() const {
    if (__builtin_expect(!impl_, 0)) fail_undefined();
    return *impl_;
  }
  [[noreturn]] static void fail_undefined();

  IntrusivePtr<TensorImpl> impl_;
};

// Wraps a dimension; IndexError with PyTorch's phrase when out of range. A scalar counts as one
// dimension.
TAEDA_API int64_t wrap_dim(int64_t d, int64_t ndim, bool wrap_scalar = true);

// Key sets of fresh tensors on a device.
KeySet TAEDA_API dense_keys(Device device);

// New memory with contiguous strides (or the given ones); the device's allocator supplies it.
TAEDA_API Tensor make_tensor(IntList sizes, DType dtype, Device device);
// Empty, with the sizes, dtype and device of a plain tensor (TensorImpl::is_plain).
TAEDA_API Tensor make_tensor_like(const Tensor& plain);
TAEDA_API Tensor make_tensor_strided(IntList sizes, IntList strides, DType dtype, Device device);
// Another tensor over the same storage; copies keys that describe values (conjugate, negative), no
// tracking.
TAEDA_API Tensor make_alias(const Tensor& self, IntList sizes, IntList strides, int64_t offset);
TAEDA_API Tensor make_alias_sym(const Tensor& self, SymIntList sizes, SymIntList strides,
                                SymInt offset);
// A zero-dim CPU tensor that stands for a number (wrapped); a meta tensor for a symbolic one.
TAEDA_API Tensor wrapped_scalar(const Scalar& s);
TAEDA_API Tensor scalar_tensor_of(const Scalar& s, DType dtype, Device device);
// Reads the one element of a CPU tensor.
TAEDA_API Scalar read_scalar(const Tensor& t);

// Where a device type's memory comes from; null for device types without memory.
TAEDA_API void set_device_allocator(DeviceType type, Allocator* allocator);
TAEDA_API Allocator* device_allocator(DeviceType type);

// Runs before a tensor on a device type without an allocator is refused: a chance to load the
// device.
TAEDA_API void set_device_loader(void (*loader)());
// Index of the device that the storage being made on this thread is for; -1 outside.
TAEDA_API int allocating_device_index();

// Bytes a tensor of these sizes and strides reaches from its offset.
TAEDA_API int64_t storage_bytes(IntList sizes, IntList strides, int64_t offset, DType dtype);

// Set while inference mode is on: new tensors carry no tracking key.
TAEDA_API bool is_inference_mode();
TAEDA_API void set_inference_mode(bool on);

}  // namespace taeda
