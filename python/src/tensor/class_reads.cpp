// Asks a class for the geometry, device or layout of an instance, and the operators that name the
// questions.
#include "python/src/tensor/class_reads.h"

#include "python/interop/errors.h"
#include "python/interop/gil.h"
#include "python/interop/tensor_object.h"
#include "python/interop/text.h"
#include "python/interop/types.h"
#include "python/interop/wrap.h"
#include "python/src/dispatch/overloads.h"
#include "taeda/dispatch/library.h"
#include "taeda/dispatch/modes.h"
#include "taeda/ops/graph/geometry_questions.h"

namespace taeda::python {

namespace {

bool are_classes_asked() {
  const bool is_enabled = dispatch::set_python_key_enabled(true);
  dispatch::set_python_key_enabled(is_enabled);
  return is_enabled;
}

// "aten.dim", "prim.device": the question without its overload.
std::string packet_name(std::string_view op) {
  const size_t at = op.find("::");
  const std::string space = at == op.npos ? "aten" : std::string(op.substr(0, at));
  const std::string_view rest = at == op.npos ? op : op.substr(at + 2);
  return str(space, ".", rest.substr(0, rest.find('.')));
}

Ref as_tuple(Ref answer) { return answer ? Ref(checked(PySequence_Tuple(answer.get()))) : Ref(); }

}  // namespace

uint8_t class_reads(std::string_view policy, bool has_device, bool has_layout) {
  TAEDA_CHECK_VALUE(policy.empty() || policy == "sizes" || policy == "strides",
                    "Unknown sizes_strides_policy: ", policy, "; expected 'strides' or 'sizes'");
  uint8_t reads = 0;
  const auto add = [&](bool wanted, ClassRead what) {
    if (wanted) reads |= static_cast<uint8_t>(what);
  };
  add(!policy.empty(), ClassRead::Strides);
  add(policy == "sizes", ClassRead::Sizes);
  add(has_device, ClassRead::Device);
  add(has_layout, ClassRead::Layout);
  return reads;
}

Ref read_from_class(PyObject* self, ClassRead what, const char* op, PyObject* rest) {
  if (!is_read_from_class(tensor_of(self), what) || !are_classes_asked()) return Ref();
  static PyObject* const name = PyUnicode_InternFromString("__torch_dispatch__");
  const dispatch::Operator* found = dispatch::find_operator(op);
  TAEDA_INTERNAL_CHECK(found, "no operator ", op);
  auto* type = reinterpret_cast<PyObject*>(Py_TYPE(self));
  const Ref types(checked(PyTuple_Pack(1, type))),
      args(checked(rest ? PyTuple_Pack(2, self, rest) : PyTuple_Pack(1, self))),
      kwargs(checked(PyDict_New()));
  PyObject* const argv[] = {self, overload_of(*found), types.get(), args.get(), kwargs.get()};
  Ref answer(checked(PyObject_VectorcallMethod(name, argv, 5, nullptr)));
  TAEDA_CHECK_TYPE(answer.get() != Py_NotImplemented, "Multiple dispatch failed for 'torch.ops.",
                   packet_name(op),
                   "'; all __torch_dispatch__ handlers returned NotImplemented:\n\n"
                   "  - tensor subclass ",
                   shown(type, PyObject_Repr),
                   "\n\nFor more information, try re-running with TORCH_LOGS=not_implemented");
  return answer.get() == Py_None ? Ref() : std::move(answer);
}

Ref sizes_from_class(PyObject* self) {
  return as_tuple(read_from_class(self, ClassRead::Sizes, "sym_size"));
}
Ref strides_from_class(PyObject* self) {
  return as_tuple(read_from_class(self, ClassRead::Strides, "sym_stride"));
}

Device shown_device(PyObject* self) {
  const Ref told = read_from_class(self, ClassRead::Device, "prim::device");
  return told ? to_device(told.get()) : tensor_of(self).device();
}

namespace {

// The answer of the tensor's class to a question of this operator, or null.
Ref ask(const Tensor& t, const char* op, PyObject* rest = nullptr) {
  if (!is_read_from_class(t, ClassRead::Strides)) return Ref();
  const Ref self(checked(wrap(t)));
  return read_from_class(self.get(), ClassRead::Strides, op, rest);
}

bool is_true(const Ref& answer) {
  const int truth = PyObject_IsTrue(answer.get());
  if (truth < 0) throw_python_error();
  return truth == 1;
}

bool is_non_overlapping_and_dense(const Tensor& t) {
  const GilHold gil;
  const Ref told = ask(t, "is_non_overlapping_and_dense");
  return told ? is_true(told) : t.impl()->is_non_overlapping_and_dense();
}

bool is_strides_like_format(const Tensor& t, MemoryFormat format) {
  const GilHold gil;
  const Ref given(checked(wrap(format)));
  const Ref told = ask(t, "is_strides_like_format", given.get());
  return told ? is_true(told) : is_channels_last_as(t, format);
}

}  // namespace

// Handlers see these only as the question of a tensor that leaves its strides to its class.
TAEDA_LIBRARY_IMPL(aten, Python, m) {
  m.impl("is_non_overlapping_and_dense", &is_non_overlapping_and_dense);
  m.impl("is_strides_like_format", &is_strides_like_format);
}

}  // namespace taeda::python
