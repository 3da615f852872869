// Nodes of a recorded graph: calls and their arguments as the graph writes them, with the lines of
// the program that they come from.
#include <algorithm>
#include <cstring>
#include <vector>

#include "python/interop/errors.h"
#include "python/interop/sym_numbers.h"
#include "python/interop/tensor_object.h"
#include "python/src/dynamo/recorder_parts.h"
#include "python/src/fx/fx_types.h"
#include "taeda/base/str.h"
#include "taeda/dynamo/capture/capture.h"
#include "taeda/dynamo/capture/errors.h"
#include "taeda/dynamo/evaluator/code.h"

namespace taeda::python {

using dynamo::Break;

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
  const Natively natively;
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
  const Natively natively;
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
  if (const auto level = named_.find(value); level != named_.end()) return Arg(*level->second);
  if (name_of_body_.contains(value)) return Arg(node_of_body(value));
  if (is_tensor(value)) {
    fx::Node* node = node_of_tensor(value);
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

// Whether the class of an input has something of its own by the name of a method of tensors. The
// program's code behind it is in the graph already.
bool GraphRecorder::is_hidden(PyObject* function, PyObject* args) const {
  const bool is_method =
      Py_IS_TYPE(function, &PyMethodDescr_Type) || Py_IS_TYPE(function, &PyWrapperDescr_Type);
  if (!is_method) return false;
  PyObject* name = PyDescr_NAME(function);
  bool is_one = false;
  for_each_tensor(args, [&](PyObject* o) {
    const bool is_own = Py_TYPE(o) != tensor_type && Py_TYPE(o) != fake_tensor_class &&
                        (is_wrapper(o) || input_of_.contains(tensor_of(o).impl()));
    is_one |= is_own && _PyType_Lookup(Py_TYPE(o), name) != _PyType_Lookup(tensor_type, name);
  });
  return is_one;
}

// Methods are called by name, operators are those of `operator`, attributes are read by getattr;
// `by_class`: methods are those of plain tensors.
fx::Node& GraphRecorder::create(PyObject* function, std::vector<fx::Arg> args, PyObject* kwargs,
                                bool by_class) {
  fx::Kwargs named;
  Py_ssize_t position = 0;
  PyObject *key, *item;
  while (kwargs && PyDict_Next(kwargs, &position, &key, &item))
    named.emplace_back(text_or_empty(key), arg_of(item));
  const auto make = [&](fx::OpCode op, PyObject* target) -> fx::Node& {
    const fx::Target read = read_target(op, target);
    return graph_->create(op, read, std::move(args), std::move(named), name_for_target(read));
  };
  const bool is_method =
      Py_IS_TYPE(function, &PyMethodDescr_Type) || Py_IS_TYPE(function, &PyWrapperDescr_Type);
  if (is_method && !by_class) {
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
  std::vector<std::string> lines;
  std::string innermost;
  bool is_captured = true;
  Ref frame = Ref::share(object(PyEval_GetFrame()));
  while (frame && (is_captured || lines.empty())) {
    const Ref code = code_of(frame);
    const char* file = text_or_empty(reinterpret_cast<PyCodeObject*>(code.get())->co_filename);
    if (innermost.empty()) innermost = line_of(frame, code);
    if (std::strncmp(file, package.c_str(), package.size()) != 0)
      lines.push_back(line_of(frame, code));
    is_captured = is_captured && frame.get() != object(outermost_);
    frame = back_of(frame);
  }
  if (lines.empty()) return innermost;
  std::string all = std::move(lines.back());
  for (auto line = lines.rbegin() + 1; line != lines.rend(); ++line) (all += '\n') += *line;
  return all;
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
                           PyObject* result, bool by_class) {
  const Natively natively;
  fx::Node& node = create(function, std::move(args), kwargs, by_class);
  node.set_meta_value("stack_trace", dispatch::Value(user_lines()));
  kept_.push_back(Ref::share(result));
  // Results that stood for something before stand for it still: writes in place.
  if (is_tensor(result)) {
    const Tensor& t = tensor_of(result);
    node.set_val(dispatch::Value(t));
    if (!tracer_->node_of(t)) tracer_->track(t, node);
  } else if (PyCapsule_CheckExact(result)) {
    named_[result] = &node;
  } else {
    const dispatch::Value results = results_of(result);
    if (is_symbolic(result)) node.set_val(results);
    tracer_->track_results(node, results);
  }
  if (is_in_rehearsal())
    for_each_tensor(result,
                    [&](PyObject* o) { rehearsal().known.insert(tracer_->node_of(tensor_of(o))); });
}

void GraphRecorder::note(PyObject* function, PyObject* args, PyObject* result) {
  if (!records()) return;
  const Natively natively;
  fx::Node& node = create(function, args_of(args), nullptr);
  // Levels have other numbers at other runs.
  constexpr long kSmallest = 1 << 10;
  if (!PyLong_CheckExact(result) || PyLong_AsLong(result) < kSmallest) return;
  kept_.push_back(Ref::share(result));
  named_[result] = &node;
}

}  // namespace taeda::python
