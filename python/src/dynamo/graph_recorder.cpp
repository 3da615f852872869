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
#include "python/src/compile/compiled_object.h"
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

bool GraphRecorder::records(PyObject* function_mode) {
  return Py_IS_TYPE(function_mode, mode_type);
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
  const dynamo::StackRoom room;
  static PyObject* const make_mode = attribute_of("taeda.compiler._capture", "make_fake_mode");
  const Ref made(checked(PyObject_CallOneArg(make_mode, is_whole ? Py_True : Py_False)));
  mode_object_ = Ref::share(PyTuple_GetItem(made.get(), 0));
  takes_numbers_ = PyTuple_GetItem(made.get(), 1) == Py_True;
  changing_sources_ = Ref::share(PyTuple_GetItem(made.get(), 2));
  named_logs_ = Ref::share(PyTuple_GetItem(made.get(), 3));
  mode_ = read_fake_mode(mode_object_.get());
  env_ = mode_->options().shape_env;
  mode_->on_write = [this](const Tensor& t) {
    if (records() || num_handlers_ > 0) writes_.emplace_back(mark(), t.storage());
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

bool GraphRecorder::is_leaf(PyObject* tensor) {
  const Tensor& t = tensor_of(tensor);
  if (const auto found = input_of_.find(t.impl()); found != input_of_.end()) {
    const Input& input = inputs_[found->second];
    guards_.tensors[input.guard].is_leaf = autograd::is_leaf(tensor_of(input.real.get()));
  }
  return autograd::is_leaf(t);
}

bool GraphRecorder::set_requires_grad(PyObject* tensor, bool wanted) {
  const Tensor& t = tensor_of(tensor);
  // A rehearsal has leaves of its own, of which no graph knows.
  if (!records() && !tracer_->node_of(t)) {
    autograd::set_requires_grad(t, wanted);
    return true;
  }
  const auto found = input_of_.find(t.impl());
  if (found == input_of_.end() || is_in_rehearsal() || dispatch::num_levels() > 0) return false;
  Input& input = inputs_[found->second];
  const Tensor& real = tensor_of(input.real.get());
  const bool is_plain = is_leaf(tensor) && !real.is_inference() &&
                        autograd::is_differentiable(real.dtype()) && new_data_.empty();
  if (!is_plain || input.given >= 0 || is_of_asked_class(input.real.get()) ||
      has_view_among_inputs(real))
    return false;
  input.is_told = true;
  input.is_used_up |= !tracer_->node_of(input.fake)->users().empty();
  if (!input.is_used_up) {
    input.requires_grad = wanted;
    autograd::set_requires_grad(tensor_of(input.example.get()), wanted);
  }
  autograd::set_requires_grad(input.fake, wanted);
  return true;
}

bool GraphRecorder::is_used_up(const Tensor& t) const {
  const TensorImpl* of = t.impl();
  // A view that was made without recording requires gradients with its base.
  if (of->view_base() && !of->requires_grad_flag() && !autograd::has_node(t)) of = of->view_base();
  const auto found = input_of_.find(of);
  return found != input_of_.end() && inputs_[found->second].is_used_up;
}

// A view requires gradients with its base.
bool GraphRecorder::has_view_among_inputs(const Tensor& real) const {
  return std::any_of(inputs_.begin(), inputs_.end(), [&](const Input& input) {
    return input.fake.defined() && tensor_of(input.real.get()).impl()->view_base() == real.impl();
  });
}

bool GraphRecorder::has_symbolic_sizes(PyObject* tensor) const {
  return tensor_of(tensor).impl()->has_symbolic_sizes();
}

bool GraphRecorder::is_parameter(PyObject* tensor) const {
  PyObject* parameter = parameter_class();
  return parameter &&
         PyType_IsSubtype(class_of(tensor), reinterpret_cast<PyTypeObject*>(parameter));
}

PyTypeObject* GraphRecorder::class_of(PyObject* value) const {
  if (is_symint(value)) return &PyLong_Type;
  if (is_symfloat(value)) return &PyFloat_Type;
  if (is_symbool(value)) return &PyBool_Type;
  const auto input = input_of_.find(tensor_of(value).impl());
  if (input != input_of_.end()) return Py_TYPE(inputs_[input->second].real.get());
  const bool is_own =
      is_subclass(value) || is_wrapper(value) || made_.contains(tensor_of(value).impl());
  return is_own && Py_TYPE(value) != fake_tensor_class ? Py_TYPE(value) : tensor_type;
}

PyObject* GraphRecorder::real_of(PyObject* value, int* source) const {
  if (!is_tensor(value)) return nullptr;
  const auto input = input_of_.find(tensor_of(value).impl());
  if (input == input_of_.end()) return nullptr;
  *source = inputs_[input->second].source;
  return inputs_[input->second].real.get();
}

bool GraphRecorder::is_unchanged(PyObject* tensor) const {
  const TensorImpl* t = tensor_of(tensor).impl();
  const auto input = input_of_.find(t);
  return input != input_of_.end() && inputs_[input->second].version == t->version() &&
         !gets_data_.contains(t) && !new_data_.contains(t);
}

// ---- calls ----

// Python tells what it knows of a module's functions when one of them is met.
void GraphRecorder::learn(PyObject* function) const {
  if (!known_calls().is_new(function)) return;
  const Natively natively;
  known_calls().learn(function);
}

CallKind GraphRecorder::kind_of(PyObject* function) const {
  learn(function);
  const CallKind kind = known_calls().of(function);
  // Handlers run as they are, whatever captures find in them.
  const bool is_entered = num_handlers_ > 0 && KnownCalls::is_disabled(function);
  return kind == CallKind::Unknown && is_entered ? CallKind::Entered : kind;
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
  const Natively natively;
  return known_calls().substitute_of(callable);
}

PyObject* GraphRecorder::function_of(PyObject* callable) const {
  return compiled_function_of(callable);
}

bool GraphRecorder::is_compiled_as_whole(PyObject* callable) const {
  return python::is_compiled_as_whole(callable);
}

void GraphRecorder::record_call(PyObject* function, PyObject* args, PyObject* result) {
  if (records()) record(function, args_of_natively(args), nullptr, result);
}

PyObject* GraphRecorder::call_natively(PyObject* callable, PyObject* args, PyObject* kwargs) {
  const Natively natively;
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
  const Natively natively;
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
  const Natively natively;
  static PyObject* const classes = attribute_of("taeda.compiler._capture", "DATA_DEPENDENT");
  const int is_one = PyObject_IsInstance(exception, classes);
  if (is_one < 0) PyErr_Clear();
  return is_one == 1 || !break_reason_.empty() || asks_for_values(exception);
}

// Tensor.shape.__get__
static bool reads_attribute(PyObject* function) {
  const Ref owner(PyObject_GetAttrString(function, "__self__"));
  if (!owner) PyErr_Clear();
  return owner && Py_IS_TYPE(owner.get(), &PyGetSetDescr_Type);
}

static bool reads_offset(PyObject* function) {
  static PyObject* const method =
      PyObject_GetAttrString(reinterpret_cast<PyObject*>(tensor_type), "storage_offset");
  return function == method;
}

// Functions of the package and reads of attributes that give None do nothing else.
static bool is_of_package(PyObject* function) {
  if (reads_attribute(function)) return true;
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
  struct Given {
    Tensor tensor;
    uint32_t version;
    bool requires_grad;
    SymInt numel;
  };
  std::vector<Given> given;
  bool has_foreign = false, is_used_again = false;
  const char* const used_again = "a tensor whose requires_grad was set between its uses";
  const auto note_version = [&](PyObject* o) {
    const Tensor& t = tensor_of(o);
    has_foreign |= !is_of_graph(t);
    is_used_again |= is_used_up(t);
    if (!new_data_.empty()) use_new_data(t);
    given.push_back({t, t.impl()->version(), autograd::requires_grad(t), t.sym_numel()});
  };
  for_each_tensor(args, note_version);
  if (kwargs) for_each_tensor(kwargs, note_version);
  if (has_foreign) throw Break{"a tensor that is none of the graph's"};
  // What a stand-in tells of itself is no use of the tensor.
  if (is_used_again && !reads_attribute(function)) throw Break{used_again};
  check_detached(function, args);
  const WrittenMemory memory(function, args, kwargs, *mode_);
  const bool asks_handlers = this->asks_handlers(args, kwargs);
  if (asks_handlers) check_attributes(args, kwargs);
  if (is_in_rehearsal() && num_handlers_ == 0) rehearse(args);
  // A leaf that is made inside has no place in the gradients of a graph.
  static PyObject* const leaf = PyUnicode_InternFromString("requires_grad");
  if (records() && kwargs && PyDict_GetItemWithError(kwargs, leaf) == Py_True)
    throw Break{"a tensor that is made with requires_grad=True"};
  // What a call states about numbers must not make a constant of its condition, nor replace numbers
  // that only data tells: they are arguments as they are, so that the run checks them.
  const bool has_effects = may_have_effects(function);
  std::optional<std::vector<fx::Arg>> stated;
  if ((has_effects || is_unbacked(args)) && records()) {
    const Natively natively;
    stated = args_of(args);
  }
  Ref result;
  {
    // What the function does inside is its own.
    const Natively natively;
    const dispatch::ActiveMode active(*mode_);
    const autograd::WithoutSavedTensorHooks unseen;
    result = Ref(asks_handlers ? call_with_handlers(function, args, kwargs)
                               : call_plainly(function, args, kwargs));
  }
  if (!result) {
    error_ = Ref(taeda_take_raised());
    taeda_set_raised(Py_NewRef(error_.get()));
    return nullptr;
  }
  if (result.get() == Py_NotImplemented) return result.release();
  bool is_written = false;
  for (const auto& [t, version, had_gradient, numel] : given) {
    is_written |= t.impl()->version() != version;
    if (t.impl()->version() != version && t.sym_numel() > numel) check_grown(t);
    // detach_: no value of a graph tells.
    if (had_gradient && !autograd::requires_grad(t) && input_of_.contains(t.impl()))
      throw Break{"a tensor of the program that is cut off from its history"};
  }
  for (const auto& [t, version, had_gradient, numel] : given)
    if (t.impl()->version() != version) check_write(t);
  check_own_flags(result.get());
  if (is_written) {
    memory.check_after();
    if (autograd::grad_enabled()) note_histories();
  }
  bool has_tensors = false, has_real = false;
  for_each_tensor(result.get(), [&](PyObject* o) {
    has_tensors = true;
    has_real |= !is_of_graph(tensor_of(o));
  });
  // as_tensor of numbers
  if (has_real && is_tensor(result.get()) && given.empty()) {
    const Natively natively;
    result = Ref(checked(wrap(mode_->from_tensor(tensor_of(result.get())))));
    has_real = false;
  }
  if (has_real) throw Break{"a result that is no tensor of the graph"};
  if (asks_handlers) note_wrappers(result.get());
  if (!starts_with_grad_ && autograd::grad_enabled() && dispatch::num_levels() == 0)
    for_each_tensor(result.get(), [&](PyObject* o) {
      if (!autograd::requires_grad(tensor_of(o))) return;
      if (starts_in_inference_) throw Break{"gradients are switched on where there were none"};
      switches_grad_on_ = true;
    });
  const bool is_unbacked = this->is_unbacked(result.get());
  if (!takes_numbers_ && kind_of(function) != CallKind::Number && is_from_data(result.get()))
    throw Break{"a value that only data tells"};
  if (!has_tensors && !is_written && !is_unbacked) {
    if (reads_offset(function)) note_offset(tensor_of(PyTuple_GET_ITEM(args, 0)));
    const bool is_operator =
        kind_of(reinterpret_cast<PyObject*>(Py_TYPE(function))) == CallKind::Operators;
    if (result.get() != Py_None || (is_of_package(function) && !is_operator))
      return result.release();
    // Operators that give nothing are there for their effect.
    if (!is_operator && !has_effects) throw Break{"a call for its effect"};
  }
  if (is_used_again) throw Break{used_again};
  if (records())
    record(function, stated ? std::move(*stated) : args_of_natively(args), kwargs, result.get(),
           is_hidden(function, args));
  return result.release();
}

// Whether there is a number among the values, or a size of a tensor, of which this holds.
bool GraphRecorder::has_number(PyObject* value, FunctionRef<bool(const fx::Expr*)> is_one) const {
  if (is_symbolic(value))
    return is_one(fx::SymExprNode::of(sym_node_of(value).get(), *env_).raw_expr());
  if (is_tensor(value)) {
    const Tensor& t = tensor_of(value);
    if (!t.impl()->has_symbolic_sizes()) return false;
    for (const SymInt& size : t.sym_sizes())
      if (size.is_symbolic() && is_one(env_->expr(size))) return true;
    return false;
  }
  if (!PyTuple_Check(value) && !PyList_Check(value)) return false;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(value); ++i)
    if (has_number(PySequence_Fast_GET_ITEM(value, i), is_one)) return true;
  return false;
}

bool GraphRecorder::is_unbacked(PyObject* value) const {
  return has_number(value, [](const fx::Expr* e) { return !e->has_hint; });
}

// Sizes that inputs are marked with have a place in every graph, and so have the lengths of their
// slices.
bool GraphRecorder::is_from_data(PyObject* value) const {
  return has_number(value, [&](const fx::Expr* e) {
    const auto symbols = fx::symbols_of(e);
    return std::any_of(symbols.begin(), symbols.end(), [&](const fx::Expr* s) {
      return !s->has_hint && env_->sources(s).empty() && !env_->has_function_of(s);
    });
  });
}

int GraphRecorder::replays_writes(const std::vector<int>& sources) const {
  const Natively natively;
  static PyObject* const ask = attribute_of("taeda.compiler._capture", "replays_writes");
  const Ref names(PyList_New(0));
  for (const int source : sources) {
    const Ref name(PyUnicode_FromString(sources_.text(source).c_str()));
    if (!name || PyList_Append(names.get(), name.get()) < 0) return -1;
  }
  const Ref is_done(PyObject_CallOneArg(ask, names.get()));
  return is_done ? is_done.get() == Py_True : -1;
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
  erase_since(mark);
}

void GraphRecorder::erase_since(size_t mark) {
  for (fx::Node* node : since(mark)) graph_->erase(*node);
  std::erase_if(writes_, [&](const auto& write) { return write.first >= mark; });
  const size_t count = std::erase_if(given_, [&](fx::Node* node) {
    const bool is_needed = !node->users().empty();
    if (!is_needed) graph_->erase(*node);
    return !is_needed;
  });
  if (count > 0) note_sizes();
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
  entry.sharing = dynamo::sharing_of(reals);
}

bool GraphRecorder::tells_inputs() const {
  return std::any_of(inputs_.begin(), inputs_.end(), [](const Input& i) { return i.is_told; });
}

std::vector<int> GraphRecorder::written_inputs() const {
  // Writes that autograd does not count, to statistics of a normalization, are among the noted.
  std::unordered_set<const StorageImpl*> written;
  for (const auto& [place, memory] : writes_) written.insert(memory.get());
  std::vector<int> sources;
  for (const Input& input : inputs_)
    if (input.fake.defined() && (input.fake.impl()->version() != input.version ||
                                 written.contains(input.fake.storage().get())))
      sources.push_back(input.source);
  return sources;
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

// Which results are tensors of inference mode, or are none, unlike what the graph is called in: a
// list of places and flags.
PyObject* GraphRecorder::kinds_of_outputs() const {
  Ref kinds(checked(PyList_New(0)));
  for (size_t i = 0; i < outputs_.size(); ++i) {
    if (!is_tensor(outputs_[i])) continue;
    const Tensor& t = tensor_of(outputs_[i]);
    if (t.is_inference() == starts_in_inference_ || input_of_.contains(t.impl())) continue;
    const Ref kind(checked(Py_BuildValue("(nO)", i, t.is_inference() ? Py_True : Py_False)));
    if (PyList_Append(kinds.get(), kind.get()) < 0) throw_python_error();
  }
  return kinds.release();
}

// Programs traced ahead of time write to their inputs when everything is computed.
static bool writes_last(PyObject* compiled) {
  return is_compiled_graph(compiled) || PyObject_HasAttrString(compiled, "_writes_last");
}

dynamo::Recorder::Compiled GraphRecorder::compile(dynamo::GuardProgram& guards) {
  Compiled compiled;
  const Natively natively;
  const dynamo::StackRoom room;
  try {
    if (mark() > 0 || !outputs_.empty()) {
      std::vector<fx::Arg> results;
      for (PyObject* output : outputs_) results.push_back(arg_of(output));
      const std::vector<Ref> parts = take_inputs_apart();
      graph_->output(fx::Arg::tuple(std::move(results)));
      Ref fakes(checked(PyList_New(0)));
      const Ref replaced(checked(PyList_New(0))), flags(checked(PyList_New(0)));
      std::vector<fx::Node*> placeholders;
      for (fx::Node& node : *graph_)
        if (node.op() == fx::OpCode::Placeholder) placeholders.push_back(&node);
      for (size_t i = 0; i < inputs_.size(); ++i) {
        Input& input = inputs_[i];
        for (; !input.turns.empty() && input.turns.back()->users().empty(); input.turns.pop_back())
          graph_->erase(*input.turns.back());
        // Sizes that are symbols are read from inputs.
        input.is_needed = !input.fake.defined() || input.is_part ||
                          !placeholders[i]->users().empty() ||
                          tensor_of(input.example.get()).impl()->has_symbolic_sizes();
        if (!input.is_needed) {
          graph_->erase(*placeholders[i]);
          continue;
        }
        if (input.fake.defined() && gets_data_.contains(input.fake.impl())) {
          const Ref place(checked(PyLong_FromSize_t(compiled.inputs.size())));
          if (PyList_Append(replaced.get(), place.get()) < 0) throw_python_error();
        }
        if (input.requires_grad) {
          const Ref flag(checked(Py_BuildValue("(nO)", compiled.inputs.size(),
                                               *input.requires_grad ? Py_True : Py_False)));
          if (PyList_Append(flags.get(), flag.get()) < 0) throw_python_error();
        }
        compiled.inputs.push_back(input.given >= 0 ? input.given : input.source);
        if (PyList_Append(fakes.get(), input.example.get()) < 0) throw_python_error();
      }
      std::optional<autograd::GradMode> with_grad;
      if (switches_grad_on_) {
        begin_without_grad();
        compiled.runs_with_grad = true;
        with_grad.emplace(true);
      }
      const Ref graph(wrap_graph_bare(graph_)), placed = parts_by_place(parts);
      const Ref made(checked(PyObject_CallFunctionObjArgs(
          compile_, graph.get(), fakes.get(), bodies_ ? bodies_.get() : Py_None,
          has_handlers_ || needs_objects_ ? Py_True : Py_False, needs_objects_ ? Py_True : Py_False,
          placed.get(), nullptr)));
      PyObject *callable = nullptr, *is_foreign = nullptr;
      if (!PyArg_UnpackTuple(made.get(), "compile", 2, 2, &callable, &is_foreign))
        throw_python_error();
      compiled.callable = Py_NewRef(callable);
      compiled.is_foreign = is_foreign == Py_True;
      if (!writes_last(callable)) compiled.written = undone_inputs();
      if (PyList_GET_SIZE(replaced.get()) > 0) {
        static PyObject* const wrapped = attribute_of("taeda.compiler._new_data", "on_their_data");
        const Ref inner(compiled.callable);
        compiled.callable =
            checked(PyObject_CallFunctionObjArgs(wrapped, inner.get(), replaced.get(), nullptr));
      }
      if (PyList_GET_SIZE(flags.get()) > 0) {
        static PyObject* const wrapped = attribute_of("taeda.compiler._new_data", "with_flags");
        const Ref inner(compiled.callable);
        compiled.callable =
            checked(PyObject_CallFunctionObjArgs(wrapped, inner.get(), flags.get(), nullptr));
      }
      if (const Ref kinds(kinds_of_outputs()); PyList_GET_SIZE(kinds.get()) > 0) {
        static PyObject* const wrapped = attribute_of("taeda.compiler._new_data", "with_kinds");
        const Ref inner(compiled.callable);
        compiled.callable =
            checked(PyObject_CallFunctionObjArgs(wrapped, inner.get(), kinds.get(), nullptr));
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
        const auto input = std::find_if(inputs_.begin(), inputs_.end(), [&](const Input& i) {
          return (i.given >= 0 ? i.given : i.source) == source;
        });
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
