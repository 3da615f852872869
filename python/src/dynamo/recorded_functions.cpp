// Functions that calls of a graph take: rehearsals of autograd Functions, and bodies that become
// graphs of their own.
#include <algorithm>
#include <functional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "python/interop/sym_numbers.h"
#include "python/interop/wrap.h"
#include "python/src/dispatch/handler_call.h"
#include "python/src/dynamo/recorder_parts.h"
#include "python/src/fx/fx_regions.h"
#include "python/src/fx/fx_types.h"
#include "taeda/autograd/variable.h"
#include "taeda/base/str.h"
#include "taeda/dispatch/levels.h"
#include "taeda/dynamo/capture/errors.h"
#include "taeda/fx/shapes/sym_expr_node.h"
#include "taeda/ops/functions.h"

namespace taeda::python {

using dynamo::Break;

namespace {

void for_each_node(const fx::Arg& arg, const std::function<void(fx::Node&)>& visit) {
  if (arg.is_node()) visit(*arg.node());
  if (arg.is_node() || !arg.has_nodes()) return;
  for (const fx::Arg& item : arg.compound()->items) for_each_node(item, visit);
}

void for_each_input(const fx::Node& node, const std::function<void(fx::Node&)>& visit) {
  for (const fx::Arg& arg : node.args()) for_each_node(arg, visit);
  for (const auto& [name, arg] : node.kwargs()) for_each_node(arg, visit);
}

}  // namespace

void GraphRecorder::begin_rehearsal(PyObject* args) {
  const size_t mark = this->mark();
  Rehearsal& rehearsal = rehearsals_.emplace_back();
  rehearsal.mark = mark;
  rehearsal.args = Ref::share(args);
  needs_objects_ |= asks_handlers(args, nullptr);
  for_each_tensor(args, [&](PyObject* o) {
    rehearsal.known.insert(tracer_->node_of(tensor_of(o)));
    const auto input = input_of_.find(tensor_of(o).impl());
    if (input == input_of_.end()) return;
    const Input& given = inputs_[input->second];
    if (class_dispatches(Py_TYPE(given.real.get()))) rehearsal.wrappers.insert(given.source);
  });
  const auto expr_of = [&](PyObject* number) {
    return fx::SymExprNode::of(sym_node_of(number).get(), *env_).raw_expr();
  };
  for (const Input& input : inputs_)
    if (!input.fake.defined()) rehearsal.foreign.insert(expr_of(input.object.get()));
  for_each_leaf(args, [&](PyObject* arg) {
    if (!is_symbolic(arg)) return;
    for (const fx::Expr* symbol : fx::symbols_of(expr_of(arg))) rehearsal.foreign.erase(symbol);
  });
}

namespace {

bool has_level(dispatch::LevelKind kind) {
  const auto& levels = dispatch::dispatch_detail::levels();
  return std::any_of(levels.begin(), levels.end(), [&](const auto& l) { return l.kind == kind; });
}

// Whether a Function has a static method of its own.
bool has_own(PyObject* function, const char* name) {
  static PyObject* const base = attribute_of("taeda.autograd.function", "Function");
  const Ref text(checked(PyUnicode_InternFromString(name)));
  return _PyType_Lookup(reinterpret_cast<PyTypeObject*>(function), text.get()) !=
         _PyType_Lookup(reinterpret_cast<PyTypeObject*>(base), text.get());
}

}  // namespace

PyObject* GraphRecorder::begin_plain_rehearsal(PyObject* function, PyObject* args) {
  // Forward and backward are rehearsed, and no more.
  if (has_level(dispatch::LevelKind::Jvp))
    throw Break{"an autograd Function inside of forward-mode transforms"};
  if (has_level(dispatch::LevelKind::Vmap) && has_own(function, "vmap"))
    throw Break{"an autograd Function with a rule of its own for vmap"};
  const Py_ssize_t count = PyTuple_GET_SIZE(args);
  std::vector<Tensor> looks(static_cast<size_t>(count));
  for (Py_ssize_t i = 0; i < count; ++i)
    if (PyObject* arg = PyTuple_GET_ITEM(args, i); is_tensor(arg))
      looks[static_cast<size_t>(i)] = tensor_of(arg);
  begin_rehearsal(args);
  rehearsal().outside.emplace();
  rehearsal().recording.emplace(true);
  Ref plain(checked(PyTuple_New(count)));
  for (Py_ssize_t i = 0; i < count; ++i) {
    const Tensor& look = looks[static_cast<size_t>(i)];
    PyObject* made = nullptr;
    if (look.defined()) {
      const dispatch::ActiveMode active(*mode_);
      Tensor own = taeda::empty(look.sym_sizes(), look.dtype(), Layout::Strided, look.device());
      if (autograd::is_differentiable(own.dtype())) autograd::set_requires_grad(own, true);
      made = checked(wrap(own));
    } else {
      made = Py_NewRef(PyTuple_GET_ITEM(args, i));
    }
    PyTuple_SET_ITEM(plain.get(), i, made);
  }
  rehearsal().args = Ref::share(plain.get());
  return plain.release();
}

bool GraphRecorder::end_rehearsal() {
  const bool is_closed = rehearsal().is_closed;
  erase_since(rehearsal().mark);
  rehearsals_.pop_back();
  return is_closed;
}

void GraphRecorder::begin_body() {
  if (is_in_rehearsal()) ++rehearsal().num_bodies;
}

void GraphRecorder::end_body() {
  if (is_in_rehearsal()) --rehearsal().num_bodies;
}

// The node of a tensor; null for one that is none of the graph's.
fx::Node* GraphRecorder::node_of_tensor(PyObject* tensor) {
  const Tensor& t = tensor_of(tensor);
  fx::Node* node = tracer_->node_of(t);
  if (node || !is_in_rehearsal() || !fx::is_fake(t)) return node;
  node = &tracer_->add_input(unique_name("given"), t);
  given_.push_back(node);
  rehearsal().known.insert(node);
  kept_.push_back(Ref::share(tensor));
  return node;
}

// Whether a tensor of the program lies in a wrapper that the rehearsed function is given.
bool GraphRecorder::is_in_argument(const Tensor& t) const {
  const auto input = input_of_.find(t.impl());
  if (input == input_of_.end()) return false;
  const std::unordered_set<int>& wrappers = rehearsals_.back().wrappers;
  int owner = inputs_[input->second].source;
  while (owner >= 0 && !wrappers.contains(owner)) owner = sources_[owner].parent;
  return owner >= 0;
}

// What a call of a rehearsal takes.
void GraphRecorder::rehearse(PyObject* args) {
  for_each_tensor(args, [&](PyObject* o) {
    const fx::Node* node = tracer_->node_of(tensor_of(o));
    if (node && !rehearsal().known.contains(node) && !is_in_argument(tensor_of(o)))
      rehearsal().is_closed = false;
  });
  PyObject* const* items = PySequence_Fast_ITEMS(args);
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(args); ++i) {
    if (PyTuple_Check(items[i]) || PyList_Check(items[i])) rehearse(items[i]);
    if (!is_symbolic(items[i])) continue;
    const fx::Expr* e = fx::SymExprNode::of(sym_node_of(items[i]).get(), *env_).raw_expr();
    for (const fx::Expr* symbol : fx::symbols_of(e))
      if (rehearsal().foreign.contains(symbol)) rehearsal().is_closed = false;
  }
}

