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
#include "python/src/dynamo/known_calls.h"
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
#include "taeda/dynamo/evaluator/code.h"
#include "taeda/dynamo/evaluator/session.h"
#include "taeda/fx/input_history.h"
#include "taeda/fx/passes/dead_code.h"
#include "taeda/fx/shapes/sym_expr_node.h"

namespace taeda::python {

using dynamo::Break;
using dynamo::CallKind;

namespace {

const char* text_or_empty(PyObject* o) {
  const char* text = o && PyUnicode_Check(o) ? PyUnicode_AsUTF8(o) : nullptr;
  if (!text) PyErr_Clear();
  return text ? text : "";
}

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
                             History& history, Dynamic dynamic, PyObject* compile, bool is_whole)
    : sources_(sources),
      guards_(guards),
      history_(history),
      dynamic_(dynamic),
      compile_(compile),
      graph_(make_intrusive<fx::Graph>()),
      tracer_(make_intrusive<fx::Tracer>(graph_)) {
  static PyObject* const make_mode = attribute_of("taeda.compiler._capture", "make_fake_mode");
  const Ref made(checked(PyObject_CallOneArg(make_mode, is_whole ? Py_True : Py_False)));
  mode_object_ = Ref::share(PyTuple_GetItem(made.get(), 0));
  takes_numbers_ = PyTuple_GetItem(made.get(), 1) == Py_True;
  changing_sources_ = Ref::share(PyTuple_GetItem(made.get(), 2));
  named_logs_ = Ref::share(PyTuple_GetItem(made.get(), 3));
  mode_ = read_fake_mode(mode_object_.get());
  env_ = mode_->options().shape_env;
  mode_->on_write = [this](const Tensor& t) {
    if (!rehearsal_) writes_.emplace_back(mark(), t.storage());
  };
  function_mode_ = Ref(checked(mode_type->tp_alloc(mode_type, 0)));
  reinterpret_cast<ModeObject*>(function_mode_.get())->recorder = this;
  static PyObject* const constants = attribute_of("taeda.compiler._capture", "constant_numbers");
  const Ref are_constants(checked(PyObject_CallNoArgs(constants)));
  has_constant_ints_ = PyTuple_GetItem(are_constants.get(), 0) == Py_True;
  has_constant_floats_ = PyTuple_GetItem(are_constants.get(), 1) == Py_True;
  push_function_mode(function_mode_.get());
}

GraphRecorder::~GraphRecorder() {
  reinterpret_cast<ModeObject*>(function_mode_.get())->recorder = nullptr;
  pop_function_mode();
  mode_->on_write = nullptr;
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

bool GraphRecorder::has_symbolic_sizes(PyObject* tensor) const {
  return tensor_of(tensor).impl()->has_symbolic_sizes();
}

bool GraphRecorder::is_parameter(PyObject* tensor) const {
  return reinterpret_cast<PyObject*>(class_of(tensor)) == parameter_class();
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

// Python tells what it knows of a module's functions when one of them is met.
void GraphRecorder::learn(PyObject* function) const {
  if (!known_calls().is_new(function)) return;
  const Natively natively(*this);
  known_calls().learn(function);
}

CallKind GraphRecorder::kind_of(PyObject* function) const {
  learn(function);
  return known_calls().of(function);
}

bool GraphRecorder::has_named_logs() const { return PyDict_GET_SIZE(named_logs_.get()) > 0; }

CallKind GraphRecorder::named_log_kind_of(PyObject* function) const {
  PyObject* kind = PyDict_GetItemWithError(named_logs_.get(), function);
  if (kind == nullptr && PyErr_Occurred()) throw dynamo::Raised{};
  return kind == nullptr ? CallKind::Unknown : static_cast<CallKind>(PyLong_AsLong(kind));
}

PyObject* GraphRecorder::substitute_of(PyObject* callable) const {
  learn(callable);
  if (!known_calls().is_substituted(callable)) return nullptr;
  const Natively natively(*this);
  return known_calls().substitute_of(callable);
}

PyObject* GraphRecorder::function_of(PyObject* callable) const {
  return compiled_function_of(callable);
}

void GraphRecorder::record_call(PyObject* function, PyObject* args, PyObject* result) {
  record(function, args_of_natively(args), nullptr, result);
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

bool GraphRecorder::check_signals() {
  if (!taeda_has_pending(PyThreadState_Get())) return true;
  const Natively natively(*this);
  return PyErr_CheckSignals() == 0;
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
  std::optional<std::vector<fx::Arg>> stated;
  if (has_effects && !rehearsal_) {
    const Natively natively(*this);
    stated = args_of(args);
  }
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
  if (!starts_with_grad_ && autograd::grad_enabled() && dispatch::num_levels() == 0)
    for_each_tensor(result.get(), [&](PyObject* o) {
      if (!autograd::requires_grad(tensor_of(o))) return;
      if (starts_in_inference_) throw Break{"gradients are switched on where there were none"};
      switches_grad_on_ = true;
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
  if (!rehearsal_)
    record(function, stated ? std::move(*stated) : args_of_natively(args), kwargs, result.get());
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

// Instances of frozen data classes are made by the graph, of their fields. Null for other objects.
fx::Node* GraphRecorder::node_of_fields(PyObject* value) {
  static PyObject* const params_name = PyUnicode_InternFromString("__dataclass_params__");
  PyObject* type = reinterpret_cast<PyObject*>(Py_TYPE(value));
  PyObject* params = _PyType_Lookup(Py_TYPE(value), params_name);
  const Ref is_frozen(params ? checked(PyObject_GetAttrString(params, "frozen")) : nullptr);
  if (is_frozen.get() != Py_True) return nullptr;
  const Natively natively(*this);
  const Ref fields(attribute_of("dataclasses", "fields"));
  const Ref all(checked(PyObject_CallOneArg(fields.get(), value)));
  fx::Kwargs given;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(all.get()); ++i) {
    PyObject* field = PyTuple_GET_ITEM(all.get(), i);
    const Ref is_given(checked(PyObject_GetAttrString(field, "init")));
    if (is_given.get() != Py_True) continue;
    const Ref name(checked(PyObject_GetAttrString(field, "name")));
    const Ref item(checked(PyObject_GetAttr(value, name.get())));
    given.emplace_back(text_or_empty(name.get()), arg_of(item.get()));
  }
  const fx::Target target = read_target(fx::OpCode::CallFunction, type);
  return &graph_->create(fx::OpCode::CallFunction, target, {}, std::move(given),
                         name_for_target(target));
}

// Without objects of Python for nodes: their classes are needed by those alone who look at a graph.
std::vector<fx::Arg> GraphRecorder::args_of(PyObject* sequence) {
  std::vector<fx::Arg> args;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(sequence); ++i)
    args.push_back(arg_of(PySequence_Fast_GET_ITEM(sequence, i)));
  return args;
}

std::vector<fx::Arg> GraphRecorder::args_of_natively(PyObject* sequence) {
  const Natively natively(*this);
  return args_of(sequence);
}

namespace {

// Functions, classes and operators have a name where the graph's code uses them.
bool is_named_in_code(PyObject* callable) {
  return PyType_Check(callable) || PyFunction_Check(callable) ||
         PyObject_HasAttrString(callable, "_schema");
}

}  // namespace

// The argument of a node: the same structure with nodes for tensors and symbolic numbers.
fx::Arg GraphRecorder::arg_of(PyObject* value) {
  using fx::Arg;
  using fx::Compound;
  if (const auto level = levels_.find(value); level != levels_.end()) return Arg(*level->second);
  if (name_of_body_.contains(value)) return Arg(node_of_body(value));
  if (is_tensor(value)) {
    fx::Node* node = tracer_->node_of(tensor_of(value));
    if (!node) throw Break{"a tensor that is none of the graph's"};
    return Arg(*node);
  }
  if (is_symbolic(value)) {
    const auto& node = sym_node_of(value);
    return is_symint(value) ? tracer_->arg_of(dispatch::Value(SymInt(node)))
                            : tracer_->arg_of(dispatch::Value(node));
  }
  if (PyList_Check(value) || PyTuple_Check(value)) {
    const auto kind = PyList_Check(value) ? Compound::Kind::List : Compound::Kind::Tuple;
    return Arg(make_intrusive<Compound>(kind, args_of(value)));
  }
  if (PyDict_Check(value)) {
    std::vector<fx::Value> keys;
    std::vector<Arg> items;
    Py_ssize_t position = 0;
    PyObject *key, *item;
    while (PyDict_Next(value, &position, &key, &item)) {
      keys.push_back(read_any(key));
      items.push_back(arg_of(item));
    }
    return Arg(make_intrusive<Compound>(Compound::Kind::Dict, std::move(items), std::move(keys)));
  }
  if (PySlice_Check(value)) {
    const auto* slice = reinterpret_cast<PySliceObject*>(value);
    return Arg(make_intrusive<Compound>(
        Compound::Kind::Slice,
        std::vector<Arg>{arg_of(slice->start), arg_of(slice->stop), arg_of(slice->step)}));
  }
  if (const Ref plain = plain_constant(value)) return read_arg(plain.get());
  if (dynamo::is_immutable(value)) return read_arg(value);
  if (fx::Node* made = node_of_fields(value)) return Arg(*made);
  if (!PyCallable_Check(value))
    throw Break{str("an argument of class ", Py_TYPE(value)->tp_name, " in a graph")};
  if (is_named_in_code(value)) return read_arg(value);
  add_body(value, str("callable_", name_of_body_.size()));
  return Arg(node_of_body(value));
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
fx::Node& GraphRecorder::create(PyObject* function, std::vector<fx::Arg> args, PyObject* kwargs) {
  fx::Kwargs named;
  Py_ssize_t position = 0;
  PyObject *key, *item;
  while (kwargs && PyDict_Next(kwargs, &position, &key, &item))
    named.emplace_back(text_or_empty(key), arg_of(item));
  const auto make = [&](fx::OpCode op, PyObject* target) -> fx::Node& {
    const fx::Target read = read_target(op, target);
    return graph_->create(op, read, std::move(args), std::move(named), name_for_target(read));
  };
  if (Py_IS_TYPE(function, &PyMethodDescr_Type) || Py_IS_TYPE(function, &PyWrapperDescr_Type)) {
    const Ref name(checked(PyObject_GetAttrString(function, "__name__")));
    bool is_swapped = false;
    if (PyObject* found = operator_of(text_or_empty(name.get()), is_swapped)) {
      if (is_swapped) args = {args.at(1), args.at(0)};
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
    args = {args.at(0), read_arg(name.get())};
    named.clear();
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
  auto* fields = reinterpret_cast<PyCodeObject*>(code.get());
  auto* object = reinterpret_cast<PyFrameObject*>(frame.get());
  const dynamo::Code* known = dynamo::decoded(fields);
  if (!known) PyErr_Clear();
  const int at = PyFrame_GetLasti(object);
  const int line = known && at >= 0 ? known->line_of(at / 2) : PyFrame_GetLineNumber(object);
  return str("  File \"", text_or_empty(fields->co_filename), "\", line ", line, ", in ",
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

void GraphRecorder::record(PyObject* function, std::vector<fx::Arg> args, PyObject* kwargs,
                           PyObject* result) {
  const Natively natively(*this);
  fx::Node& node = create(function, std::move(args), kwargs);
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
  fx::Node& node = create(function, args_of(args), nullptr);
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
  std::erase_if(writes_, [&](const auto& write) { return write.first >= mark; });
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
  // Writes that autograd does not count, to statistics of a normalization, are among the noted.
  std::unordered_set<const StorageImpl*> written;
  for (const auto& [place, memory] : writes_) written.insert(memory.get());
  return std::any_of(inputs_.begin(), inputs_.end(), [&](const Input& input) {
    return input.fake.defined() && (input.fake.impl()->version() != input.version ||
                                    written.contains(input.fake.storage().get()));
  });
}

// A graph that begins without gradients and has some later: it is called with gradients, and
// switches them off itself.
void GraphRecorder::begin_without_grad() {
  static PyObject* const set = attribute_of("taeda._C", "_set_grad_enabled");
  fx::Node* first = graph_->first();
  while (first->op() == fx::OpCode::Placeholder) first = first->next();
  const fx::InsertBefore here(*graph_, *first);
  create(set, {read_arg(Py_False)}, nullptr);
}

dynamo::Recorder::Compiled GraphRecorder::compile(dynamo::GuardProgram& guards) {
  Compiled compiled;
  const Natively natively(*this);
  try {
    if (mark() > 0 || !outputs_.empty()) {
      std::vector<fx::Arg> results;
      for (PyObject* output : outputs_) results.push_back(arg_of(output));
      graph_->output(fx::Arg::tuple(std::move(results)));
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
      std::optional<autograd::GradMode> with_grad;
      if (switches_grad_on_) {
        begin_without_grad();
        compiled.runs_with_grad = true;
        with_grad.emplace(true);
      }
      const Ref graph(wrap_graph_bare(graph_));
      const Ref made(checked(PyObject_CallFunctionObjArgs(
          compile_, graph.get(), fakes.get(), bodies_ ? bodies_.get() : Py_None, nullptr)));
      PyObject *callable = nullptr, *is_foreign = nullptr;
      if (!PyArg_UnpackTuple(made.get(), "compile", 2, 2, &callable, &is_foreign))
        throw_python_error();
      compiled.callable = Py_NewRef(callable);
      compiled.is_foreign = is_foreign == Py_True;
      if (PyList_GET_SIZE(replaced.get()) > 0) {
        static PyObject* const wrapped = attribute_of("taeda.compiler._new_data", "on_their_data");
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
