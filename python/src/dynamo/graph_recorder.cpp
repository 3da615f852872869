#include "python/src/dynamo/graph_recorder.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstring>
#include <functional>
#include <unordered_set>

#include "python/interop/errors.h"
#include "python/interop/sym_numbers.h"
#include "python/interop/tensor_object.h"
#include "python/interop/wrap.h"
#include "python/src/dispatch/function_modes.h"
#include "python/src/dispatch/overrides.h"
#include "python/src/dynamo/compiled_callable.h"
#include "python/src/dynamo/recorder_parts.h"
#include "python/src/fx/fx_fake.h"
#include "python/src/fx/fx_regions.h"
#include "python/src/fx/fx_types.h"
#include "taeda/autograd/saved_hooks.h"
#include "taeda/autograd/variable.h"
#include "taeda/base/str.h"
#include "taeda/core/generator.h"
#include "taeda/dispatch/levels.h"
#include "taeda/dynamo/capture/capture.h"
#include "taeda/dynamo/capture/entry.h"
#include "taeda/dynamo/capture/errors.h"
#include "taeda/dynamo/evaluator/session.h"
#include "taeda/fx/input_history.h"
#include "taeda/fx/passes/dead_code.h"
#include "taeda/fx/shapes/sym_expr_node.h"

namespace taeda::python {

using dynamo::Break;
using dynamo::CallKind;

// ---- known calls ----

void KnownCalls::set(PyObject* function, CallKind kind) {
  if (kinds_.try_emplace(function, kind).second) {
    Py_INCREF(function);  // as long as the process
  } else {
    kinds_[function] = kind;
  }
}

CallKind KnownCalls::of(PyObject* function) const {
  const auto found = kinds_.find(function);
  if (found != kinds_.end()) return found->second;
  if (!PyFunction_Check(function)) return CallKind::Unknown;
  static PyObject* const mark = PyUnicode_InternFromString("_torchdynamo_disable");
  PyObject* names = reinterpret_cast<PyFunctionObject*>(function)->func_dict;
  PyObject* is_disabled = names ? PyDict_GetItemWithError(names, mark) : nullptr;
  return is_disabled == Py_True ? CallKind::Unknown : CallKind::Entered;
}

void KnownCalls::substitute(PyObject* function, PyObject* with) {
  if (substitutes_.insert_or_assign(function, Py_NewRef(with)).second) Py_INCREF(function);
}

PyObject* KnownCalls::substitute_of(PyObject* function) const {
  const auto found = substitutes_.find(function);
  return found == substitutes_.end() ? nullptr : found->second;
}

KnownCalls& known_calls() {
  static KnownCalls* const calls = new KnownCalls;
  return *calls;
}

namespace {

// ---- calls that tensors make, told by the function mode ----

struct ModeObject {
  PyObject_HEAD GraphRecorder* recorder;
};
PyTypeObject* mode_type = nullptr;

// __torch_function__(func, types, args=(), kwargs=None)
PyObject* take_call(PyObject* self, PyObject* const* argv, Py_ssize_t nargs) {
  GraphRecorder* recorder = reinterpret_cast<ModeObject*>(self)->recorder;
  if (recorder == nullptr || nargs < 2) {
    PyErr_SetString(PyExc_RuntimeError, "the capture of this mode is over");
    return nullptr;
  }
  Ref args(nargs > 2 ? PySequence_Tuple(argv[2]) : PyTuple_New(0));
  if (!args) return nullptr;
  PyObject* kwargs = nargs > 3 && argv[3] != Py_None ? argv[3] : nullptr;
  try {
    return recorder->take(argv[0], args.get(), kwargs);
  } catch (const Break& reason) {
    PyErr_SetString(PyExc_SystemError, reason.reason.c_str());
    recorder->note_break(reason.reason);
  } catch (const dynamo::Raised&) {
  } catch (...) {
    translate_exception();
  }
  return nullptr;
}

PyMethodDef mode_methods[] = {
    {"__torch_function__", as_function(take_call), METH_FASTCALL, nullptr},
    {},
};
PyType_Slot mode_slots[] = {{Py_tp_methods, mode_methods}, {0, nullptr}};
PyType_Spec mode_spec = {"taeda._C._dynamo.RecordingMode", sizeof(ModeObject), 0,
                         Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, mode_slots};

}  // namespace

bool init_recorder_mode(PyObject* module) {
  mode_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&mode_spec));
  return mode_type && PyModule_AddObjectRef(module, "RecordingMode",
                                            reinterpret_cast<PyObject*>(mode_type)) == 0;
}

