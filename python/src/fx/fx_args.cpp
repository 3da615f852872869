// Arguments and targets of nodes between Python and C++.
#include <cstring>
#include <unordered_map>

#include "python/interop/errors.h"
#include "python/interop/gil.h"
#include "python/interop/sym_numbers.h"
#include "python/interop/tensor_object.h"
#include "python/interop/text.h"
#include "python/interop/types.h"
#include "python/interop/wrap.h"
#include "python/src/dispatch/boxed_values.h"
#include "python/src/dispatch/overloads.h"
#include "python/src/fx/fx_regions.h"
#include "python/src/fx/fx_types.h"
#include "taeda/dynamo/capture/source.h"
#include "taeda/fx/control_flow/operators.h"
#include "taeda/fx/mode_calls.h"
#include "taeda/fx/regions.h"

namespace taeda::python {

using fx::Arg;
using fx::Compound;

PythonObject::~PythonObject() {
  if (!Py_IsInitialized()) return;
  const GilHold gil;
  Py_DECREF(object_);
}

bool PythonObject::equals(const Opaque& other) const {
  const auto* o = dynamic_cast<const PythonObject*>(&other);
  if (!o) return false;
  if (o->object_ == object_) return true;
  const GilHold gil;
  const int same = PyObject_RichCompareBool(object_, o->object_, Py_EQ);
  if (same < 0) PyErr_Clear();  // objects that refuse to be compared are not the same
  return same == 1;
}

size_t PythonObject::hash() const {
  const GilHold gil;
  const Py_hash_t h = PyObject_Hash(object_);
  if (h != -1) return static_cast<size_t>(h);
  PyErr_Clear();  // unhashable objects differ by equality alone
  return 0;
}

std::string PythonObject::text() const {
  const GilHold gil;
  const Ref name(PyObject_GetAttrString(object_, "__qualname__"));
  if (!name) PyErr_Clear();
  const Ref shown(name ? PyObject_Str(name.get()) : PyObject_Repr(object_));
  if (!shown) throw_python_error();
  const char* utf8 = PyUnicode_AsUTF8(shown.get());
  if (!utf8) throw_python_error();
  return utf8;
}

namespace {

// Without its namespace.
const char* local_name(const dispatch::Operator& op) {
  const char* colons = std::strrchr(op.name, ':');
  return colons ? colons + 1 : op.name;
}

bool is_control_flow(const dispatch::Operator& op) { return fx::find_control_flow(op) != nullptr; }

// Python's own functions for the built-in ones, and back.
struct Functions {
  std::unordered_map<const fx::Builtin*, PyObject*> by_builtin;
  std::unordered_map<PyObject*, const fx::Builtin*> by_object;
  // Control flow: operators that Python code knows as taeda.ops.higher_order.
  std::unordered_map<const dispatch::Operator*, PyObject*> by_operator;
  std::unordered_map<PyObject*, dispatch::Operator*> operators;

