// Geometry, lifetime and the rare parts of TensorImpl.
#include "taeda/core/tensor_impl.h"

#include "taeda/core/unbacked.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace taeda {

namespace {
PythonHooks python_hooks{nullptr};
}

AutogradMeta::~AutogradMeta() = default;

void StorageImpl::resize(size_t nbytes) {
  TAEDA_CHECK(is_resizable(), "Trying to resize storage that is not resizable");
  if (nbytes == nbytes_) return;
  if (allocator_ && (nbytes == 0 || nbytes > capacity_)) {
    void* fresh = allocator_->allocate(nbytes);
    if (data_ && fresh) allocator_->copy(fresh, data_, std::min(nbytes, nbytes_));
    if (data_) allocator_->deallocate(data_, capacity_);
    data_ = fresh;
    capacity_ = nbytes;
  }
  nbytes_ = nbytes;
}

void TensorImpl::check_needs_no_memory() const {
  TAEDA_CHECK(device_.is_meta() || numel() == 0,
              "Cannot access data pointer of Tensor that doesn't have storage: its storage was "
              "resized to no bytes");
}

TensorImpl::TensorImpl(Storage storage, DType dtype, KeySet keys)
    : storage_(std::move(storage)), keys_(keys), dtype_(dtype), device_(storage_->device()) {
  inline_dims_[0] = 0;
  inline_dims_[kInlineDims] = 1;
}

TensorImpl::TensorImpl(Storage storage, DType dtype, KeySet keys, IntList sizes)
    : storage_(std::move(storage)), keys_(keys), dtype_(dtype), device_(storage_->device()) {
  set_ndim(static_cast<int64_t>(sizes.size()));
  fill_contiguous(sizes);
}

TensorImpl::TensorImpl(Storage storage, KeySet keys, const TensorImpl& like)
    : storage_(std::move(storage)), keys_(keys), dtype_(like.dtype_), device_(like.device_) {
  set_ndim(like.ndim_);
  fill_contiguous({like.dims(), static_cast<size_t>(like.ndim_)});
}

TensorImpl::~TensorImpl() {
  release_parts();
  if (ndim_ > kInlineDims) delete[] heap_dims_;
}

void TensorImpl::release_resources() {
  release_parts();
  extra_.reset();  // its wrapper may be what holds the weak reference
}

inline void TensorImpl::release_parts() {
  if (owns_python_object_ && python_hooks.release) {
    void* object = python_object_;
    python_object_ = nullptr;
    owns_python_object_ = false;
    python_hooks.release(object);
  }
  autograd_.reset();
  base_.reset();
  storage_.reset();
}

void TensorImpl::set_python_hooks(const PythonHooks& hooks) { python_hooks = hooks; }

TensorExtra& TensorImpl::extra() {
  if (!extra_) extra_ = std::make_unique<TensorExtra>();
  return *extra_;
}

void TensorImpl::own_version_counter() { extra().version = std::make_shared<VersionCounter>(0); }

void TensorImpl::take_data(const TensorImpl& source) {
  const bool counts = has_version_counter();
  if (counts && !(extra_ && extra_->version)) extra().version = storage_->share_version();
  extra().counts_no_writes = !counts;
  storage_ = source.storage_;
  if (source.has_symbolic_)
    set_sym_geometry(source.sym_sizes(), source.sym_strides(), source.sym_storage_offset());
  else
    set_geometry(source.sizes(), source.strides(), source.storage_offset());
  dtype_ = source.dtype_;
  device_ = source.device_;
  const TensorExtra* given = source.extra_.get();
  extra_->fake_device = given ? given->fake_device : std::nullopt;
  extra_->wrapper = given ? given->wrapper : nullptr;
  extra_->backend_meta = given ? given->backend_meta : nullptr;
  constexpr KeySet kept(Key::Python);
  keys_ = (source.keys_ - kept) | (keys_ & kept);
  update_autograd_key();
}