GraphRecorder::GraphRecorder(dynamo::Sources& sources, dynamo::GuardProgram& guards,
                             History& history, Dynamic dynamic, PyObject* compile)
    : sources_(sources),
      guards_(guards),
      history_(history),
      dynamic_(dynamic),
      compile_(compile),
      graph_(make_intrusive<fx::Graph>()),
      tracer_(make_intrusive<fx::Tracer>(graph_)) {
  static PyObject* const make_mode = attribute_of("taeda.compiler._capture", "make_fake_mode");
  const Ref made(checked(PyObject_CallNoArgs(make_mode)));
  mode_object_ = Ref::share(PyTuple_GetItem(made.get(), 0));
  takes_numbers_ = PyTuple_GetItem(made.get(), 1) == Py_True;
  changing_sources_ = Ref::share(PyTuple_GetItem(made.get(), 2));
  mode_ = read_fake_mode(mode_object_.get());
  env_ = mode_->options().shape_env;
  function_mode_ = Ref(checked(mode_type->tp_alloc(mode_type, 0)));
  reinterpret_cast<ModeObject*>(function_mode_.get())->recorder = this;
  push_function_mode(function_mode_.get());
}

GraphRecorder::~GraphRecorder() {
  reinterpret_cast<ModeObject*>(function_mode_.get())->recorder = nullptr;
  pop_function_mode();
}

// A fake tensor, whatever levels of function transforms wrap it.
static bool is_of_graph(const Tensor& t) {
  const dispatch::LevelWrapper* wrapper = dispatch::wrapper_of(t);
  return wrapper ? is_of_graph(Tensor(wrapper->value)) : fx::is_fake(t);
}

bool GraphRecorder::is_tensor_value(PyObject* object) const {
  return is_tensor(object) && is_of_graph(tensor_of(object));
}
bool GraphRecorder::is_value(PyObject* object) const {
  return is_tensor_value(object) || is_symbolic(object);
}

bool GraphRecorder::requires_grad(PyObject* tensor) const {
  return autograd::requires_grad(tensor_of(tensor));
}

bool GraphRecorder::is_parameter(PyObject* tensor) const {
  static PyObject* const parameter = attribute_of("taeda.nn", "Parameter");
  return reinterpret_cast<PyObject*>(class_of(tensor)) == parameter;
}

PyTypeObject* GraphRecorder::class_of(PyObject* value) const {
  if (is_symint(value)) return &PyLong_Type;
  if (is_symfloat(value)) return &PyFloat_Type;
  if (is_symbool(value)) return &PyBool_Type;
  const auto input = input_of_.find(tensor_of(value).impl());
  if (input != input_of_.end()) return Py_TYPE(inputs_[input->second].real.get());
  return is_subclass(value) ? Py_TYPE(value) : tensor_type;
}

PyObject* GraphRecorder::real_of(PyObject* value, int* source) const {
  if (!is_tensor(value)) return nullptr;
  const auto input = input_of_.find(tensor_of(value).impl());
  if (input == input_of_.end()) return nullptr;
  *source = inputs_[input->second].source;
  return inputs_[input->second].real.get();
}

// ---- calls ----

CallKind GraphRecorder::kind_of(PyObject* function) const { return known_calls().of(function); }

PyObject* GraphRecorder::substitute_of(PyObject* callable) const {
  return known_calls().substitute_of(callable);
}

PyObject* GraphRecorder::function_of(PyObject* callable) const {
  return compiled_function_of(callable);
}

void GraphRecorder::record_call(PyObject* function, PyObject* args, PyObject* result) {
  record(function, args, nullptr, result);
}

PyObject* GraphRecorder::call_natively(PyObject* callable, PyObject* args, PyObject* kwargs) {
  const Natively natively(*this);
  return PyObject_Call(callable, args, kwargs);
}

PyObject* GraphRecorder::call_natively(PyObject* callable, PyObject* args, PyObject* kwargs,
                                       bool& draws) {
  const GeneratorImpl::State before = default_cpu_generator().get_state();
  PyObject* result = call_natively(callable, args, kwargs);
  const GeneratorImpl::State after = default_cpu_generator().get_state();
  draws = before.size() != after.size() || !std::equal(before.begin(), before.end(), after.begin());
  if (draws) default_cpu_generator().set_state(before);
  return result;
}

