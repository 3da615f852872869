// Puts the type together from its parts.
#include "python/src/tensor/tensor_type.h"

#include <vector>

#include "python/interop/tensor_object.h"
#include "python/src/autograd/hooks.h"
#include "python/src/dispatch/function_modes.h"
#include "python/src/dispatch/handler_call.h"
#include "python/src/dispatch/overrides.h"
#include "python/src/generated.h"
#include "taeda/autograd/variable.h"

namespace taeda::python {

namespace {

// The objects that only the impl keeps alive: Python's hooks, and the context of the Function that
// made it.
int visit_history(const TensorImpl* impl, visitproc visit, void* arg) {
  const autograd::AutogradMetaImpl* meta = autograd::meta_or_null(impl);
  if (!meta) return 0;
  if (meta->hooks && meta->hooks.use_count() == 1)
    if (const int stop = visit_hooks(*meta->hooks, visit, arg)) return stop;
  autograd::Node* node = meta->grad_fn.get();
  if (!node || node->use_count() != 1) return 0;
  Py_VISIT(static_cast<PyObject*>(node->host_object()));
  return visit_hooks_of(*node, visit, arg);
}

// A class that sees operators by __torch_dispatch__ does not take part in __torch_function__ unless
// it says how.
PyObject* init_subclass(PyObject* cls, PyObject*, PyObject*) {
  auto* type = reinterpret_cast<PyTypeObject*>(cls);
  adopt_subclass(type);
  if (class_dispatches(type) && has_default_function_hook(type) &&
      PyObject_SetAttrString(cls, "__torch_function__", disabled_hook()) < 0)
    return nullptr;
  Py_RETURN_NONE;
}

PyMethodDef subclass_methods[] = {
    {"__init_subclass__", as_function(init_subclass), METH_VARARGS | METH_KEYWORDS | METH_CLASS,
     nullptr},
    {},
};

constexpr char kTensorDoc[] =
    "An array of numbers of one dtype on one device, with the operators as methods.\n\n"
    "Made by `torch.tensor(data)`, by factories such as `torch.zeros(2, 3)`, and by operators.\n"
    "Indexing and reshaping give views, which share memory; methods that end in `_` write in "
    "place.\n\n"
    "    >>> x = taeda.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)\n"
    "    >>> (x * x).sum().backward()\n"
    "    >>> x.grad\n"
    "    tensor([[2., 4.],\n"
    "            [6., 8.]])";

void append_methods(std::vector<PyMethodDef>& out, const PyMethodDef* table) {
  for (; table->ml_name; ++table) out.push_back(*table);
}

}  // namespace

bool init_tensor_type(PyObject* module) {
  // The type keeps pointers into both lists. Hand-written methods come first, and the first of a
  // name wins.
  static std::vector<PyMethodDef> methods;
  static std::vector<PyGetSetDef> properties;
  for (const PyMethodDef* table : {subclass_methods, tensor_class_methods})
    append_methods(methods, table);
  for (const PyMethodDef* table :
       {tensor_shape_methods, tensor_value_methods, tensor_autograd_methods, tensor_interop_methods,
        tensor_storage_methods})
    for (; table->ml_name; ++table) methods.push_back(overridable_method(*table));
  for (const PyMethodDef* const* table = tensor_method_tables; *table; ++table)
    append_methods(methods, *table);
  methods.push_back({});
  for (const PyGetSetDef* p = tensor_properties; p->name; ++p)
    properties.push_back(overridable_property(*p));
  properties.push_back(tensor_dict_property);
  properties.push_back({});

  std::vector<PyType_Slot> slots = {
      {Py_tp_doc, const_cast<char*>(kTensorDoc)},
      {Py_tp_richcompare, reinterpret_cast<void*>(tensor_richcompare)},
      {Py_tp_iter, reinterpret_cast<void*>(tensor_iter)},
      {Py_tp_new, reinterpret_cast<void*>(tensor_new)},
      {Py_tp_methods, methods.data()},
      {Py_tp_getset, properties.data()},
      {Py_mp_length, reinterpret_cast<void*>(tensor_length)},
      {Py_mp_subscript, reinterpret_cast<void*>(tensor_getitem)},
      {Py_mp_ass_subscript, reinterpret_cast<void*>(tensor_setitem)},
      {Py_sq_contains, reinterpret_cast<void*>(tensor_contains)},
      {Py_bf_getbuffer, reinterpret_cast<void*>(tensor_get_buffer)},
      {Py_bf_releasebuffer, reinterpret_cast<void*>(tensor_release_buffer)},
  };
  for (const PyType_Slot* part : {tensor_lifetime_slots, tensor_number_slots})
    for (; part->slot; ++part) slots.push_back(*part);
  slots.push_back({0, nullptr});
  PyType_Spec spec = {"taeda.Tensor", sizeof(TensorObject), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots.data()};
  auto* type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (!type || !init_tensor_objects(type, {class_dispatches, visit_history})) return false;
  // Messages of the interpreter speak of 'Tensor'; the module is in the type's dictionary.
  type->tp_name = "Tensor";
  return PyModule_AddObjectRef(module, "Tensor", reinterpret_cast<PyObject*>(type)) == 0;
}

}  // namespace taeda::python
