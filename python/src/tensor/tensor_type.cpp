// Lifetime of Tensor objects, and the assembly of the type from its parts.
#include "python/interop/tensor_type.h"

#include <structmember.h>
#include <new>
#include <vector>

#include "python/interop/gil.h"
#include "python/interop/wrap.h"
#include "python/src/autograd/hooks.h"
#include "python/src/dispatch/function_modes.h"
#include "python/src/dispatch/handler_call.h"
#include "python/src/dispatch/overrides.h"
#include "python/src/generated.h"
#include "taeda/autograd/variable.h"

namespace taeda::python {

PyTypeObject* tensor_type = nullptr;
PyTypeObject* fake_tensor_class = nullptr;

namespace {

TensorObject* object_of(PyObject* o) { return reinterpret_cast<TensorObject*>(o); }

// Note [Python slot], from Python's side: the last Python reference is gone. If C++ still holds the
// impl, the impl takes the object over (with the reference that was just dropped) and gives up
// ours.
bool hand_over(PyObject* self) {
  TensorImpl* impl = tensor_of(self).impl();
  if (!impl || impl->python_object() != self || impl->owns_python_object() ||
      impl->use_count() <= 1)
    return false;
  Py_SET_REFCNT(self, Py_REFCNT(self) + 1);
  impl->set_python_object(self, true);
  // If the other holder let go meanwhile, this frees the impl, which frees `self` through the hook.
  impl->release();
  return true;
}

// Set when the interpreter has freed its objects.
bool is_python_gone = false;

// An object whose impl is gone while somebody may still look at it points to an empty tensor.
void leave_empty(PyObject* self) {
  tensor_of(self) = make_tensor({0}, default_dtype(), Device());
  tensor_of(self).impl()->set_python_object(self, false);
}

// The impl dies and drops the object it owns.
void release_object(void* object) {
  if (is_python_gone) return;
  auto* self = static_cast<PyObject*>(object);
  // The pointer was not counted.
  tensor_of(self).take_impl().detach();
  // While Python is going down the object stays as it is; the last collections visit it.
  if (!Py_IsInitialized()) return leave_empty(self);
  const GilHold gil;
  // A weak reference may have revived the object while nothing kept the tensor.
  if (Py_REFCNT(self) > 1) leave_empty(self);
  Py_DECREF(self);
}

void drop_value(PyObject* self) {
  TensorImpl* impl = tensor_of(self).impl();
  if (!impl) return;
  if (impl->python_object() == self) {
    const bool was_owned = impl->owns_python_object();
    impl->set_python_object(nullptr, false);
    if (was_owned) {
      tensor_of(self).take_impl().detach();
      return;
    }
  }
  tensor_of(self).reset();
}

// Members that __slots__ of Python subclasses add.
void clear_slots(PyTypeObject* type, PyObject* self) {
  auto* members =
      reinterpret_cast<PyMemberDef*>(reinterpret_cast<char*>(type) + Py_TYPE(type)->tp_basicsize);
  for (Py_ssize_t i = 0; i < Py_SIZE(type); ++i)
    if (members[i].type == T_OBJECT_EX && !(members[i].flags & READONLY))
      Py_CLEAR(*reinterpret_cast<PyObject**>(reinterpret_cast<char*>(self) + members[i].offset));
}

// Also of subclasses, where it replaces the interpreter's own, which would empty the object first.
void dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  if (hand_over(self)) return;
  if (type->tp_finalize && type != tensor_type) {
    if (PyObject_CallFinalizerFromDealloc(self) < 0) return;
  }
  PyObject_GC_UnTrack(self);
  if (object_of(self)->weakrefs) PyObject_ClearWeakRefs(self);
  for (PyTypeObject* t = type; t && t != tensor_type; t = t->tp_base)
    if (t->tp_dealloc == dealloc && Py_SIZE(t)) clear_slots(t, self);
  Py_CLEAR(object_of(self)->dict);
  drop_value(self);
  tensor_of(self).~Tensor();
  type->tp_free(self);
  Py_DECREF(type);
}

// What the impl alone keeps alive: Python's hooks, and the context of the Function that made it.
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

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  // While C++ can reach the object, its attributes are not garbage, whatever Python sees.
  const TensorImpl* impl = tensor_of(self).impl();
  if (impl && impl->use_count() > (impl->owns_python_object() ? 0u : 1u)) return 0;
  Py_VISIT(object_of(self)->dict);
  return impl ? visit_history(impl, visit, arg) : 0;
}

int clear(PyObject* self) {
  Py_CLEAR(object_of(self)->dict);
  return 0;
}

// Subclasses get the deallocator that knows about ownership. A class that sees operators by
// __torch_dispatch__ does not take part in __torch_function__ unless it says how.
PyObject* init_subclass(PyObject* cls, PyObject*, PyObject*) {
  auto* type = reinterpret_cast<PyTypeObject*>(cls);
  type->tp_dealloc = dealloc;
  if (class_dispatches(type) && has_default_function_hook(type) &&
      PyObject_SetAttrString(cls, "__torch_function__", disabled_hook()) < 0)
    return nullptr;
  Py_RETURN_NONE;
}

int set_attribute(PyObject* self, PyObject* name, PyObject* value) {
  // Plain tensors refer to no Python object, and the collector need not visit them before they do.
  track_tensor(self);
  return PyObject_GenericSetAttr(self, name, value);
}

PyObject* get_dict(PyObject* self, void*) {
  track_tensor(self);
  return PyObject_GenericGetDict(self, nullptr);
}