// Values were asked of a tensor that has none: with those of the program the call does well.
static bool asks_for_values(PyObject* exception) {
  if (!PyErr_GivenExceptionMatches(exception, PyExc_NotImplementedError)) return false;
  const Ref text(PyObject_Str(exception));
  if (!text) PyErr_Clear();
  const char* message = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
  return message && std::strstr(message, "Cannot copy out of meta tensor");
}

bool GraphRecorder::is_data_dependent(PyObject* exception) const {
  const Natively natively(*this);
  static PyObject* const classes = attribute_of("taeda.compiler._capture", "DATA_DEPENDENT");
  const int is_one = PyObject_IsInstance(exception, classes);
  if (is_one < 0) PyErr_Clear();
  return is_one == 1 || !break_reason_.empty() || asks_for_values(exception);
}

// Functions of the package and reads of attributes that give None do nothing else.
static bool is_of_package(PyObject* function) {
  const Ref owner(PyObject_GetAttrString(function, "__self__"));
  if (!owner) PyErr_Clear();
  if (owner && Py_IS_TYPE(owner.get(), &PyGetSetDescr_Type)) return true;
  const Ref name(PyObject_GetAttrString(function, "__module__"));
  if (!name) PyErr_Clear();
  const char* text = name && PyUnicode_Check(name.get()) ? PyUnicode_AsUTF8(name.get()) : "";
  const std::string_view module(text);
  return module.starts_with("taeda.nn") || module.starts_with("taeda._C._nn");
}

// A function that may be called for its effect: one that the program allowed in graphs, or that a
// substitute calls.
static bool may_have_effects(PyObject* function) {
  if (!PyFunction_Check(function)) return false;
  const Ref name(PyObject_GetAttrString(function, "__module__"));
  if (!name) PyErr_Clear();
  const char* text = name && PyUnicode_Check(name.get()) ? PyUnicode_AsUTF8(name.get()) : "";
  const std::string_view module(text);
  return !module.starts_with("taeda.") || module == "taeda.compiler._value_substitutes";
}

PyObject* GraphRecorder::call(PyObject* function, PyObject* args, PyObject* kwargs) {
  const Ref known = with_truth_values(function, args);
  if (known) args = known.get();
  if (Ref answer; ask_overrides(function, args, kwargs, answer)) return answer.release();
  std::vector<std::pair<Tensor, uint32_t>> versions;
  bool has_foreign = false;
  const auto note_version = [&](PyObject* o) {
    const Tensor& t = tensor_of(o);
    has_foreign |= !is_of_graph(t);
    if (!new_data_.empty()) use_new_data(t);
    versions.emplace_back(t, t.impl()->version());
  };
  for_each_tensor(args, note_version);
  if (kwargs) for_each_tensor(kwargs, note_version);
  if (has_foreign) throw Break{"a tensor that is none of the graph's"};
  const WrittenMemory memory(function, args, kwargs);
  if (rehearsal_) rehearse(args);
  // A leaf that is made inside has no place in the gradients of a graph.
  static PyObject* const leaf = PyUnicode_InternFromString("requires_grad");
  if (kwargs && PyDict_GetItemWithError(kwargs, leaf) == Py_True)
    throw Break{"a tensor that is made with requires_grad=True"};
  // What such a function states about numbers must not make a constant of its condition.
  const bool has_effects = may_have_effects(function);
  const Ref stated = has_effects && !rehearsal_ ? with_nodes_natively(args) : Ref();
  Ref result;
  {
    // What the function does inside is its own.
    const Natively natively(*this);
    const dispatch::ActiveMode active(*mode_);
    const autograd::WithoutSavedTensorHooks unseen;
    result = Ref(PyObject_Call(function, args, kwargs));
  }
  if (!result) return nullptr;
  if (result.get() == Py_NotImplemented) return result.release();
  bool is_written = false;
  for (const auto& [t, version] : versions) is_written |= t.impl()->version() != version;
  if (is_written) memory.check_after();
  bool has_tensors = false, has_real = false;
  for_each_tensor(result.get(), [&](PyObject* o) {
    has_tensors = true;
    has_real |= !is_of_graph(tensor_of(o));
  });
  // as_tensor of numbers
  if (has_real && is_tensor(result.get()) && versions.empty()) {
    const Natively natively(*this);
    result = Ref(checked(wrap(mode_->from_tensor(tensor_of(result.get())))));
    has_real = false;
  }
  if (has_real) throw Break{"a result that is no tensor of the graph"};
  // A graph without gradients stays without.
  if (!starts_with_grad_ && autograd::grad_enabled() && dispatch::num_levels() == 0)
    for_each_tensor(result.get(), [&](PyObject* o) {
      if (autograd::requires_grad(tensor_of(o)))
        throw Break{"gradients are switched on where there were none"};
    });
  const bool is_unbacked = this->is_unbacked(result.get());
  if (is_unbacked && !takes_numbers_) throw Break{"a value that only data tells"};
  if (!has_tensors && !is_written && !is_unbacked) {
    const bool is_operator =
        kind_of(reinterpret_cast<PyObject*>(Py_TYPE(function))) == CallKind::Operators;
    if (result.get() != Py_None || (is_of_package(function) && !is_operator))
      return result.release();
    // Operators that give nothing are there for their effect.
    if (!is_operator && !has_effects) throw Break{"a call for its effect"};
  }
  if (!rehearsal_) record(function, stated ? stated.get() : args, kwargs, result.get());
  return result.release();
}

