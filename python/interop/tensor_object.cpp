// Moves ownership between a tensor and its Python object, and wraps tensors.
#include "python/interop/tensor_object.h"

#include <structmember.h>

#include <new>

#include "python/interop/gil.h"
#include "python/interop/wrap.h"

namespace taeda::python {

PyTypeObject* tensor_type = nullptr;
PyTypeObject* fake_tensor_class = nullptr;

namespace {

TensorObjectHooks hooks{};

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

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  // While C++ can reach the object, its attributes are not garbage, whatever Python sees.
  const TensorImpl* impl = tensor_of(self).impl();
  if (impl && impl->use_count() > (impl->owns_python_object() ? 0u : 1u)) return 0;
  Py_VISIT(object_of(self)->dict);
  return impl ? hooks.visit_history(impl, visit, arg) : 0;
}

int clear(PyObject* self) {
  Py_CLEAR(object_of(self)->dict);
  return 0;
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

}  // namespace

PyType_Slot tensor_lifetime_slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
    {Py_tp_free, reinterpret_cast<void*>(PyObject_GC_Del)},
    {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(clear)},
    {Py_tp_setattro, reinterpret_cast<void*>(set_attribute)},
    {Py_tp_hash, reinterpret_cast<void*>(hash)},
    {Py_tp_members, members},
    {0, nullptr},
};
PyGetSetDef tensor_dict_property = {"__dict__", get_dict, PyObject_GenericSetDict, nullptr,
                                    nullptr};

void adopt_subclass(PyTypeObject* type) { type->tp_dealloc = dealloc; }

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
    if (hooks.class_dispatches(type)) value.impl()->set_keys(value.keys() | KeySet(Key::Python));
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

bool init_tensor_objects(PyTypeObject* type, const TensorObjectHooks& given) {
  tensor_type = type;
  hooks = given;
  TensorImpl::set_python_hooks({release_object});
  return Py_AtExit([] { is_python_gone = true; }) == 0;
}

}  // namespace taeda::python
