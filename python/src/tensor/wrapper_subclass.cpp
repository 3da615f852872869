// Wrapper subclasses: tensors without memory that stand for the tensors inside them.
#include "python/interop/errors.h"
#include "python/interop/tensor_object.h"
#include "python/interop/wrap.h"
#include "python/src/args/args.h"
#include "python/src/dispatch/handler_call.h"
#include "python/src/tensor/class_reads.h"
#include "python/src/tensor/factories.h"
#include "taeda/autograd/variable.h"
#include "taeda/ops/shape.h"

namespace taeda::python {

namespace {

enum {
  kClass,
  kSize,
  kStrides,
  kOffset,
  kFormat,
  kDType,
  kLayout,
  kDevice,
  kPinned,
  kRequiresGrad,
  kPolicy,
  kDispatchDevice,
  kDispatchLayout,
  kExtraKeys,
  kStorageSize,
  kCount
};
const Param params[] = {
    {"cls", ParamType::PyObject},
    {"size", ParamType::SymIntList},
    {"strides", ParamType::SymIntList, true, false, true},
    {"storage_offset", ParamType::SymInt, true, false, true},
    {"memory_format", ParamType::MemoryFormat, true, false, true},
    {"dtype", ParamType::DType, true, false, true},
    {"layout", ParamType::Layout, true, false, true},
    {"device", ParamType::Device, true, false, true},
    {"pin_memory", ParamType::Bool, false, false, true},
    {"requires_grad", ParamType::Bool, false, false, true},
    {"dispatch_sizes_strides_policy", ParamType::Str, true, false, true},
    {"dispatch_device", ParamType::Bool, false, false, true},
    {"dispatch_layout", ParamType::Bool, false, false, true},
    {"_extra_dispatch_keys", ParamType::PyObject, true, false, true},
    {"storage_size", ParamType::SymInt, true, false, true},
};
const Signature signature[] = {
    {"(PyObject* cls, SymIntArrayRef size, SymIntArrayRef? strides=None, SymInt? "
     "storage_offset=None, MemoryFormat? memory_format=None, ScalarType dtype=None, Layout "
     "layout=torch.strided, Device device=None, bool pin_memory=False, bool requires_grad=False, "
     "c10::string_view? dispatch_sizes_strides_policy=None, bool dispatch_device=False, bool "
     "dispatch_layout=False, DispatchKeySet _extra_dispatch_keys=None, SymInt? storage_size=None)",
     params, kCount}};

PyTypeObject* wrapper_class(PyObject* cls) {
  TAEDA_CHECK_TYPE(PyType_Check(cls), "cls must be a type (got ", Py_TYPE(cls)->tp_name, ")");
  auto* type = reinterpret_cast<PyTypeObject*>(cls);
  TAEDA_CHECK_TYPE(PyType_IsSubtype(type, tensor_type),
                   "Creating a Tensor subclass from a class that does not inherit from Tensor is "
                   "not possible. Make sure your class inherits from Tensor. Got ",
                   type->tp_name);
  // Without a handler calls would go on to kernels, which have no memory to read.
  TAEDA_CHECK_TYPE(class_dispatches(type), type->tp_name, " must define __torch_dispatch__");
  return type;
}

void check_supported(const Args& args) {
  TAEDA_CHECK(!args.has(kOffset) || args.has(kStrides),
              "setting storage offset without stride not supported");
  TAEDA_CHECK_NOT_IMPLEMENTED(args.layout(kLayout, Layout::Strided) == Layout::Strided,
                              "_make_wrapper_subclass(): layout other than strided; with "
                              "dispatch_layout=True the class tells it");
  TAEDA_CHECK_NOT_IMPLEMENTED(!args.has(kExtraKeys),
                              "_make_wrapper_subclass(): _extra_dispatch_keys is not supported");
}

// Bytes that nobody allocates: a storage has an identity and counts writes.
size_t storage_size(const Args& args, const SymInt& numel, DType dtype) {
  const SymInt bytes = args.symint(kStorageSize, numel * SymInt(item_size(dtype)));
  return bytes.is_symbolic() ? 0 : static_cast<size_t>(bytes.expect_int());
}

Tensor make_memoryless(const Args& args) {
  const SymIntVec sizes = args.symints(kSize);
  for (const SymInt& s : sizes)
    TAEDA_CHECK(s.is_symbolic() || s.expect_int() >= 0,
                "Trying to create tensor with negative dimension ", s.expect_int(), ": ",
                SymIntList(sizes));
  const SymIntVec strides = args.opt_symints(kStrides).value_or(contiguous_strides(sizes));
  TAEDA_CHECK(strides.size() == sizes.size(), "dimensionality of sizes (", sizes.size(),
              ") must match dimensionality of strides (", strides.size(), ")");
  const DType dtype = args.dtype(kDType, default_dtype());
  const Device device = args.device(kDevice, default_device());
  SymInt numel = 1;
  for (const SymInt& s : sizes) numel = numel * s;
  Storage storage = make_intrusive<StorageImpl>(storage_size(args, numel, dtype),
                                                Device(DeviceType::Meta), nullptr);
  auto impl = make_intrusive<TensorImpl>(std::move(storage), dtype, dense_keys(device));
  impl->set_sym_geometry(sizes, strides, args.symint(kOffset, 0));
  impl->extra().fake_device = device;
  return Tensor(std::move(impl));
}

}  // namespace

// _make_wrapper_subclass(cls, size, ...): Note [Subclasses].
PyObject* make_wrapper_subclass(PyObject*, PyObject* const* argv, Py_ssize_t nargs,
                                PyObject* kwnames) {
  Args args;
  if (parse("_make_wrapper_subclass", signature, 1, nullptr, argv, nargs, kwnames, args) < 0)
    return nullptr;
  return guarded([&] {
    PyTypeObject* type = wrapper_class(args.object(kClass));
    check_supported(args);
    const uint8_t reads = class_reads(args.string(kPolicy), args.boolean(kDispatchDevice),
                                      args.boolean(kDispatchLayout));
    Tensor t = make_memoryless(args);
    t.impl()->extra().read_from_class = reads;
    if (args.boolean(kRequiresGrad)) autograd::set_requires_grad(t, true);
    return new_tensor_object(type, t);
  });
}

// _is_memoryless(tensor): whether it is a wrapper.
PyObject* is_memoryless(PyObject*, PyObject* o) {
  return guarded([&] { return wrap(dispatch::has_no_memory(expect_tensor(o, "tensor"))); });
}

// _set_storage_of(out, source): `out`, a wrapper, looks at the storage of `source` from now on, and
// so shares its identity and its count of writes.
PyObject* set_storage_of(PyObject*, PyObject* const* argv, Py_ssize_t nargs) {
  return guarded([&] {
    TAEDA_CHECK_TYPE(nargs == 2, "_set_storage_of(out, source)");
    const Tensor &out = expect_tensor(argv[0], "out"), &source = expect_tensor(argv[1], "source");
    TAEDA_CHECK(dispatch::has_no_memory(out) && dispatch::has_no_memory(source),
                "only wrappers, which have no memory, may change their storage");
    out.impl()->set_storage(source.storage());
    return Py_NewRef(Py_None);
  });
}

// _set_geometry_of(out, source): sizes, strides and offset of another tensor, for a wrapper whose
// operator changed them in place.
PyObject* set_geometry_of(PyObject*, PyObject* const* argv, Py_ssize_t nargs) {
  return guarded([&] {
    TAEDA_CHECK_TYPE(nargs == 2, "_set_geometry_of(out, source)");
    const Tensor &out = expect_tensor(argv[0], "out"), &source = expect_tensor(argv[1], "source");
    TAEDA_CHECK(dispatch::has_no_memory(out),
                "only a wrapper takes the geometry of another tensor");
    out.impl()->set_sym_geometry(source.sym_sizes(), source.sym_strides(),
                                 source.impl()->sym_storage_offset());
    return Py_NewRef(Py_None);
  });
}

}  // namespace taeda::python