// Whether a number, or a size of a tensor, is known to data alone.
bool GraphRecorder::is_unbacked(PyObject* value) const {
  if (is_symbolic(value))
    return !fx::SymExprNode::of(sym_node_of(value).get(), *env_).raw_expr()->has_hint;
  if (is_tensor(value)) {
    const Tensor& t = tensor_of(value);
    if (!t.impl()->has_symbolic_sizes()) return false;
    for (const SymInt& size : t.sym_sizes())
      if (size.is_symbolic() && !env_->expr(size)->has_hint) return true;
    return false;
  }
  if (!PyTuple_Check(value) && !PyList_Check(value)) return false;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(value); ++i)
    if (is_unbacked(PySequence_Fast_GET_ITEM(value, i))) return true;
  return false;
}

int GraphRecorder::replays_writes(const std::vector<int>& sources) const {
  const Natively natively(*this);
  static PyObject* const ask = attribute_of("taeda.compiler._capture", "replays_writes");
  const Ref names(PyList_New(0));
  for (const int source : sources) {
    const Ref name(PyUnicode_FromString(sources_.text(source).c_str()));
    if (!name || PyList_Append(names.get(), name.get()) < 0) return -1;
  }
  const Ref is_done(PyObject_CallOneArg(ask, names.get()));
  return is_done ? is_done.get() == Py_True : -1;
}

const fx::Node* GraphRecorder::node_of_number(PyObject* number) const {
  const auto& node = sym_node_of(number);
  const fx::Arg arg = is_symint(number) ? tracer_->arg_of(dispatch::Value(SymInt(node)))
                                        : tracer_->arg_of(dispatch::Value(node));
  return arg.is_node() ? arg.node() : nullptr;
}

// Classes derived from numbers and texts mean the same to a graph. Null for other values.
static Ref plain_constant(PyObject* value) {
  if (PyLong_Check(value) && !PyBool_Check(value) && !PyLong_CheckExact(value))
    return Ref(checked(PyLong_Type.tp_as_number->nb_int(value)));
  if (PyFloat_Check(value) && !PyFloat_CheckExact(value))
    return Ref(checked(PyFloat_FromDouble(PyFloat_AS_DOUBLE(value))));
  if (PyUnicode_Check(value) && !PyUnicode_CheckExact(value))
    return Ref(checked(PyUnicode_FromObject(value)));
  return Ref();
}