Py_hash_t hash(PyObject* self) { return _Py_HashPointer(self); }

PyMemberDef members[] = {
    {"__dictoffset__", T_PYSSIZET, offsetof(TensorObject, dict), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(TensorObject, weakrefs), READONLY, nullptr},
    {},
};
PyMethodDef lifetime_methods[] = {
    {"__init_subclass__", as_function(init_subclass), METH_VARARGS | METH_KEYWORDS | METH_CLASS,
     nullptr},
    {},
};
PyGetSetDef dict_property = {"__dict__", get_dict, PyObject_GenericSetDict, nullptr, nullptr};

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

void track_tensor(PyObject* tensor) {
  if (!PyObject_GC_IsTracked(tensor)) PyObject_GC_Track(tensor);
}

PyObject* new_tensor_object(PyTypeObject* type, Tensor value) {
  PyObject* self = nullptr;
  if (type == tensor_type) {
    self = reinterpret_cast<PyObject*>(PyObject_GC_New(TensorObject, type));
    if (!self) return nullptr;
    object_of(self)->dict = nullptr;
    object_of(self)->weakrefs = nullptr;
  } else {
    self = type->tp_alloc(type, 0);
    if (!self) return nullptr;
    if (class_dispatches(type)) value.impl()->set_keys(value.keys() | KeySet(Key::Python));
  }
  new (&tensor_of(self)) Tensor(std::move(value));
  tensor_of(self).impl()->set_python_object(self, false);
  return self;
}

PyObject* tensor_object(PyTypeObject* type, Tensor value) {
  const auto* object = static_cast<PyObject*>(value.impl()->python_object());
  if (!object) return new_tensor_object(type, std::move(value));
  TAEDA_CHECK(PyType_IsSubtype(Py_TYPE(object), type), "Creating a new Tensor subclass ",
              type->tp_name, " but the raw Tensor object is already associated to a python object ",
              "of type ", Py_TYPE(object)->tp_name,
              " which is not a subclass of the requested type");
  return wrap(value);
}

PyObject* wrap(const Tensor& t) {
  if (!t.defined()) return Py_NewRef(Py_None);
  TensorImpl* impl = t.impl();
  if (auto* object = static_cast<PyObject*>(impl->python_object())) {
    if (!impl->owns_python_object()) return Py_NewRef(object);
    // Back to Python: the impl's reference becomes the caller's, the object's pointer counts again.
    impl->retain();
    impl->set_python_object(object, false);
    return object;
  }
  const bool is_fake = fake_tensor_class && t.keys().has(Key::Fake);
  return new_tensor_object(__builtin_expect(is_fake, 0) ? fake_tensor_class : tensor_type, t);
}

Tensor& expect_tensor(PyObject* o, const char* what) {
  TAEDA_CHECK_TYPE(is_tensor(o), what, " must be Tensor, not ", Py_TYPE(o)->tp_name);
  return tensor_of(o);
}

bool init_tensor_type(PyObject* module) {
  // The type keeps pointers into both lists. Hand-written methods come first, and the first of a
  // name wins.
  static std::vector<PyMethodDef> methods;
  static std::vector<PyGetSetDef> properties;
  for (const PyMethodDef* table : {lifetime_methods, tensor_class_methods})
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
  properties.push_back(dict_property);
  properties.push_back({});

  std::vector<PyType_Slot> slots = {
      {Py_tp_doc, const_cast<char*>(kTensorDoc)},
      {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
      {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
      {Py_tp_clear, reinterpret_cast<void*>(clear)},
      {Py_tp_setattro, reinterpret_cast<void*>(set_attribute)},
      {Py_tp_hash, reinterpret_cast<void*>(hash)},
      {Py_tp_richcompare, reinterpret_cast<void*>(tensor_richcompare)},
      {Py_tp_iter, reinterpret_cast<void*>(tensor_iter)},
      {Py_tp_new, reinterpret_cast<void*>(tensor_new)},
      {Py_tp_free, reinterpret_cast<void*>(PyObject_GC_Del)},
      {Py_tp_members, members},
      {Py_tp_methods, methods.data()},
      {Py_tp_getset, properties.data()},
      {Py_mp_length, reinterpret_cast<void*>(tensor_length)},
      {Py_mp_subscript, reinterpret_cast<void*>(tensor_getitem)},
      {Py_mp_ass_subscript, reinterpret_cast<void*>(tensor_setitem)},
      {Py_sq_contains, reinterpret_cast<void*>(tensor_contains)},
      {Py_bf_getbuffer, reinterpret_cast<void*>(tensor_get_buffer)},
      {Py_bf_releasebuffer, reinterpret_cast<void*>(tensor_release_buffer)},
  };
  for (const PyType_Slot* s = tensor_number_slots; s->slot; ++s) slots.push_back(*s);
  slots.push_back({0, nullptr});
  PyType_Spec spec = {"taeda.Tensor", sizeof(TensorObject), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots.data()};
  tensor_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (!tensor_type) return false;
  // Messages of the interpreter speak of 'Tensor'; the module is in the type's dictionary.
  tensor_type->tp_name = "Tensor";
  TensorImpl::set_python_hooks({release_object});
  if (Py_AtExit([] { is_python_gone = true; }) != 0) return false;
  return PyModule_AddObjectRef(module, "Tensor", reinterpret_cast<PyObject*>(tensor_type)) == 0;
}

}  // namespace taeda::python
