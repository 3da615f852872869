// TensorImpl: the one object behind every handle of a tensor.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "taeda/base/intrusive_ptr.h"
#include "taeda/core/dtype.h"
#include "taeda/core/key_set.h"
#include "taeda/core/storage.h"
#include "taeda/core/symint.h"

namespace taeda {

class Tensor;

// Data of autograd for a tensor (gradient, node, hooks); defined by the autograd layer.
class TAEDA_API AutogradMeta {
 public:
  virtual ~AutogradMeta();
};

// Note [Fake devices]: a tensor without memory may stand for one on another device, which device()
// then names; while its kernels run (FakeKernelScope) it is the meta tensor that it is.
class TAEDA_API FakeKernelScope {
 public:
  FakeKernelScope();
  ~FakeKernelScope();
  FakeKernelScope(const FakeKernelScope&) = delete;

 private:
  bool saved_;
};

// Everything rare, behind one pointer that is null for plain tensors.
struct TAEDA_API TensorExtra {
  // Another counter than the storage's, shared by views: see Note [Version counters].
  std::shared_ptr<VersionCounter> version;
  bool counts_no_writes = false;  // made in inference mode, its data replaced since
  SymIntVec sym_sizes, sym_strides;
  std::optional<SymInt> sym_offset;
  std::optional<Device> fake_device;      // Note [Fake devices]
  uint8_t read_from_class = 0;            // attributes that its class tells at each read (bindings)
  IntrusivePtr<RefCounted> wrapper;       // transform levels, fake tensors, symbolic numbers
  IntrusivePtr<RefCounted> backend_meta;  // a device's own data
};

// How a view was made, which decides about in-place writes to it (PyTorch's creation_meta).
enum class ViewOrigin : uint8_t { Default, InNoGrad, MultiOutput, InInference, CustomFunction };

// Note [Python slot]: a tensor has one Python object for life. While Python holds it, the object
// owns the impl; when Python's last reference goes but C++ still holds the impl, ownership flips:
// the impl owns the object, so attributes survive. The hooks are set by the bindings.
struct PythonHooks {
  void (*release)(void* object);  // drops the impl's reference to its Python object
};

class TAEDA_API TensorImpl : public RefCounted {
 public:
  static constexpr int kInlineDims = 5;

  TensorImpl(Storage storage, DType dtype, KeySet keys);
  // Contiguous, for sizes whose bytes are known to fit (or to be none).
  TensorImpl(Storage storage, DType dtype, KeySet keys, IntList sizes);
  // Contiguous, with the dtype and the sizes of a plain tensor.
  TensorImpl(Storage storage, KeySet keys, const TensorImpl& like);
  ~TensorImpl() override;

  int64_t dim() const { return ndim_; }
  int64_t numel() const { return __builtin_expect(has_symbolic_, 0) ? guarded_numel() : numel_; }
  IntList sizes() const {
    check_concrete();
    return {dims(), static_cast<size_t>(ndim_)};
  }
  IntList strides() const {
    check_concrete();
    return {dims() + stride_shift(), static_cast<size_t>(ndim_)};
  }
  SymIntList sym_sizes() const {
    return has_symbolic_ ? SymIntList(extra_->sym_sizes)
                         : as_symint({dims(), static_cast<size_t>(ndim_)});
  }
  SymIntList sym_strides() const {
    return has_symbolic_ ? SymIntList(extra_->sym_strides)
                         : as_symint({dims() + stride_shift(), static_cast<size_t>(ndim_)});
  }
  SymInt sym_numel() const;
  SymInt sym_storage_offset() const {
    return has_symbolic_ && extra_->sym_offset ? *extra_->sym_offset : SymInt(offset_);
  }
  int64_t storage_offset() const {
    return __builtin_expect(has_symbolic_, 0) ? sym_storage_offset().expect_int() : offset_;
  }
  bool has_symbolic_sizes() const { return has_symbolic_; }

  // Geometry is set whole; contiguity is derived here, once.
  void set_sizes_contiguous(IntList sizes);
  void set_geometry(IntList sizes, IntList strides, int64_t offset);
  void set_sym_geometry(SymIntList sizes, SymIntList strides, SymInt offset);

  // Takes the other's storage, geometry, dtype, device and what its keys say about its values; the
  // version counter and everything that belongs to autograd and Python stay.
  void take_data(const TensorImpl& source);

  DType dtype() const { return dtype_; }
  void set_dtype(DType t) { dtype_ = t; }
  Device device() const {
    if (__builtin_expect(extra_ && extra_->fake_device, 0)) return shown_device();
    return device_;
  }
  const Storage& storage() const { return storage_; }
  void set_storage(Storage s) { storage_ = std::move(s); }
  bool is_contiguous() const { return is_contiguous_; }
  // Contiguous, of plain sizes, and not a wrapped number: the condition of fast paths.
  bool is_plain() const { return is_contiguous_ & !is_wrapped_number_ & !has_symbolic_; }
  // Plain as well, and of the same dtype, device and sizes as one that is.
  bool is_plain_like(const TensorImpl& plain) const {
    if (!is_plain() || dtype_ != plain.dtype_ || ndim_ != plain.ndim_) return false;
    if (device() != plain.device()) return false;
    const int64_t *mine = dims(), *other = plain.dims();
    for (int i = 0; i < ndim_; ++i)
      if (mine[i] != other[i]) return false;
    return true;
  }
  bool is_contiguous(MemoryFormat format) const;
  bool is_non_overlapping_and_dense() const;
  // Throws where there are elements, but their storage let go of its memory.
  void* data() const {
    if (!storage_->data()) [[unlikely]]
      check_needs_no_memory();
    return static_cast<char*>(storage_->data()) + offset_ * item_size(dtype_);
  }