bool GraphRecorder::run_backward(PyObject* results) {
  static PyObject* const run = attribute_of("taeda._C", "_run_backward");
  Ref roots(checked(PyList_New(0))), wanted(checked(PyList_New(0))), seeds(checked(PyList_New(0)));
  const auto add = [](const Ref& list, PyObject* item) {
    if (PyList_Append(list.get(), item) < 0) throw_python_error();
  };
  {
    const Natively natively;
    const dispatch::ActiveMode active(*mode_);
    static PyObject* const ones = attribute_of("taeda", "ones_like");
    for_each_tensor(results, [&](PyObject* o) {
      if (!autograd::requires_grad(tensor_of(o))) return;
      add(roots, o);
      add(seeds, Ref(checked(PyObject_CallOneArg(ones, o))).get());
    });
  }
  for_each_tensor(rehearsal().args.get(), [&](PyObject* o) {
    if (autograd::requires_grad(tensor_of(o))) add(wanted, o);
  });
  if (PyList_GET_SIZE(roots.get()) == 0 || PyList_GET_SIZE(wanted.get()) == 0) return true;
  const Ref given(checked(PyList_AsTuple(roots.get()))), seed(checked(PyList_AsTuple(seeds.get()))),
      inputs(checked(PyList_AsTuple(wanted.get())));
  // Gradients of zero have sizes alone to go by.
  const dispatch::ActiveMode active(*mode_);
  const Ref gradients(PyObject_CallFunctionObjArgs(run, given.get(), seed.get(), Py_True, Py_False,
                                                   inputs.get(), Py_True, Py_False, nullptr));
  return static_cast<bool>(gradients);
}