inline void TensorImpl::set_ndim(int64_t ndim) {
  TAEDA_CHECK(ndim <= 64, "tensor has too many (>64) dims: got ", ndim);
  if (ndim == ndim_) return;
  if (ndim_ > kInlineDims) delete[] heap_dims_;
  ndim_ = static_cast<int16_t>(ndim);
  if (ndim > kInlineDims) heap_dims_ = new int64_t[2 * ndim];
}

// Of ndim_ sizes; products wrap around.
inline void TensorImpl::fill_contiguous(IntList sizes) {
  int64_t *size = dims(), *stride = size + stride_shift();
  uint64_t running = 1;
  bool is_empty = false;
  for (int64_t i = ndim_ - 1; i >= 0; --i) {
    size[i] = sizes[i];
    stride[i] = static_cast<int64_t>(running);
    running *= static_cast<uint64_t>(std::max<int64_t>(sizes[i], 1));
    is_empty |= sizes[i] == 0;
  }
  numel_ = is_empty ? 0 : static_cast<int64_t>(running);
}

namespace {

// An empty tensor has strides all the same, as if its empty dimensions had one element.
void check_strides_of_empty(IntList sizes) {
  int64_t stride = 1;
  for (size_t i = sizes.size(); i-- > 1;)
    TAEDA_CHECK(!__builtin_mul_overflow(stride, std::max<int64_t>(sizes[i], 1), &stride),
                "Stride calculation overflowed for sizes ", sizes);
}

}  // namespace

void TensorImpl::set_sizes_contiguous(IntList sizes) {
  int64_t numel = 1;
  bool overflow = false, is_empty = false;
  for (int64_t s : sizes) {
    overflow |= __builtin_mul_overflow(numel, s, &numel);
    is_empty |= s == 0;
  }
  TAEDA_CHECK(!overflow || is_empty, "numel: integer multiplication overflow for sizes ", sizes);
  if (is_empty) check_strides_of_empty(sizes);
  set_ndim(static_cast<int64_t>(sizes.size()));
  fill_contiguous(sizes);
  has_symbolic_ = false;
  is_contiguous_ = true;
  offset_ = 0;
}

void TensorImpl::set_geometry(IntList sizes, IntList strides, int64_t offset) {
  // The lists may point into this object's own inline storage.
  IntVec kept_sizes(sizes), kept_strides(strides);
  set_ndim(static_cast<int64_t>(kept_sizes.size()));
  std::copy(kept_sizes.begin(), kept_sizes.end(), dims());
  std::copy(kept_strides.begin(), kept_strides.end(), dims() + stride_shift());
  offset_ = offset;
  has_symbolic_ = false;
  refresh();
}

void TensorImpl::set_sym_geometry(SymIntList sizes, SymIntList strides, SymInt offset) {
  if (!has_symbolic(sizes) && !has_symbolic(strides) && !offset.is_symbolic())
    return set_geometry(as_int(sizes), as_int(strides), offset.expect_int());
  TensorExtra& x = extra();
  x.sym_sizes.assign(sizes.begin(), sizes.end());
  x.sym_strides.assign(strides.begin(), strides.end());
  x.sym_offset = offset;
  set_ndim(static_cast<int64_t>(sizes.size()));
  has_symbolic_ = true;
  is_contiguous_ = true;
  const auto is_nothing = [](const SymInt& v) { return !v.is_symbolic() && v.word() == 0; };
  // Where only data tells, a tensor is not contiguous.
  const auto differs = [](const SymInt& a, const SymInt& b) {
    return known(SymOp::Ne, a, b).value_or(true);
  };
  // Strides are made with sizes of at least one, which differs where there are no elements.
  SymInt running = 1, padded = 1;
  for (int64_t i = ndim_ - 1; i >= 0 && is_contiguous_; --i) {
    // A difference that is plainly zero needs no comparison, which might become a guard.
    const SymInt gap = strides[i] - running;
    const bool is_equal = is_nothing(gap) || is_nothing(strides[i] - padded);
    if (!is_equal && differs(sizes[i], 1) && differs(gap, 0)) is_contiguous_ = false;
    running = running * sizes[i];
    padded = padded * sym_max(sizes[i], 1);
  }
}

namespace {
thread_local constinit bool is_in_fake_kernel = false;
}