// Instances of frozen data classes are made by the graph, of their fields.
Ref GraphRecorder::node_of_fields(PyObject* value) {
  static PyObject* const params_name = PyUnicode_InternFromString("__dataclass_params__");
  static PyObject* const fields = attribute_of("dataclasses", "fields");
  PyObject* type = reinterpret_cast<PyObject*>(Py_TYPE(value));
  PyObject* params = _PyType_Lookup(Py_TYPE(value), params_name);
  const Ref is_frozen(params ? checked(PyObject_GetAttrString(params, "frozen")) : nullptr);
  if (is_frozen.get() != Py_True) return Ref();
  const Natively natively(*this);
  const Ref all(checked(PyObject_CallOneArg(fields, value)));
  const Ref given(checked(PyDict_New()));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(all.get()); ++i) {
    PyObject* field = PyTuple_GET_ITEM(all.get(), i);
    const Ref is_given(checked(PyObject_GetAttrString(field, "init")));
    if (is_given.get() != Py_True) continue;
    const Ref name(checked(PyObject_GetAttrString(field, "name")));
    const Ref item(checked(PyObject_GetAttr(value, name.get())));
    if (PyDict_SetItem(given.get(), name.get(), with_nodes(item.get()).get()) < 0)
      throw_python_error();
  }
  const fx::Target target = read_target(fx::OpCode::CallFunction, type);
  return Ref(wrap_node(graph_->create(fx::OpCode::CallFunction, target, {},
                                      read_kwargs(given.get()), name_for_target(target))));
}

// The same structure with nodes for tensors and symbolic numbers.
Ref GraphRecorder::with_nodes_natively(PyObject* value) {
  const Natively natively(*this);
  return with_nodes(value);
}

Ref GraphRecorder::with_nodes(PyObject* value) {
  if (is_fx_node(value)) return Ref::share(value);
  if (const auto level = levels_.find(value); level != levels_.end())
    return Ref(wrap_node(*level->second));
  if (const auto body = name_of_body_.find(value); body != name_of_body_.end())
    return Ref(wrap_node(
        graph_->create(fx::OpCode::GetAttr, fx::Target(body->second), {}, {}, body->second)));
  if (is_tensor(value)) {
    fx::Node* node = tracer_->node_of(tensor_of(value));
    if (!node) throw Break{"a tensor that is none of the graph's"};
    return Ref(wrap_node(*node));
  }
  if (is_symbolic(value)) {
    const auto& node = sym_node_of(value);
    const fx::Arg arg = is_symint(value) ? tracer_->arg_of(dispatch::Value(SymInt(node)))
                                         : tracer_->arg_of(dispatch::Value(node));
    return Ref(checked(wrap_arg(arg)));
  }
  if (PyList_Check(value)) {
    Ref list(checked(PyList_New(0)));
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(value); ++i)
      if (PyList_Append(list.get(), with_nodes(PyList_GET_ITEM(value, i)).get()) < 0)
        throw_python_error();
    return list;
  }
  if (PyTuple_Check(value)) {
    Ref tuple(checked(PyTuple_New(PyTuple_GET_SIZE(value))));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(value); ++i)
      PyTuple_SET_ITEM(tuple.get(), i, with_nodes(PyTuple_GET_ITEM(value, i)).release());
    return tuple;
  }
  if (PyDict_Check(value)) {
    Ref dict(checked(PyDict_New()));
    Py_ssize_t position = 0;
    PyObject *key, *item;
    while (PyDict_Next(value, &position, &key, &item))
      if (PyDict_SetItem(dict.get(), key, with_nodes(item).get()) < 0) throw_python_error();
    return dict;
  }
  if (PySlice_Check(value)) {
    const auto* slice = reinterpret_cast<PySliceObject*>(value);
    const Ref start = with_nodes(slice->start), stop = with_nodes(slice->stop),
              step = with_nodes(slice->step);
    return Ref(checked(PySlice_New(start.get(), stop.get(), step.get())));
  }
  if (Ref plain = plain_constant(value)) return plain;
  if (dynamo::is_immutable(value)) return Ref::share(value);
  if (Ref made = node_of_fields(value)) return made;
  // Functions and classes are named where they are used.
  if (!PyType_Check(value) && !PyCallable_Check(value))
    throw Break{str("an argument of class ", Py_TYPE(value)->tp_name, " in a graph")};
  return Ref::share(value);
}

