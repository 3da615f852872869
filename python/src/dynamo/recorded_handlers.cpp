// Classes with __torch_dispatch__: what their handlers answer, and their objects in a graph.
//
// Note [Handlers of operators]: a call that such a class answers is one node, and the handler runs
// whenever the graph does. What it answers is known all the same: the capture evaluates it on the
// stand-ins of its arguments, with the tensors inside them as stand-ins, too. The operator goes
// through the dispatcher as at a run, so that the handler gets what autograd, autocast and
// composites leave; in place of the handler's own call comes the evaluation. It makes no nodes, its
// guards stay, and what it writes is forgotten: the run's handler writes it again. The result is an
// object of its class with attributes. A tensor among these becomes a node, which reads it off the
// run's object, when the program asks for it.
#include <algorithm>
#include <utility>

#include "python/interop/wrap.h"
#include "python/src/dispatch/handler_call.h"
#include "python/src/dynamo/recorder_parts.h"
#include "python/src/fx/fx_types.h"
#include "taeda/autograd/variable.h"
#include "taeda/base/str.h"
#include "taeda/dispatch/levels.h"
#include "taeda/dispatch/modes.h"
#include "taeda/dynamo/capture/errors.h"
#include "taeda/fx/fake.h"

namespace taeda::python {

using dynamo::Break;

namespace {

// What is inside of the levels of function transforms.
Tensor below_levels(PyObject* tensor) {
  Tensor t = tensor_of(tensor);
  while (const dispatch::LevelWrapper* wrapper = dispatch::wrapper_of(t))
    t = Tensor(wrapper->value);
  return t;
}

// A tensor whose object's class has a handler.
bool has_handler(const Tensor& t) {
  const auto* object = static_cast<PyObject*>(t.impl()->python_object());
  PyTypeObject* type = object ? Py_TYPE(object) : nullptr;
  return type && type != tensor_type && type != fake_tensor_class && class_dispatches(type);
}

bool are_handlers_enabled() {
  const bool is_on = dispatch::set_python_key_enabled(true);
  dispatch::set_python_key_enabled(is_on);
  return is_on;
}

template <class Visit>
void for_each_argument(PyObject* args, PyObject* kwargs, const Visit& visit) {
  for_each_tensor(args, visit);
  if (kwargs) for_each_tensor(kwargs, visit);
}

}  // namespace

// For a scope stand-ins of such objects go to their handlers, or none of them does. They do not
// otherwise: what a capture asks of them is its own business.
class GraphRecorder::Asking {
 public:
  Asking(PyObject* args, PyObject* kwargs, bool asks)
      : was_enabled_(dispatch::set_python_key_enabled(true)) {
    for_each_argument(args, kwargs, [&](PyObject* o) {
      const Tensor t = below_levels(o);
      if (!has_handler(t)) return;
      changed_.emplace_back(t, t.keys().has(Key::Python));
      set(t, asks);
    });
  }
  ~Asking() {
    for (auto it = changed_.rbegin(); it != changed_.rend(); ++it) set(it->first, it->second);
    dispatch::set_python_key_enabled(was_enabled_);
  }
  Asking(const Asking&) = delete;
  // What a handler gave goes on to the rest of the call.
  void add(PyObject* result) {
    for_each_tensor(result, [&](PyObject* o) {
      const Tensor t = below_levels(o);
      if (!has_handler(t)) return;
      changed_.emplace_back(t, false);
      set(t, true);
    });
  }