size_t GraphRecorder::num_levels() const { return dispatch::num_levels(); }

uint64_t GraphRecorder::innermost_level() const { return dispatch::top_level().id; }

uint64_t GraphRecorder::first_level_of(PyObject* value) const {
  if (!is_tensor(value)) return 0;
  uint64_t first = 0;
  Tensor t = tensor_of(value);
  while (const dispatch::LevelWrapper* wrapper = dispatch::wrapper_of(t)) {
    if (first == 0 || wrapper->level < first) first = wrapper->level;
    t = Tensor(wrapper->value);
  }
  return first;
}

bool GraphRecorder::is_in_transform(PyObject* args) const {
  bool is_wrapped = dispatch::num_levels() > 0;
  for_each_tensor(args, [&](PyObject* o) { is_wrapped |= !!dispatch::wrapper_of(tensor_of(o)); });
  return is_wrapped;
}

void GraphRecorder::add_body(PyObject* callable, const std::string& name) {
  if (!bodies_) bodies_ = Ref(checked(PyDict_New()));
  if (PyDict_SetItemString(bodies_.get(), name.c_str(), callable) < 0) throw_python_error();
  name_of_body_[callable] = name;
}

fx::Node& GraphRecorder::node_of_body(PyObject* callable) {
  const std::string& name = name_of_body_.at(callable);
  return graph_->create(fx::OpCode::GetAttr, fx::Target(name), {}, {}, name);
}

PyObject* GraphRecorder::written_since(size_t mark, PyObject* taken) {
  std::unordered_map<const StorageImpl*, bool> is_given;  // by memory that was written to
  for (const auto& [place, memory] : writes_)
    if (place >= mark) is_given[memory.get()] = false;
  const Ref places(checked(PyList_New(0)));
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(taken); ++i) {
    PyObject* value = PyList_GET_ITEM(taken, i);
    if (!is_tensor(value)) continue;
    const auto written = is_given.find(tensor_of(value).storage().get());
    if (written == is_given.end()) continue;
    if (std::exchange(written->second, true))
      throw Break{"a function that writes to memory that several of its tensors share"};
    const Ref place(checked(PyLong_FromSsize_t(i)));
    if (PyList_Append(places.get(), place.get()) < 0) throw_python_error();
  }
  // The function's call writes in their place.
  std::erase_if(writes_, [&](const auto& write) { return write.first >= mark; });
  return checked(PyList_AsTuple(places.get()));
}

// Numbers that erased nodes read are read anew, off tensors that are still there.
void GraphRecorder::note_sizes() {
  const auto note = [&](PyObject* o) {
    const Tensor& t = tensor_of(o);
    fx::Node* node = t.impl()->has_symbolic_sizes() ? tracer_->node_of(t) : nullptr;
    if (node && !node->is_erased()) tracer_->track(t, *node);
  };
  for (const Input& input : inputs_)
    if (input.fake.defined()) note(input.object.get());
  for (const Ref& kept : kept_) for_each_tensor(kept.get(), note);
}