namespace {

// The function of `operator` that a method of numbers is, and whether it takes its operands the
// other way round; null for other methods.
PyObject* operator_of(const char* method, bool& is_swapped) {
  static PyObject* const module = dynamo::imported_module("operator");
  const size_t length = std::strlen(method);
  if (length < 5 || method[0] != '_' || method[1] != '_') return nullptr;
  std::string name(method + 2, length - 4);
  static const char* const known[] = {
      "add", "sub",    "mul",    "truediv", "floordiv", "mod",     "pow",    "and", "or",
      "xor", "lshift", "rshift", "eq",      "ne",       "lt",      "le",     "gt",  "ge",
      "neg", "pos",    "invert", "abs",     "matmul",   "getitem", "setitem"};
  const auto is_known = [&](const std::string& text) {
    return std::any_of(std::begin(known), std::end(known), [&](auto k) { return text == k; });
  };
  bool is_in_place = false;
  is_swapped = false;
  if (!is_known(name)) {
    if (name.empty() || !is_known(name.substr(1))) return nullptr;
    is_swapped = name[0] == 'r';
    is_in_place = name[0] == 'i';
    if (!is_swapped && !is_in_place) return nullptr;
    name = name.substr(1);
  }
  if (name == "and" || name == "or") name += is_in_place ? "" : "_";
  if (is_in_place) name = "i" + name;
  PyObject* found = PyObject_GetAttrString(module, name.c_str());
  if (!found) PyErr_Clear();
  Py_XDECREF(found);  // the module keeps it
  return found;
}

const char* text_or_empty(PyObject* o) {
  const char* text = o && PyUnicode_Check(o) ? PyUnicode_AsUTF8(o) : nullptr;
  if (!text) PyErr_Clear();
  return text ? text : "";
}

}  // namespace

const std::string& package_folder() {
  static const std::string* const folder = [] {
    const Ref file(attribute_of("taeda", "__file__"));
    const std::string path = text_or_empty(file.get());
    return new std::string(path.substr(0, path.rfind('/') + 1));
  }();
  return *folder;
}

// Methods are called by name, operators are those of `operator`, attributes are read by getattr.
fx::Node& GraphRecorder::create(PyObject* function, PyObject* args, PyObject* kwargs) {
  Ref own_args = with_nodes(args);
  Ref own_kwargs = kwargs ? with_nodes(kwargs) : Ref();
  const auto make = [&](fx::OpCode op, PyObject* target) -> fx::Node& {
    const fx::Target read = read_target(op, target);
    return graph_->create(op, read, read_args(own_args.get()),
                          own_kwargs ? read_kwargs(own_kwargs.get()) : fx::Kwargs{},
                          name_for_target(read));
  };
  if (Py_IS_TYPE(function, &PyMethodDescr_Type) || Py_IS_TYPE(function, &PyWrapperDescr_Type)) {
    const Ref name(checked(PyObject_GetAttrString(function, "__name__")));
    bool is_swapped = false;
    if (PyObject* found = operator_of(text_or_empty(name.get()), is_swapped)) {
      if (is_swapped)
        own_args = Ref(checked(PyTuple_Pack(2, PyTuple_GET_ITEM(own_args.get(), 1),
                                            PyTuple_GET_ITEM(own_args.get(), 0))));
      return make(fx::OpCode::CallFunction, found);
    }
    return make(fx::OpCode::CallMethod, name.get());
  }
  // Tensor.T.__get__
  Ref owner(PyObject_GetAttrString(function, "__self__"));
  if (!owner) PyErr_Clear();
  if (owner && Py_IS_TYPE(owner.get(), &PyGetSetDescr_Type)) {
    const Ref name(checked(PyObject_GetAttrString(owner.get(), "__name__")));
    const Ref accessor(checked(PyObject_GetAttrString(function, "__name__")));
    if (std::strcmp(text_or_empty(accessor.get()), "__get__") != 0)
      throw Break{"a write to an attribute of a tensor"};
    static PyObject* const getattr = attribute_of("builtins", "getattr");
    own_args = Ref(checked(PyTuple_Pack(2, PyTuple_GET_ITEM(own_args.get(), 0), name.get())));
    own_kwargs = Ref();
    return make(fx::OpCode::CallFunction, getattr);
  }
  return make(fx::OpCode::CallFunction, function);
}

namespace {

Ref code_of(const Ref& frame) {
  return Ref(
      reinterpret_cast<PyObject*>(PyFrame_GetCode(reinterpret_cast<PyFrameObject*>(frame.get()))));
}

// A frame as a line of a traceback.
std::string line_of(const Ref& frame, const Ref& code) {
  const auto* fields = reinterpret_cast<PyCodeObject*>(code.get());
  return str("  File \"", text_or_empty(fields->co_filename), "\", line ",
             PyFrame_GetLineNumber(reinterpret_cast<PyFrameObject*>(frame.get())), ", in ",
             text_or_empty(fields->co_name));
}

}  // namespace