 private:
  static void set(const Tensor& t, bool asks) {
    const KeySet key(Key::Python);
    t.impl()->set_keys(asks ? t.keys() | key : t.keys() - key);
  }
  std::vector<std::pair<Tensor, bool>> changed_;
  bool was_enabled_;
};

bool GraphRecorder::asks_handlers(PyObject* args, PyObject* kwargs) {
  bool found = false;
  for_each_argument(args, kwargs, [&](PyObject* o) { found |= has_handler(below_levels(o)); });
  return found && are_handlers_enabled();
}

// Attributes that the program gave to other tensors are written behind the graph.
void GraphRecorder::check_attributes(PyObject* args, PyObject* kwargs) const {
  for_each_argument(args, kwargs, [&](PyObject* o) {
    if (written_.contains(tensor_of(o).impl()))
      throw Break{"a call of a class with __torch_dispatch__ behind a write to its object"};
  });
}

PyObject* GraphRecorder::call_with_handlers(PyObject* function, PyObject* args, PyObject* kwargs) {
  struct Taker final : HandlerTaker {
    Taker(GraphRecorder& recorder, Asking& asking)
        : recorder(recorder),
          asking(asking),
          former(std::exchange(handler_taker, this)),
          outer(std::exchange(recorder.asking_, &asking)) {}
    ~Taker() override {
      handler_taker = former;
      recorder.asking_ = outer;
    }
    PyObject* take(PyTypeObject* type, PyObject* rule, PyObject* given) override {
      struct Scope {
        GraphRecorder& recorder;
        HandlerTaker* taker = std::exchange(handler_taker, nullptr);
        bool was_aside = std::exchange(recorder.is_aside_, false);
        explicit Scope(GraphRecorder& r) : recorder(r) {
          ++recorder.num_handlers_;
          push_function_mode(recorder.function_mode_.get());
        }
        ~Scope() {
          pop_function_mode();
          --recorder.num_handlers_;
          recorder.is_aside_ = was_aside;
          handler_taker = taker;
        }
      };
      PyObject* result = nullptr;
      {
        const Scope scope(recorder);
        result = recorder.handlers_->ask(type, rule, given);
      }
      if (result) asking.add(result);
      return result;
    }
    GraphRecorder& recorder;
    Asking& asking;
    HandlerTaker* former;
    Asking* outer;
  };
  if (!handlers_) throw Break{"a handler of operators"};
  Ref result;
  {
    Asking asking(args, kwargs, /*asks=*/true);
    const Taker taker(*this, asking);
    result = Ref(PyObject_Call(function, args, kwargs));
  }
  if (const std::string reason = handlers_->take_break(); !reason.empty()) {
    PyErr_Clear();
    throw Break{reason + ", in a __torch_dispatch__"};
  }
  if (!result) return nullptr;
  has_handlers_ |= records();
  return result.release();
}

// A handler may switch handlers off for the calls that it makes.
PyObject* GraphRecorder::call_plainly(PyObject* function, PyObject* args, PyObject* kwargs) {
  if (num_handlers_ == 0) return PyObject_Call(function, args, kwargs);
  const Asking asking(args, kwargs, /*asks=*/false);
  return PyObject_Call(function, args, kwargs);
}

// The sources of inputs whose memory a run keeps in case that it fails. A wrapper is what is inside
// of it, which is among them, as long as its handlers wrote to nothing else.
std::vector<int> GraphRecorder::undone_inputs() {
  std::vector<int> sources = written_inputs();
  if (!handlers_ || handlers_->have_written()) return sources;
  std::erase_if(sources, [&](int source) {
    PyObject* real = real_at(source);
    return class_dispatches(Py_TYPE(real)) && dispatch::has_no_memory(tensor_of(real));
  });
  return sources;
}

// Note [Wrappers taken apart]: a backend of the package compiles a graph of the tensors inside, see
// taeda/compiler/_inner_tensors.py. What a wrapper of the program is made of is asked of its class,
// as its handlers are: names of attributes and a context, with guards on what tells them, and the
// tensors as inputs. By input: what take_apart in taeda/compiler/_wrappers.py gives, or null for
// one that is no wrapper. Empty where there is none, or one cannot be taken apart.
std::vector<Ref> GraphRecorder::take_inputs_apart() {
  static PyObject* const take_apart = attribute_of("taeda.compiler._wrappers", "take_apart");
  const bool is_asked = handlers_ && (has_handlers_ || needs_objects_);
  if (!is_asked || handlers_->have_written()) return {};
  const Ref wanted(checked(PyObject_CallMethod(compile_, "takes_apart", nullptr)));
  if (wanted.get() != Py_True) return {};
  std::vector<Ref> parts;
  const auto note = [&](const auto& self, PyObject* tree) -> bool {
    PyObject* inner = PyTuple_GET_ITEM(tree, 3);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(inner); ++i) {
      PyObject* part = PyTuple_GET_ITEM(inner, i);
      if (PyTuple_Check(part)) {
        if (!self(self, part)) return false;
        continue;
      }
      const auto input = is_tensor(part) ? input_of_.find(tensor_of(part).impl()) : input_of_.end();
      if (input == input_of_.end()) return false;
      inputs_[input->second].is_part = true;
    }
    return true;
  };
  bool is_whole = true;
  // What is inside becomes an input here.
  for (size_t i = 0; i < inputs_.size() && is_whole; ++i) {
    parts.emplace_back();
    if (!inputs_[i].fake.defined() || !class_dispatches(Py_TYPE(inputs_[i].real.get()))) continue;
    const Ref given(checked(PyTuple_Pack(1, inputs_[i].object.get())));
    ++num_handlers_;  // calls are no nodes
    parts[i] = Ref(handlers_->evaluate(take_apart, given.get()));
    --num_handlers_;
    if (!parts[i]) PyErr_Clear();
    handlers_->take_break();
    is_whole = parts[i] && PyTuple_Check(parts[i].get()) && note(note, parts[i].get());
  }
  if (is_whole) return parts;
  for (Input& input : inputs_) input.is_part = false;
  return {};
}

// By input of the graph: the program's object, the same with numbers of such inputs in place of
// tensors, or None, and whether calls write to it. A list; None without any.
Ref GraphRecorder::parts_by_place(const std::vector<Ref>& parts) const {
  if (parts.empty()) return Ref::share(Py_None);
  Ref list(checked(PyList_New(0)));
  const std::vector<int> written = written_inputs();
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (!inputs_[i].is_needed) continue;
    const bool is_apart = i < parts.size() && parts[i];
    const Ref tree = is_apart ? placed_parts(parts[i].get()) : Ref::share(Py_None);
    PyObject* real = inputs_[i].real ? inputs_[i].real.get() : Py_None;
    const bool is_written = std::ranges::count(written, inputs_[i].source) != 0;
    const Ref item(checked(PyTuple_Pack(3, real, tree.get(), is_written ? Py_True : Py_False)));
    if (PyList_Append(list.get(), item.get()) < 0) throw_python_error();
  }
  return list;
}

