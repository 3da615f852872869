// taeda.Generator: a random number stream that operators take as `generator=`.
#include "python/interop/types.h"

#include <cstring>
#include <new>

#include "python/interop/errors.h"
#include "python/interop/numbers.h"
#include "python/interop/seeds.h"
#include "python/interop/tensor_object.h"
#include "python/interop/wrap.h"

namespace taeda::python {

PyTypeObject* generator_type = nullptr;

uint64_t to_seed(PyObject* o) {
  TAEDA_CHECK(PyLong_Check(o), "manual_seed expected a long, but got ", Py_TYPE(o)->tp_name);
  const unsigned long long v = PyLong_AsUnsignedLongLong(o);
  if (v != static_cast<unsigned long long>(-1) || !PyErr_Occurred()) return v;
  if (!PyErr_ExceptionMatches(PyExc_OverflowError)) throw_python_error();
  PyErr_Clear();
  return static_cast<uint64_t>(to_int64(o));
}

namespace {

struct GeneratorObject {
  PyObject_HEAD Generator value;
};

Generator& generator_of(PyObject* o) { return reinterpret_cast<GeneratorObject*>(o)->value; }

PyObject* make_generator(PyTypeObject* type, Generator value) {
  PyObject* o = type->tp_alloc(type, 0);
  if (o) new (&generator_of(o)) Generator(std::move(value));
  return o;
}

PyObject* generator_create(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"device", "engine", nullptr};
  PyObject* device = nullptr;
  const char* engine = nullptr;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O$z:Generator", const_cast<char**>(names),
                                   &device, &engine))
    return nullptr;
  return guarded([&] {
    const Device d = device && device != Py_None ? to_device(device) : Device();
    const Generator generator(d);
    if (engine) generator.impl().set_engine(random_engine_named(engine));
    return make_generator(type, generator);
  });
}

void generator_dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  generator_of(self).~Generator();
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* generator_repr(PyObject* self) {
  return PyUnicode_FromFormat("<torch._C.Generator object at %p>", self);
}

PyObject* manual_seed(PyObject* self, PyObject* seed) {
  return guarded([&] {
    generator_of(self).manual_seed(to_seed(seed));
    return Py_NewRef(self);
  });
}
PyObject* seed(PyObject* self, PyObject*) {
  return guarded([&] { return PyLong_FromUnsignedLongLong(generator_of(self).seed()); });
}
PyObject* initial_seed(PyObject* self, PyObject*) {
  return PyLong_FromUnsignedLongLong(generator_of(self).initial_seed());
}
PyObject* get_state(PyObject* self, PyObject*) {
  return guarded([&] {
    const auto state = generator_of(self).get_state();
    Tensor t = make_tensor({static_cast<int64_t>(state.size())}, DType::UInt8, Device());
    std::memcpy(t.data(), state.data(), state.size());
    return wrap(t);
  });
}
PyObject* set_state(PyObject* self, PyObject* state) {
  return guarded([&] {
    const Tensor& t = expect_tensor(state, "set_state(): argument 'new_state'");
    TAEDA_CHECK_TYPE(t.dtype() == DType::UInt8 && t.is_contiguous() && t.is_cpu(),
                     "RNG state must be a torch.ByteTensor, but got ", t.dtype());
    generator_of(self).set_state(
        {static_cast<const uint8_t*>(t.data()), static_cast<size_t>(t.numel())});
    return Py_NewRef(self);
  });
}
PyObject* clone_state(PyObject* self, PyObject*) {
  return guarded([&] { return make_generator(generator_type, generator_of(self).clone()); });
}
PyObject* get_offset(PyObject* self, PyObject*) {
  return guarded([&] { return PyLong_FromUnsignedLongLong(generator_of(self).impl().offset()); });
}
PyObject* set_offset(PyObject* self, PyObject* offset) {
  return guarded([&] {
    generator_of(self).impl().set_offset(static_cast<uint64_t>(to_int64(offset)));
    return Py_NewRef(self);
  });
}
PyObject* get_device(PyObject* self, void*) { return wrap(generator_of(self).device()); }
PyObject* text_of(RandomEngine engine) {
  const std::string_view name = random_engine_name(engine);
  return PyUnicode_FromStringAndSize(name.data(), static_cast<Py_ssize_t>(name.size()));
}
PyObject* get_engine(PyObject* self, void*) { return text_of(generator_of(self).impl().engine()); }

// Generators travel between processes as their device and state.
PyObject* generator_reduce(PyObject* self, PyObject*) {
  Ref state(get_state(self, nullptr));
  if (!state) return nullptr;
  Ref rebuild(PyObject_GetAttrString(PyImport_AddModule("taeda._C"), "_rebuild_generator"));
  if (!rebuild) return nullptr;
  return Py_BuildValue("(O(sO))", rebuild.get(), generator_of(self).device().text().c_str(),
                       state.get());
}