// Where the program is, as lines of a traceback: the captured frames outside of the package, the
// innermost last. Of a module of the package that is captured as a whole it is who called it.
std::string GraphRecorder::user_lines() {
  const auto object = [](PyFrameObject* frame) { return reinterpret_cast<PyObject*>(frame); };
  const auto back_of = [&](const Ref& frame) {
    return Ref(object(PyFrame_GetBack(reinterpret_cast<PyFrameObject*>(frame.get()))));
  };
  // Once, when frames are in place: of a function that calls itself it is the first call.
  if (!outermost_)
    for (Ref frame = Ref::share(object(PyEval_GetFrame())); frame; frame = back_of(frame))
      if (code_of(frame).get() == reinterpret_cast<PyObject*>(first_code_))
        outermost_ = reinterpret_cast<PyFrameObject*>(frame.get());
  const std::string& package = package_folder();
  std::string lines, innermost;
  bool is_captured = true;
  Ref frame = Ref::share(object(PyEval_GetFrame()));
  while (frame && (is_captured || lines.empty())) {
    const Ref code = code_of(frame);
    const char* file = text_or_empty(reinterpret_cast<PyCodeObject*>(code.get())->co_filename);
    if (innermost.empty()) innermost = line_of(frame, code);
    if (std::strncmp(file, package.c_str(), package.size()) != 0)
      lines = line_of(frame, code) + (lines.empty() ? "" : "\n") + lines;
    is_captured = is_captured && frame.get() != object(outermost_);
    frame = back_of(frame);
  }
  return lines.empty() ? innermost : lines;
}

// Tensors of a result, alone or in lists and tuples; named results are tuples, too.
static dispatch::Value results_of(PyObject* result) {
  if (is_tensor(result)) return dispatch::Value(tensor_of(result));
  if (is_symint(result)) return dispatch::Value(SymInt(sym_node_of(result)));
  if (is_symbolic(result)) return dispatch::Value(sym_node_of(result));
  if (!PyTuple_Check(result) && !PyList_Check(result)) return dispatch::Value();
  auto items = std::make_shared<dispatch::Value::List>();
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(result); ++i)
    items->push_back(results_of(PySequence_Fast_GET_ITEM(result, i)));
  return dispatch::Value(std::move(items));
}

void GraphRecorder::record(PyObject* function, PyObject* args, PyObject* kwargs, PyObject* result) {
  const Natively natively(*this);
  fx::Node& node = create(function, args, kwargs);
  node.set_meta_value("stack_trace", dispatch::Value(user_lines()));
  kept_.push_back(Ref::share(result));
  // Results that stood for something before stand for it still: writes in place.
  if (is_tensor(result)) {
    const Tensor& t = tensor_of(result);
    node.set_val(dispatch::Value(t));
    if (!tracer_->node_of(t)) tracer_->track(t, node);
    return;
  }
  tracer_->track_results(node, results_of(result));
}

void GraphRecorder::note(PyObject* function, PyObject* args, PyObject* result) {
  if (rehearsal_) return;
  const Natively natively(*this);
  fx::Node& node = create(function, args, nullptr);
  // Levels have other numbers at other runs.
  constexpr long kSmallest = 1 << 10;
  if (!PyLong_CheckExact(result) || PyLong_AsLong(result) < kSmallest) return;
  kept_.push_back(Ref::share(result));
  levels_[result] = &node;
}

std::vector<fx::Node*> GraphRecorder::since(size_t mark) const {
  std::vector<fx::Node*> nodes;
  const size_t count = this->mark() - mark;
  for (fx::Node* node = graph_->last(); nodes.size() < count; node = node->prev())
    if (node->op() != fx::OpCode::Placeholder) nodes.push_back(node);
  return nodes;
}

// Inputs stay: their guards do.
void GraphRecorder::rewind(size_t mark) {
  break_reason_.clear();
  for (fx::Node* node : since(mark)) graph_->erase(*node);
}

int GraphRecorder::output(PyObject* value) {
  const auto [known, is_new] = output_of_.try_emplace(value, static_cast<int>(outputs_.size()));
  if (is_new) {
    kept_.push_back(Ref::share(value));
    outputs_.push_back(value);
  }
  return known->second;
}