  KeySet keys() const { return keys_; }
  void set_keys(KeySet k) { keys_ = k; }
  bool is_inference() const { return !keys_.has(Key::ADInplaceOrView); }
  bool is_conj() const { return keys_.has(Key::Conjugate); }
  bool is_neg() const { return keys_.has(Key::Negative); }
  // Whether the tensor stands for a Python number, which does not raise the dtype within its kind.
  bool is_wrapped_number() const { return is_wrapped_number_; }
  void set_wrapped_number(bool v) { is_wrapped_number_ = v; }

  // Note [Version counters].
  VersionCounter& version_counter() const {
    return extra_ && extra_->version ? *extra_->version : storage_->version();
  }
  bool has_version_counter() const {
    if (__builtin_expect(!extra_, 1)) return !is_inference();
    return extra_->version || !(is_inference() || extra_->counts_no_writes);
  }
  void own_version_counter();
  uint32_t version() const { return version_counter().load(std::memory_order_relaxed); }
  void bump_version() { version_counter().fetch_add(1, std::memory_order_relaxed); }

  TensorExtra& extra();
  const TensorExtra* extra_or_null() const { return extra_.get(); }

  // Autograd's fields. `base` is the root a differentiable view looks at; a view carries the
  // Autograd key because its base may start to require gradients at any time.
  AutogradMeta* autograd_meta() const { return autograd_.get(); }
  void set_autograd_meta(std::unique_ptr<AutogradMeta> m) { autograd_ = std::move(m); }
  bool requires_grad_flag() const { return requires_grad_; }
  void set_requires_grad_flag(bool v) {
    requires_grad_ = v;
    update_autograd_key();
  }
  TensorImpl* view_base() const { return base_.get(); }
  void set_view_base(IntrusivePtr<TensorImpl> base, ViewOrigin origin) {
    base_ = std::move(base);
    origin_ = origin;
    update_autograd_key();
  }
  ViewOrigin view_origin() const { return origin_; }
  void set_view_origin(ViewOrigin o) { origin_ = o; }
  // Whether a forward-mode derivative is attached.
  bool has_tangent() const { return has_tangent_; }
  void set_has_tangent(bool v) {
    has_tangent_ = v;
    update_autograd_key();
  }
  // Keeps the Autograd key in step with the fields above and with `has_node`.
  void update_autograd_key(bool has_node = false) {
    const bool wanted = requires_grad_ || ((has_node || has_tangent_ || base_) && !is_inference());
    keys_ = wanted ? keys_ | KeySet(Key::Autograd) : keys_ - KeySet(Key::Autograd);
  }

  // Note [Python slot].
  void* python_object() const { return python_object_; }
  bool owns_python_object() const { return owns_python_object_; }
  void set_python_object(void* object, bool owned) {
    python_object_ = object;
    owns_python_object_ = owned;
  }
  static void set_python_hooks(const PythonHooks& hooks);

 private:
  void release_resources() override;
  void check_needs_no_memory() const;
  const int64_t* dims() const { return ndim_ <= kInlineDims ? inline_dims_ : heap_dims_; }
  int64_t* dims() { return ndim_ <= kInlineDims ? inline_dims_ : heap_dims_; }
  int stride_shift() const { return ndim_ <= kInlineDims ? kInlineDims : ndim_; }
  int64_t guarded_numel() const;
  Device shown_device() const;
  void release_parts();
  void set_ndim(int64_t ndim);
  void fill_contiguous(IntList sizes);
  void refresh();
  void check_concrete() const {
    TAEDA_CHECK(!has_symbolic_, "Cannot call sizes() on tensor with symbolic sizes/strides");
  }

  Storage storage_;
  std::unique_ptr<TensorExtra> extra_;
  std::unique_ptr<AutogradMeta> autograd_;
  IntrusivePtr<TensorImpl> base_;
  void* python_object_ = nullptr;
  KeySet keys_;
  int64_t offset_ = 0;
  int64_t numel_ = 0;
  union {
    int64_t inline_dims_[2 * kInlineDims];  // sizes, then strides from kInlineDims on
    int64_t* heap_dims_;                    // sizes, then strides from ndim on
  };
  int16_t ndim_ = 1;
  DType dtype_;
  Device device_;
  ViewOrigin origin_ = ViewOrigin::Default;
  // Bytes, not bits: a bit is read with its neighbours' word, which waits for their stores.
  bool is_contiguous_ = true;
  bool is_wrapped_number_ = false;
  bool requires_grad_ = false;
  bool has_tangent_ = false;
  bool has_symbolic_ = false;
  bool owns_python_object_ = false;
};
static_assert(sizeof(TensorImpl) <= 176, "TensorImpl grew: put rare fields into TensorExtra");

}  // namespace taeda
