// The DLPack structures, and capsules in both directions.
#include "python/src/tensor/dlpack.h"

#include <cstring>
#include <memory>

#include "python/interop/errors.h"
#include "taeda/autograd/variable.h"

namespace taeda::python {

namespace {

// As dlpack.h defines them; the layout is the protocol.
struct DLDevice {
  int32_t device_type, device_id;
};
struct DLDataType {
  uint8_t code, bits;
  uint16_t lanes;
};
struct DLTensor {
  void* data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t* shape;
  int64_t* strides;
  uint64_t byte_offset;
};
struct DLManagedTensor {
  DLTensor tensor;
  void* context;
  void (*deleter)(DLManagedTensor*);
};
struct DLManagedTensorVersioned {
  uint32_t major, minor;
  void* context;
  void (*deleter)(DLManagedTensorVersioned*);
  uint64_t flags;
  DLTensor tensor;
};
constexpr uint64_t kFlagIsCopied = 2;
constexpr int32_t kDLCpu = 1;
constexpr const char* kPlainName = "dltensor";
constexpr const char* kVersionedName = "dltensor_versioned";

enum Code : uint8_t {
  kInt = 0,
  kUInt = 1,
  kFloat = 2,
  kBFloat = 4,
  kComplex = 5,
  kBool = 6,
  kE4M3FN = 10,
  kE5M2 = 12
};

DLDataType to_dl(DType t) {
  const auto bits = static_cast<uint8_t>(item_size(t) * 8);
  if (t == DType::Bool) return {kBool, 8, 1};
  if (t == DType::BFloat16) return {kBFloat, 16, 1};
  if (t == DType::Float8E4M3) return {kE4M3FN, 8, 1};
  if (t == DType::Float8E5M2) return {kE5M2, 8, 1};
  if (is_complex(t)) return {kComplex, bits, 1};
  if (is_floating(t)) return {kFloat, bits, 1};
  return {is_unsigned(t) ? kUInt : kInt, bits, 1};
}

DType from_dl(DLDataType t) {
  TAEDA_CHECK(t.lanes == 1, "Unsupported DLPack type with ", static_cast<int>(t.lanes), " lanes");
  for (int i = 0; i < kNumDTypes; ++i) {
    const DLDataType own = to_dl(static_cast<DType>(i));
    if (own.code == t.code && own.bits == t.bits) return static_cast<DType>(i);
  }
  fail(ErrorKind::Buffer, "Unsupported DLPack type: code ", static_cast<int>(t.code), ", bits ",
       static_cast<int>(t.bits));
}

// Keeps an exported tensor alive, and holds its sizes and strides.
template <class Managed>
struct Export {
  Managed managed;
  Tensor tensor;
  IntVec sizes, strides;

  explicit Export(const Tensor& t) : managed{}, tensor(t), sizes(t.sizes()), strides(t.strides()) {
    managed.tensor = {t.data(),
                      {kDLCpu, 0},
                      static_cast<int32_t>(t.dim()),
                      to_dl(t.dtype()),
                      sizes.data(),
                      strides.data(),
                      0};
    managed.context = this;
    t.storage()->fix_in_place();
    managed.deleter = [](Managed* m) { delete static_cast<Export*>(m->context); };
  }
};

// Runs for capsules that nobody took; the taker renames them.
template <class Managed>
void drop_unused(PyObject* capsule, const char* name) {
  if (!PyCapsule_IsValid(capsule, name)) return;
  auto* managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule, name));
  if (managed->deleter) managed->deleter(managed);
}

template <class Managed>
void delete_managed(void* p) {
  auto* managed = static_cast<Managed*>(p);
  if (managed->deleter) managed->deleter(managed);
}