PyObject* GraphRecorder::real_at(int source) const {
  const auto input = std::find_if(inputs_.begin(), inputs_.end(),
                                  [&](const Input& i) { return i.source == source; });
  return input == inputs_.end() ? nullptr : input->real.get();
}

void GraphRecorder::note_memory(dynamo::Entry& entry) const {
  std::vector<PyObject*> reals;
  for (const Input& input : inputs_)
    if (input.is_needed) reals.push_back(input.real.get());
  entry.shared = dynamo::shared_memories(reals);
  entry.places = dynamo::places_of(reals, entry.shared);
}

bool GraphRecorder::writes_inputs() const {
  return std::any_of(inputs_.begin(), inputs_.end(), [](const Input& input) {
    return input.fake.defined() && input.fake.impl()->version() != input.version;
  });
}

dynamo::Recorder::Compiled GraphRecorder::compile(dynamo::GuardProgram& guards) {
  Compiled compiled;
  const Natively natively(*this);
  try {
    if (mark() > 0 || !outputs_.empty()) {
      Ref results(checked(PyTuple_New(static_cast<Py_ssize_t>(outputs_.size()))));
      for (size_t i = 0; i < outputs_.size(); ++i)
        PyTuple_SET_ITEM(results.get(), i, with_nodes(outputs_[i]).release());
      graph_->output(read_arg(results.get()));
      Ref fakes(checked(PyList_New(0)));
      const Ref replaced(checked(PyList_New(0)));
      std::vector<fx::Node*> placeholders;
      for (fx::Node& node : *graph_)
        if (node.op() == fx::OpCode::Placeholder) placeholders.push_back(&node);
      for (size_t i = 0; i < inputs_.size(); ++i) {
        Input& input = inputs_[i];
        // Sizes that are symbols are read from inputs.
        input.is_needed = !input.fake.defined() || !placeholders[i]->users().empty() ||
                          tensor_of(input.example.get()).impl()->has_symbolic_sizes();
        if (!input.is_needed) {
          graph_->erase(*placeholders[i]);
          continue;
        }
        if (input.fake.defined() && gets_data_.contains(input.fake.impl())) {
          const Ref place(checked(PyLong_FromSize_t(compiled.inputs.size())));
          if (PyList_Append(replaced.get(), place.get()) < 0) throw_python_error();
        }
        compiled.inputs.push_back(input.source);
        if (PyList_Append(fakes.get(), input.example.get()) < 0) throw_python_error();
      }
      const Ref graph(wrap_graph(graph_));
      compiled.callable = checked(PyObject_CallFunctionObjArgs(
          compile_, graph.get(), fakes.get(), bodies_ ? bodies_.get() : Py_None, nullptr));
      if (PyList_GET_SIZE(replaced.get()) > 0) {
        static PyObject* const wrapped = attribute_of("taeda.compiler._capture", "on_their_data");
        const Ref inner(compiled.callable);
        compiled.callable =
            checked(PyObject_CallFunctionObjArgs(wrapped, inner.get(), replaced.get(), nullptr));
      }
      if (has_subclasses_) {
        static PyObject* const wrapped =
            attribute_of("taeda.compiler._capture", "on_plain_tensors");
        const Ref inner(compiled.callable);
        compiled.callable = checked(PyObject_CallOneArg(wrapped, inner.get()));
      }
    }
    if (!guards.shaped.empty()) {
      std::vector<fx::GuardInput> numbers;
      for (const int source : guards.shaped) {
        const auto input = std::find_if(inputs_.begin(), inputs_.end(),
                                        [&](const Input& i) { return i.source == source; });
        const std::string name = sources_.text(source);
        if (input->fake.defined()) {
          for (fx::GuardInput& number : fx::inputs_of(*env_, name, tensor_of(input->example.get())))
            numbers.push_back(std::move(number));
        } else {
          numbers.push_back(
              {name,
               fx::SymExprNode::of(sym_node_of(input->object.get()).get(), *env_).raw_expr()});
        }
      }
      guards.numbers = env_->guard_set(std::move(numbers));
      guards.env = env_;
    }
  } catch (const Break& reason) {
    PyErr_SetString(PyExc_RuntimeError, reason.reason.c_str());
    compiled.is_raised = true;
  } catch (...) {
    translate_exception();
    compiled.is_raised = true;
    Py_CLEAR(compiled.callable);
  }
  return compiled;
}

}  // namespace taeda::python