PyGetSetDef generator_getters[] = {
    {"engine", get_engine, nullptr, "'philox' or 'mt19937', which draws PyTorch's numbers.",
     nullptr},
    {"device", get_device, nullptr, "The device whose operators draw from the generator.", nullptr},
    {}};
PyMethodDef generator_methods[] = {
    {"manual_seed", manual_seed, METH_O,
     "manual_seed(seed) -> torch.Generator\n\n"
     "Starts the random stream of `seed` from its beginning."},
    {"seed", seed, METH_NOARGS,
     "seed() -> int\n\n"
     "Starts a random stream that the system chooses, and returns its seed."},
    {"initial_seed", initial_seed, METH_NOARGS,
     "initial_seed() -> int\n\n"
     "The seed of the current random stream."},
    {"get_state", get_state, METH_NOARGS,
     "get_state() -> Tensor\n\n"
     "Seed and place in the stream as a tensor of bytes."},
    {"set_state", set_state, METH_O,
     "set_state(state) -> None\n\n"
     "Goes on where the generator was that returned `state`."},
    {"clone_state", clone_state, METH_NOARGS,
     "clone_state() -> torch.Generator\n\n"
     "A generator of its own in the same state."},
    {"get_offset", get_offset, METH_NOARGS,
     "get_offset() -> int\n\n"
     "The place in the stream, in counters of four numbers."},
    {"set_offset", set_offset, METH_O,
     "set_offset(offset) -> torch.Generator\n\n"
     "Moves to a place in the stream."},
    {"__reduce__", generator_reduce, METH_NOARGS, nullptr},
    {},
};
PyType_Slot generator_slots[] = {
    {Py_tp_doc,
     const_cast<char*>(
         "A source of random numbers: `Generator(device='cpu', *, engine=None)`. Operators that\n"
         "draw take one as `generator=`; the others draw from `torch.default_generator`. The\n"
         "engine is 'philox', 'mt19937' with the numbers of PyTorch's CPU generator, or the\n"
         "default's.")},
    {Py_tp_new, reinterpret_cast<void*>(generator_create)},
    {Py_tp_dealloc, reinterpret_cast<void*>(generator_dealloc)},
    {Py_tp_repr, reinterpret_cast<void*>(generator_repr)},
    {Py_tp_getset, generator_getters},
    {Py_tp_methods, generator_methods},
    {0, nullptr},
};
PyType_Spec generator_spec = {"taeda.Generator", sizeof(GeneratorObject), 0,
                              Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, generator_slots};

PyObject* rebuild_generator(PyObject*, PyObject* args) {
  const char* device = nullptr;
  PyObject* state = nullptr;
  if (!PyArg_ParseTuple(args, "sO:_rebuild_generator", &device, &state)) return nullptr;
  return guarded([&]() -> PyObject* {
    Ref g(checked(make_generator(generator_type, Generator(Device::parse(device)))));
    Ref done(checked(set_state(g.get(), state)));
    return g.release();
  });
}
PyObject* get_default_engine(PyObject*, PyObject*) { return text_of(default_random_engine()); }
PyObject* set_default_engine(PyObject*, PyObject* name) {
  return guarded([&]() -> PyObject* {
    const char* text = PyUnicode_AsUTF8(name);
    if (!text) throw_python_error();
    set_default_random_engine(random_engine_named(text));
    return Py_NewRef(Py_None);
  });
}
PyMethodDef functions[] = {{"_rebuild_generator", rebuild_generator, METH_VARARGS, nullptr},
                           {"_get_default_engine", get_default_engine, METH_NOARGS,
                            "_get_default_engine() -> str\n\n"
                            "The engine of CPU generators made without one."},
                           {"_set_default_engine", set_default_engine, METH_O,
                            "_set_default_engine(engine) -> None\n\n"
                            "Changes it, and that of the default generator."},
                           {}};

}  // namespace

PyObject* wrap(const Generator& g) {
  return g.defined() ? make_generator(generator_type, g) : Py_NewRef(Py_None);
}
bool is_generator(PyObject* o) { return PyObject_TypeCheck(o, generator_type); }
const Generator& to_generator(PyObject* o) { return generator_of(o); }

bool init_generator_type(PyObject* module) {
  generator_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&generator_spec));
  if (!generator_type) return false;
  Ref default_generator(wrap(default_cpu_generator()));
  return default_generator &&
         PyModule_AddObjectRef(module, "default_generator", default_generator.get()) == 0 &&
         PyModule_AddFunctions(module, functions) == 0 &&
         PyModule_AddObjectRef(module, "Generator", reinterpret_cast<PyObject*>(generator_type)) ==
             0;
}

}  // namespace taeda::python