  Functions() {
    for (const fx::Builtin& b : fx::all_builtins())
      add(b, find(b.name, {"operator", "math", "builtins", "taeda"}));
    for (const fx::Builtin& b : fx::mode_builtins())
      if (fx::sets_grad_mode(&b)) add(b, find(b.name, {"taeda._C"}));
  }
  void add_autocast() {
    for (const fx::Builtin& b : fx::mode_builtins())
      if (!by_builtin.contains(&b)) add(b, find(b.name, {"taeda.amp.autocast_mode"}));
  }
  // Importing the package defines the operators.
  void add_control_flow() {
    if (!by_operator.empty()) return;
    const Ref package(checked(PyImport_ImportModule("taeda.fx.control_flow")));
    const Ref ops(checked(PyImport_ImportModule("taeda._ops")));
    const Ref all(checked(PyObject_GetAttrString(ops.get(), "ops")));
    const Ref calls(checked(PyObject_GetAttrString(all.get(), "higher_order")));
    for (const fx::Builtin& b : fx::scope_builtins())
      add(b, checked(PyObject_GetAttrString(calls.get(), b.name)));
    for (dispatch::Operator* op : fx::control_flow_operators()) {
      PyObject* f = checked(PyObject_GetAttrString(calls.get(), local_name(*op)));
      by_operator.emplace(op, f);
      operators.emplace(f, op);
    }
  }
  void add(const fx::Builtin& b, PyObject* f) {
    by_builtin.emplace(&b, f);
    by_object.emplace(f, &b);
  }
  static PyObject* find(const char* name, std::initializer_list<const char*> places) {
    for (const char* place : places) {
      const Ref module(checked(PyImport_ImportModule(place)));
      if (PyObject* f = PyObject_GetAttrString(module.get(), name)) return f;
      if (!PyErr_ExceptionMatches(PyExc_AttributeError)) throw_python_error();
      PyErr_Clear();
    }
    fail(ErrorKind::Internal, "Python has no function ", name);
  }
};

// Modules are imported in between, while other threads run: no lock is held but the GIL.
Functions& known_functions() {
  static Functions* all = nullptr;
  if (!all) all = new Functions;
  return *all;
}

const Functions& all_functions() {
  Functions& all = known_functions();
  all.add_autocast();
  all.add_control_flow();
  return all;
}

// With those of modules that the program imported; it cannot hold others.
const Functions& loaded_functions() {
  Functions& all = known_functions();
  // Names that the modules define behind the others: their imports are over.
  if (Ref(dynamo::loaded("taeda.amp.autocast_mode", "_exit_autocast"))) all.add_autocast();
  if (Ref(dynamo::loaded("taeda.fx.control_flow", "__all__"))) all.add_control_flow();
  return all;
}

fx::Value constant(PyObject* o) {
  if (PyBool_Check(o)) return fx::Value(o == Py_True);
  if (PyLong_CheckExact(o)) {
    int overflow = 0;
    const long long v = PyLong_AsLongLongAndOverflow(o, &overflow);
    if (!overflow) return fx::Value(static_cast<int64_t>(v));
  } else if (PyFloat_CheckExact(o)) {
    return fx::Value(PyFloat_AS_DOUBLE(o));
  } else if (PyUnicode_CheckExact(o)) {
    if (const char* text = PyUnicode_AsUTF8(o)) return fx::Value(std::string(text));
    PyErr_Clear();  // lone surrogates: stays an object
  } else if (PyComplex_CheckExact(o)) {
    return fx::Value(Complex<double>(PyComplex_RealAsDouble(o), PyComplex_ImagAsDouble(o)));
  } else if (is_tensor(o)) {
    return fx::Value(tensor_of(o));
  } else if (is_symbolic(o)) {
    return fx::Value(Scalar(sym_node_of(o)));
  } else if (Py_IS_TYPE(o, dtype_type)) {
    return fx::Value(to_dtype(o));
  } else if (Py_IS_TYPE(o, device_type)) {
    return fx::Value(to_device(o));
  } else if (is_layout(o)) {
    return fx::Value(to_layout(o));
  } else if (is_memory_format(o)) {
    return fx::Value(to_memory_format(o));
  }
  return fx::Value(IntrusivePtr<dispatch::Opaque>(make_intrusive<PythonObject>(o)));
}

bool is_named_tuple(PyObject* o) {
  return !PyTuple_CheckExact(o) && !Py_IS_TYPE(o, size_type) &&
         PyObject_HasAttrString(o, "_fields");
}

Arg read_items(PyObject* o, Compound::Kind kind, IntrusivePtr<dispatch::Opaque> type = nullptr) {
  std::vector<Arg> items;
  const Py_ssize_t n = PySequence_Fast_GET_SIZE(o);
  items.reserve(static_cast<size_t>(n));
  for (Py_ssize_t i = 0; i < n; ++i) items.push_back(read_arg(PySequence_Fast_GET_ITEM(o, i)));
  return Arg(
      make_intrusive<Compound>(kind, std::move(items), std::vector<fx::Value>(), std::move(type)));
}

Arg read_dict(PyObject* o) {
  std::vector<fx::Value> keys;
  std::vector<Arg> items;
  PyObject *key = nullptr, *value = nullptr;
  Py_ssize_t at = 0;
  while (PyDict_Next(o, &at, &key, &value)) {
    TAEDA_CHECK(!is_fx_node(key), "a Node cannot be the key of a dict in an argument");
    keys.push_back(constant(key));
    items.push_back(read_arg(value));
  }
  return Arg(make_intrusive<Compound>(Compound::Kind::Dict, std::move(items), std::move(keys)));
}

Arg read_slice(PyObject* o) {
  const auto* s = reinterpret_cast<PySliceObject*>(o);
  return Arg(make_intrusive<Compound>(
      Compound::Kind::Slice,
      std::vector<Arg>{read_arg(s->start), read_arg(s->stop), read_arg(s->step)}));
}

PyObject* wrap_constant(const fx::Value& v) {
  if (v.is<IntrusivePtr<dispatch::Opaque>>()) {
    const auto& o = v.get<IntrusivePtr<dispatch::Opaque>>();
    if (const auto* object = dynamic_cast<const PythonObject*>(o.get()))
      return Py_NewRef(object->object());
    if (const fx::RegionValue* region = fx::find_region(v)) return wrap_region(*region);
  }
  return wrap_value(v);
}

PyObject* wrap_items(const Compound& c) {
  Ref tuple(wrap_args(c.items));
  if (!c.type) return tuple.release();
  PyObject* type = dynamic_cast<const PythonObject&>(*c.type).object();
  return checked(PyObject_CallObject(type, tuple.get()));
}

PyObject* wrap_list_of(const Compound& c) {
  Ref list(checked(PyList_New(static_cast<Py_ssize_t>(c.items.size()))));
  for (size_t i = 0; i < c.items.size(); ++i)
    PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), wrap_arg(c.items[i]));
  return fx_classes.list ? checked(PyObject_CallOneArg(fx_classes.list, list.get()))
                         : list.release();
}