Ref GraphRecorder::placed_parts(PyObject* tree) const {
  PyObject* inner = PyTuple_GET_ITEM(tree, 3);
  Ref placed(checked(PyTuple_New(PyTuple_GET_SIZE(inner))));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(inner); ++i) {
    PyObject* part = PyTuple_GET_ITEM(inner, i);
    if (PyTuple_Check(part)) {
      PyTuple_SET_ITEM(placed.get(), i, placed_parts(part).release());
      continue;
    }
    const auto last = inputs_.begin() + static_cast<long>(input_of_.at(tensor_of(part).impl()));
    const auto place =
        std::count_if(inputs_.begin(), last, [](const Input& input) { return input.is_needed; });
    PyTuple_SET_ITEM(placed.get(), i, checked(PyLong_FromSsize_t(place)));
  }
  return Ref(checked(PyTuple_Pack(6, PyTuple_GET_ITEM(tree, 0), PyTuple_GET_ITEM(tree, 1),
                                  PyTuple_GET_ITEM(tree, 2), placed.get(),
                                  PyTuple_GET_ITEM(tree, 4), PyTuple_GET_ITEM(tree, 5))));
}

bool GraphRecorder::is_wrapper(PyObject* value) const {
  return !wrappers_.empty() && is_tensor(value) && wrappers_.contains(tensor_of(value).impl());
}

void GraphRecorder::note_wrappers(PyObject* result) {
  for_each_tensor(result, [&](PyObject* o) {
    const Tensor t = below_levels(o);
    if (!has_handler(t) || input_of_.contains(t.impl())) return;
    if (wrappers_.insert(t.impl()).second) kept_.push_back(Ref(checked(wrap(t))));
  });
}

PyObject* GraphRecorder::make_wrapper(PyObject* function, PyObject* args, PyObject* kwargs) {
  const Natively natively;
  const Ref real(PyObject_Call(function, args, kwargs));
  if (!real) return nullptr;
  const Tensor& t = tensor_of(real.get());
  if (const auto* extra = t.impl()->extra_or_null(); extra && extra->read_from_class != 0)
    throw Break{"a tensor whose class tells its sizes"};
  Tensor fake = mode_->from_tensor(t);
  if (autograd::requires_grad(t)) {
    if (records()) throw Break{"a tensor that is made with requires_grad=True"};
    autograd::set_requires_grad(fake, true);
  }
  Ref made(checked(tensor_object(Py_TYPE(real.get()), fake)));
  note_made_wrapper(made.get());
  if (records()) {
    static PyObject* const make = attribute_of("taeda.compiler._wrappers", "make_wrapper");
    record(make, args_of(args), kwargs, made.get());
  }
  return made.release();
}

// An object that a handler or the program made just now.
void GraphRecorder::note_made_wrapper(PyObject* made) {
  const Tensor& fake = tensor_of(made);
  if (num_handlers_ > 0) {
    asking_->add(made);  // the handler has it as it is at a run
  } else {
    fake.impl()->set_keys(fake.keys() - KeySet(Key::Python));
    needs_objects_ = true;
  }
  wrappers_.insert(fake.impl());
  kept_.push_back(Ref::share(made));
}

void GraphRecorder::note_part(PyObject* wrapper, PyObject* name, PyObject* part) {
  const Natively natively;
  if (!records() || tracer_->node_of(tensor_of(part))) return;
  static PyObject* const getattr = attribute_of("builtins", "getattr");
  fx::Node* owner = tracer_->node_of(tensor_of(wrapper));
  if (!owner) throw Break{"a tensor that is none of the graph's"};
  record(getattr, {fx::Arg(*owner), read_arg(name)}, nullptr, part);
  needs_objects_ = true;
}

void GraphRecorder::set_part(PyObject* wrapper, PyObject* name, PyObject* value, bool is_object) {
  const Natively natively;
  if (!records()) return;
  static PyObject* const set = attribute_of("builtins", "setattr");
  static PyObject* const remove = attribute_of("builtins", "delattr");
  fx::Node* owner = tracer_->node_of(tensor_of(wrapper));
  if (!owner) throw Break{"a tensor that is none of the graph's"};
  std::vector<fx::Arg> args{fx::Arg(*owner), read_arg(name)};
  if (is_object && !name_of_body_.contains(value))
    add_body(value, str("object_", name_of_body_.size()));
  if (value) args.push_back(arg_of(value));
  record(value ? set : remove, std::move(args), nullptr, Py_None);
  needs_objects_ = true;
}

}  // namespace taeda::python