FakeKernelScope::FakeKernelScope() : saved_(std::exchange(is_in_fake_kernel, true)) {}
FakeKernelScope::~FakeKernelScope() { is_in_fake_kernel = saved_; }

Device TensorImpl::shown_device() const {
  return is_in_fake_kernel ? device_ : *extra_->fake_device;
}

int64_t TensorImpl::guarded_numel() const { return sym_numel().expect_int(); }

SymInt TensorImpl::sym_numel() const {
  if (!has_symbolic_) return SymInt(numel_);
  SymInt n = 1;
  for (const SymInt& s : extra_->sym_sizes) n *= s;
  return n;
}

void TensorImpl::refresh() {
  const int64_t *size = dims(), *stride = size + stride_shift();
  int64_t running = 1;
  bool contiguous = true;
  for (int64_t i = ndim_ - 1; i >= 0; --i) {
    if (size[i] != 1 && stride[i] != running) contiguous = false;
    TAEDA_CHECK(!__builtin_mul_overflow(running, size[i], &running),
                "numel: integer multiplication overflow for sizes ", IntList(size, ndim_));
  }
  numel_ = running;
  is_contiguous_ = contiguous || numel_ == 0;
}

namespace {

// Relations that are not said to hold where only data tells.
bool is_equal(int64_t a, int64_t b) { return a == b; }
bool is_equal(const SymInt& a, const SymInt& b) { return is_known(SymOp::Eq, a, b); }
bool is_plainly_equal(int64_t a, int64_t b) { return a == b; }
bool is_plainly_equal(const SymInt& a, const SymInt& b) {
  const SymInt gap = a - b;
  return !gap.is_symbolic() && gap.word() == 0;
}
bool is_less(int64_t a, int64_t b) { return a < b; }
bool is_less(const SymInt& a, const SymInt& b) { return is_known(SymOp::Lt, a, b); }

// Whether walking the dimensions in `order` (innermost first) gives dense strides.
template <class T>
bool is_dense_in_order(Span<T> sizes, Span<T> strides, Span<int> order) {
  T running = 1;
  for (int d : order) {
    // What plainly lies in order needs no question about its size, which might become a guard.
    const bool is_next = is_plainly_equal(strides[d], running);
    if (!is_next && !is_equal(sizes[d], T(1)) && !is_equal(strides[d], running)) return false;
    running *= sizes[d];
  }
  return true;
}

template <class T>
bool is_dense_in_some_order(Span<T> sizes, Span<T> strides) {
  SmallVector<int, 8> order;
  for (int i = 0; i < static_cast<int>(sizes.size()); ++i) order.push_back(i);
  const auto comes_before = [&](int a, int b) {
    if (is_less(sizes[a], T(2))) return false;
    if (is_less(sizes[b], T(2))) return true;
    return is_less(strides[a], strides[b]);
  };
  // By insertion: what cannot be compared stays in place.
  for (size_t i = 1; i < order.size(); ++i)
    for (size_t j = i; j > 0 && comes_before(order[j], order[j - 1]); --j)
      std::swap(order[j], order[j - 1]);
  return is_dense_in_order(sizes, strides, Span<int>(order.data(), order.size()));
}

}  // namespace

bool TensorImpl::is_contiguous(MemoryFormat format) const {
  const auto is_dense = [&](Span<int> order) {
    return has_symbolic_ ? is_dense_in_order(sym_sizes(), sym_strides(), order)
                         : is_dense_in_order(sizes(), strides(), order);
  };
  switch (format) {
    case MemoryFormat::ChannelsLast: return ndim_ == 4 && is_dense({1, 3, 2, 0});
    case MemoryFormat::ChannelsLast3d: return ndim_ == 5 && is_dense({1, 4, 3, 2, 0});
    default: return is_contiguous_;
  }
}

bool TensorImpl::is_non_overlapping_and_dense() const {
  if (is_contiguous_) return true;
  return has_symbolic_ ? is_dense_in_some_order(sym_sizes(), sym_strides())
                       : is_dense_in_some_order(sizes(), strides());
}

}  // namespace taeda