PyObject* wrap_dict_of(const Compound& c) {
  Ref dict(checked(PyDict_New()));
  for (size_t i = 0; i < c.items.size(); ++i) {
    const Ref key(wrap_constant(c.keys[i])), value(wrap_arg(c.items[i]));
    if (PyDict_SetItem(dict.get(), key.get(), value.get()) < 0) throw_python_error();
  }
  return fx_classes.dict ? checked(PyObject_CallOneArg(fx_classes.dict, dict.get()))
                         : dict.release();
}

// One more container inside others; the limit keeps the stack from overflowing, also where a list
// holds itself. It is Python's default, whatever limit of its own an interpreter sets for C code.
class Nesting {
 public:
  Nesting() {
    if (++depth_ <= kMaxDepth) return;
    --depth_;
    PyErr_SetString(PyExc_RecursionError,
                    "maximum recursion depth exceeded while reading the argument of a Node");
    throw_python_error();
  }
  ~Nesting() { --depth_; }
  Nesting(const Nesting&) = delete;

 private:
  static constexpr int kMaxDepth = 1000;
  static thread_local int depth_;
};
thread_local int Nesting::depth_ = 0;

Arg read_container(PyObject* o) {
  const Nesting nesting;
  if (PyTuple_Check(o)) {
    if (!is_named_tuple(o)) return read_items(o, Compound::Kind::Tuple);
    return read_items(o, Compound::Kind::Tuple,
                      make_intrusive<PythonObject>(reinterpret_cast<PyObject*>(Py_TYPE(o))));
  }
  if (PyList_Check(o)) return read_items(o, Compound::Kind::List);
  if (PyDict_Check(o)) return read_dict(o);
  return read_slice(o);
}

}  // namespace

fx::Value read_any(PyObject* o) { return o == Py_None ? fx::Value() : constant(o); }
PyObject* wrap_any(const fx::Value& v) { return wrap_constant(v); }

PyObject* control_flow_object(const dispatch::Operator& op) {
  return is_control_flow(op) ? all_functions().by_operator.at(&op) : nullptr;
}

Arg read_arg(PyObject* o) {
  if (o == Py_None) return Arg();
  if (is_fx_node(o)) return Arg(expect_node(o, "an argument"));
  if (PyTuple_Check(o) || PyList_Check(o) || PyDict_Check(o) || PySlice_Check(o))
    return read_container(o);
  if (is_fx_graph(o)) return Arg(reinterpret_cast<GraphObject*>(o)->value);
  return Arg(constant(o));
}

std::vector<Arg> read_args(PyObject* o) {
  std::vector<Arg> out;
  if (!o || o == Py_None) return out;
  const Ref items(checked(PySequence_Fast(o, "args must be a tuple")));
  const Py_ssize_t n = PySequence_Fast_GET_SIZE(items.get());
  out.reserve(static_cast<size_t>(n));
  for (Py_ssize_t i = 0; i < n; ++i)
    out.push_back(read_arg(PySequence_Fast_GET_ITEM(items.get(), i)));
  return out;
}

fx::Kwargs read_kwargs(PyObject* o) {
  fx::Kwargs out;
  if (!o || o == Py_None) return out;
  TAEDA_CHECK_TYPE(PyDict_Check(o), "kwargs must be a dict, got ", Py_TYPE(o)->tp_name);
  PyObject *key = nullptr, *value = nullptr;
  Py_ssize_t at = 0;
  while (PyDict_Next(o, &at, &key, &value)) {
    const char* name = PyUnicode_AsUTF8(key);
    if (!name) throw_python_error();
    out.emplace_back(name, read_arg(value));
  }
  return out;
}

