// Tensor.set_: a tensor takes over another's memory, or looks at a storage in a
// way of its own.
#include "python/interop/errors.h"
#include "python/interop/numbers.h"
#include "python/interop/tensor_object.h"
#include "python/interop/text.h"
#include "python/interop/types.h"
#include "python/interop/wrap.h"
#include "python/src/tensor/storage_type.h"
#include "python/src/tensor/tensor_type.h"
#include "taeda/autograd/set_source.h"
#include "taeda/autograd/variable.h"
#include "taeda/dispatch/boxing.h"
#include "taeda/dispatch/dispatcher.h"

namespace taeda::python {

namespace {

IntVec read_list(PyObject* o, const char* what) {
  IntVec out;
  if (is_integer(o)) {
    out.push_back(to_int64(o));
    return out;
  }
  TAEDA_CHECK_TYPE(PyTuple_Check(o) || PyList_Check(o), "set_(): argument '", what,
                   "' must be tuple of ints, not ", Py_TYPE(o)->tp_name);
  Ref fast(checked(PySequence_Fast(o, what)));
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(fast.get()); ++i)
    out.push_back(to_int64(PySequence_Fast_GET_ITEM(fast.get(), i)));
  return out;
}

// Runs the kernel, or the operator of this name where a mode or a class of `keys` may take it.
template <class... A>
void call(const char* op, Tensor& (*kernel)(Tensor&, A...), KeySet keys, Tensor& self,
          std::type_identity_t<A>... args) {
  if (!dispatch::with_local(keys).has(Key::Python)) {
    kernel(self, args...);
    return;
  }
  dispatch::Stack stack;
  dispatch::push_argument<Tensor&>(stack, self);
  (dispatch::push_argument<A>(stack, args), ...);
  dispatch::call_boxed(dispatch::get_operator(op), stack);
}

// ---- the method ----

struct SetArguments {
  PyObject *source = nullptr, *offset = nullptr, *size = nullptr, *stride = nullptr;
};

void set_window(Tensor& self, const Storage& storage, const SetArguments& given) {
  TAEDA_CHECK_TYPE(given.offset && given.size,
                   "set_() received an invalid combination of arguments: a storage comes alone or "
                   "with storage_offset and size");
  const IntVec sizes = read_list(given.size, "size");
  const IntVec strides = given.stride ? read_list(given.stride, "stride") : IntVec();
  call("set_.source_Storage_storage_offset", &autograd::set_to_window, self.keys(), self, storage,
       SymInt(to_int64(given.offset)), as_symint(sizes), as_symint(strides));
}

void set(Tensor& self, const SetArguments& given) {
  const bool is_plain = !given.offset && !given.size && !given.stride;
  if (!given.source && is_plain) return call("set_", &autograd::set_to_nothing, self.keys(), self);
  TAEDA_CHECK_TYPE(given.source && (is_tensor(given.source) || is_storage(given.source)),
                   "set_() received an invalid combination of arguments: expected a Tensor or a "
                   "torch.UntypedStorage, got ",
                   given.source ? Py_TYPE(given.source)->tp_name : "no source");
  if (is_storage(given.source)) {
    const Storage& storage = storage_of(given.source);
    return is_plain
               ? call("set_.source_Storage", &autograd::set_to_storage, self.keys(), self, storage)
               : set_window(self, storage, given);
  }
  const Tensor& source = tensor_of(given.source);
  if (is_plain)
    return call("set_.source_Tensor", &autograd::set_to_tensor, self.keys() | source.keys(), self,
                source);
  TAEDA_CHECK(source.dtype() == self.dtype(), "Could not set tensor of type ", source.dtype(),
              " to a tensor of type ", self.dtype());
  set_window(self, source.storage(), given);
}

PyObject* tensor_set(PyObject* self, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"source", "storage_offset", "size", "stride", nullptr};
  SetArguments given;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OOOO:set_", const_cast<char**>(names),
                                   &given.source, &given.offset, &given.size, &given.stride))
    return nullptr;
  return guarded([&] {
    const Tensor& t = tensor_of(self);
    TAEDA_CHECK(!autograd::should_record(t) || !autograd::is_leaf(t),
                "a leaf Variable that requires grad is being used in an in-place operation.");
    TAEDA_CHECK(!autograd::should_record(t),
                "set_() has no derivative: call it under torch.no_grad(), or on a tensor that does "
                "not require gradients");
    const Ref bytes = bytes_of_typed(given.source, t.dtype());
    if (bytes) given.source = bytes.get();
    set(tensor_of(self), given);
    return Py_NewRef(self);
  });
}

}  // namespace

PyMethodDef tensor_storage_methods[] = {
    {"set_", as_function(tensor_set), METH_VARARGS | METH_KEYWORDS,
     "set_(source=None, storage_offset=0, size=None, stride=None) -> Tensor\n\n"
     "Turns the tensor to the memory of another tensor or of a storage."},
    {},
};

}  // namespace taeda::python