template <class Managed>
Tensor take(PyObject* capsule, const char* name, const char* used_name) {
  auto* managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule, name));
  if (!managed) throw_python_error();
  const DLTensor& source = managed->tensor;
  TAEDA_CHECK_KIND(ErrorKind::Buffer, source.device.device_type == kDLCpu,
                   "unsupported DLPack device type ", source.device.device_type,
                   ": only CPU memory can be shared");
  const DType dtype = from_dl(source.dtype);
  const IntVec sizes(source.shape, source.shape + source.ndim);
  IntVec strides(sizes.size());
  int64_t running = 1;
  for (size_t i = sizes.size(); i-- > 0; running *= sizes[i])
    strides[i] = source.strides ? source.strides[i] : running;
  for (int64_t s : strides)
    TAEDA_CHECK_KIND(ErrorKind::Buffer, s >= 0, "negative strides are not supported: got ",
                     strides);
  void* data = static_cast<char*>(source.data) + source.byte_offset;
  auto storage = make_intrusive<StorageImpl>(
      data, static_cast<size_t>(storage_bytes(sizes, strides, 0, dtype)), Device(),
      delete_managed<Managed>, managed);
  if (PyCapsule_SetName(capsule, used_name) < 0) throw_python_error();
  Tensor t(make_intrusive<TensorImpl>(std::move(storage), dtype, dense_keys(Device())));
  t.impl()->set_geometry(sizes, strides, 0);
  return t;
}

}  // namespace

PyObject* dlpack_capsule(const Tensor& t, bool is_versioned, bool is_copy) {
  TAEDA_CHECK_KIND(ErrorKind::Buffer, !autograd::requires_grad(t),
                   "Can't export tensors that require gradient, use tensor.detach()");
  TAEDA_CHECK_KIND(ErrorKind::Buffer, !t.is_conj(),
                   "Can't export tensors with the conjugate bit set");
  TAEDA_CHECK_KIND(ErrorKind::Buffer, t.is_cpu(), "Can't export tensors on ", t.device());
  TAEDA_CHECK_KIND(ErrorKind::Buffer, t.storage()->data() || t.numel() == 0,
                   "Cannot access data pointer of Tensor that doesn't have storage");
  if (is_versioned) {
    auto owner = std::make_unique<Export<DLManagedTensorVersioned>>(t);
    owner->managed.major = 1;
    owner->managed.minor = 0;
    owner->managed.flags = is_copy ? kFlagIsCopied : 0;
    PyObject* capsule = PyCapsule_New(&owner->managed, kVersionedName, [](PyObject* c) {
      drop_unused<DLManagedTensorVersioned>(c, kVersionedName);
    });
    if (capsule) (void)owner.release();
    return capsule;
  }
  auto owner = std::make_unique<Export<DLManagedTensor>>(t);
  PyObject* capsule = PyCapsule_New(&owner->managed, kPlainName, [](PyObject* c) {
    drop_unused<DLManagedTensor>(c, kPlainName);
  });
  if (capsule) (void)owner.release();
  return capsule;
}

Tensor tensor_from_dlpack_capsule(PyObject* capsule) {
  if (PyCapsule_IsValid(capsule, kVersionedName)) {
    const auto* managed =
        static_cast<DLManagedTensorVersioned*>(PyCapsule_GetPointer(capsule, kVersionedName));
    TAEDA_CHECK_KIND(ErrorKind::Buffer, managed->major == 1, "unsupported DLPack major version ",
                     managed->major);
    return take<DLManagedTensorVersioned>(capsule, kVersionedName, "used_dltensor_versioned");
  }
  TAEDA_CHECK(PyCapsule_IsValid(capsule, kPlainName),
              "from_dlpack received an invalid capsule. Note that DLTensor capsules can be "
              "consumed only once, so you "
              "might have already constructed a tensor from it once.");
  return take<DLManagedTensor>(capsule, kPlainName, "used_dltensor");
}

Tensor tensor_from_dlpack_object(PyObject* o) {
  if (PyCapsule_CheckExact(o)) return tensor_from_dlpack_capsule(o);
  Ref method(checked(PyObject_GetAttrString(o, "__dlpack__")));
  Ref empty(checked(PyTuple_New(0)));
  Ref options(checked(Py_BuildValue("{s:(ii)}", "max_version", 1, 0)));
  Ref capsule(PyObject_Call(method.get(), empty.get(), options.get()));
  if (!capsule && PyErr_ExceptionMatches(PyExc_TypeError)) {
    // Producers from before version 1 take no such keyword.
    PyErr_Clear();
    capsule = Ref(PyObject_CallNoArgs(method.get()));
  }
  if (!capsule) throw_python_error();
  return tensor_from_dlpack_capsule(capsule.get());
}

}  // namespace taeda::python