fx::Target read_target(fx::OpCode op, PyObject* o) {
  if (PyUnicode_Check(o)) {
    std::string text = text_of(o);
    TAEDA_CHECK_VALUE(op != fx::OpCode::CallFunction, "Node target ", text,
                      " has type str but a Callable is expected");
    return fx::Target(std::move(text));
  }
  if (op != fx::OpCode::CallFunction)
    fail(ErrorKind::Value, "Node target ", PythonObject(o).text(), " has type ",
         Py_TYPE(o)->tp_name, " but a str is expected");
  TAEDA_CHECK_VALUE(PyCallable_Check(o), "Node target ", PythonObject(o).text(), " has type ",
                    Py_TYPE(o)->tp_name, " but a Callable is expected");
  if (dispatch::Operator* found = operator_of_overload(o)) return fx::Target(*found);
  const Functions& known = loaded_functions();
  if (auto it = known.by_object.find(o); it != known.by_object.end())
    return fx::Target(*it->second);
  if (auto it = known.operators.find(o); it != known.operators.end())
    return fx::Target(*it->second);
  return fx::Target(IntrusivePtr<dispatch::Opaque>(make_intrusive<PythonObject>(o)));
}

std::string name_for_target(const fx::Target& target) {
  std::string text;
  if (const auto* object = target.object()) {
    const auto& python = dynamic_cast<const PythonObject&>(**object);
    const Ref name(PyObject_GetAttrString(python.object(), "__name__"));
    if (!name) PyErr_Clear();
    text = name && PyUnicode_Check(name.get()) ? text_of(name.get())
                                               : Py_TYPE(python.object())->tp_name;
  } else if (const dispatch::Operator* o = target.op(); o && is_control_flow(*o)) {
    text = local_name(*o);
  } else if (o) {
    text = *o->overload ? o->full_name() : str(o->name, ".default");
  } else {
    text = target.builtin() ? target.builtin()->name : target.text();
  }
  if (target.name() && text.size() > 4 && text.starts_with("__") && text.ends_with("__"))
    text = text.substr(2, text.size() - 4);
  return fx::snake_case(text);
}

PyObject* wrap_target(const fx::Target& target) {
  if (const std::string* name = target.name()) return checked(wrap(*name));
  if (const dispatch::Operator* op = target.op()) {
    PyObject* flow = control_flow_object(*op);
    return Py_NewRef(flow ? flow : overload_of(*op));
  }
  if (const fx::Builtin* b = target.builtin()) {
    const auto known = known_functions().by_builtin.find(b);
    const bool is_known = known != known_functions().by_builtin.end();
    return Py_NewRef(is_known ? known->second : all_functions().by_builtin.at(b));
  }
  return wrap_constant(fx::Value(*target.object()));
}

PyObject* wrap_arg(const Arg& arg) {
  if (fx::Node* n = arg.node()) return wrap_node(*n);
  if (arg.is_constant()) return wrap_constant(arg.constant());
  if (fx::Graph* region = arg.region()) return wrap_graph(IntrusivePtr<fx::Graph>::share(region));
  const Compound& c = *arg.compound();
  switch (c.kind) {
    case Compound::Kind::Tuple: return wrap_items(c);
    case Compound::Kind::List: return wrap_list_of(c);
    case Compound::Kind::Dict: return wrap_dict_of(c);
    default: {
      const Ref start(wrap_arg(c.items[0])), stop(wrap_arg(c.items[1])), step(wrap_arg(c.items[2]));
      return checked(PySlice_New(start.get(), stop.get(), step.get()));
    }
  }
}

PyObject* wrap_args(const std::vector<Arg>& args) {
  Ref tuple(checked(PyTuple_New(static_cast<Py_ssize_t>(args.size()))));
  for (size_t i = 0; i < args.size(); ++i)
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), wrap_arg(args[i]));
  return tuple.release();
}

PyObject* wrap_kwargs(const fx::Kwargs& kwargs) {
  Ref dict(checked(PyDict_New()));
  for (const auto& [name, a] : kwargs) {
    const Ref value(wrap_arg(a));
    if (PyDict_SetItemString(dict.get(), name.c_str(), value.get()) < 0) throw_python_error();
  }
  return fx_classes.dict ? checked(PyObject_CallOneArg(fx_classes.dict, dict.get()))
                         : dict.release();
}

}  // namespace taeda::python