// (graph module, what it takes, result, what it writes to): the nodes since the mark, with their
// outside as inputs.
PyObject* GraphRecorder::cut(size_t mark, PyObject* result) {
  const Natively natively;
  auto body = make_intrusive<fx::Graph>();
  std::unordered_map<const fx::Node*, fx::Node*> own;
  std::vector<fx::Node*> nodes = since(mark);
  const std::unordered_set<const fx::Node*> inside(nodes.begin(), nodes.end());
  Ref taken(checked(PyList_New(0)));
  // What stands for nodes in the captured program.
  std::unordered_map<const fx::Node*, PyObject*> objects;
  const auto note_object = [&](PyObject* o) { objects[tracer_->node_of(tensor_of(o))] = o; };
  for (const Ref& kept : kept_) for_each_tensor(kept.get(), note_object);
  for (const Input& input : inputs_) {
    PyObject* o = input.object.get();
    if (input.fake.defined())
      note_object(o);
    else
      objects[node_of_number(o)] = o;
  }
  const auto take = [&](fx::Node& input) {
    if (inside.contains(&input) || own.contains(&input)) return;
    if (input.op() == fx::OpCode::GetAttr) {
      own[&input] = &fx::copy_node(input, *body, [](fx::Node&) { return fx::Arg(); });
      return;
    }
    const auto object = objects.find(&input);
    const dispatch::Value val = input.val();
    Ref given;
    if (object != objects.end())
      given = Ref::share(object->second);
    else if (val.is<SymInt>())
      given = Ref(checked(wrap(val.get<SymInt>())));
    else if (val.is<IntrusivePtr<SymNode>>())
      given = Ref(checked(wrap_node(val.get<IntrusivePtr<SymNode>>())));
    else
      throw Break{"a function that takes a part of a result"};
    own[&input] = &body->placeholder(input.name());
    own[&input]->set_val(val);
    if (!given || PyList_Append(taken.get(), given.get()) < 0) throw_python_error();
  };
  const Ref results(checked(PyList_New(0)));
  for_each_tensor(result, [&](PyObject* o) {
    if (PyList_Append(results.get(), o) < 0) throw_python_error();
  });
  // Inputs come first.
  for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) for_each_input(**node, take);
  for_each_tensor(results.get(), [&](PyObject* o) {
    fx::Node* node = node_of_tensor(o);
    if (!node) throw Break{"a tensor that is none of the graph's"};
    take(*node);
  });
  const Ref written(written_since(mark, taken.get()));
  const auto mapped = [&](fx::Node& node) { return fx::Arg(*own.at(&node)); };
  for (auto node = nodes.rbegin(); node != nodes.rend(); ++node)
    own[*node] = &fx::copy_node(**node, *body, mapped);
  std::vector<fx::Arg> outputs;
  for_each_tensor(results.get(),
                  [&](PyObject* o) { outputs.push_back(mapped(*tracer_->node_of(tensor_of(o)))); });
  body->output(fx::Arg::tuple(std::move(outputs)));
  for (fx::Node* node : nodes) graph_->erase(*node);
  note_sizes();
  if (!bodies_) bodies_ = Ref(checked(PyDict_New()));
  static PyObject* const make = attribute_of("taeda.compiler._capture", "make_body");
  const Ref graph(wrap_graph(body));
  const Ref module(
      checked(PyObject_CallFunctionObjArgs(make, graph.get(), bodies_.get(), nullptr)));
  // An equal function that was cut before stands for this one, too.
  if (!name_of_body_.contains(module.get()))
    add_body(module.get(), str("body_", name_of_body_.size()));
  return checked(PyTuple_Pack(4, module.get(), taken.get(), result, written.get()));
}

}  // namespace taeda::python
