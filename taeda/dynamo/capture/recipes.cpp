// The end of a capture: values of the captured world become steps that make them again from the
// program's objects and the graph's results, and what was written becomes steps that write it.
#include "taeda/dynamo/capture/recipes.h"

#include <algorithm>
#include <iterator>

#include "python/interop/sym_numbers.h"
#include "taeda/autograd/grad_mode.h"

namespace taeda::dynamo {

// The step that makes a value.
int Recipes::value(PyObject* object) {
  if (const auto known = steps_.find(object); known != steps_.end()) return known->second;
  capture_.keep(object);
  // Containers are noted before what they hold, and methods may be made twice; nothing else can
  // be made of itself.
  const bool is_method = PyMethod_Check(object) || PyCFunction_Check(object);
  if (!is_method && !begun_values_.insert(object).second)
    throw Abandoned{std::string("an object of class ") + Py_TYPE(object)->tp_name +
                    " that holds itself lives on behind a break"};
  const int made = make(object);
  begun_values_.erase(object);
  if (begun_values_.empty()) fill_cells();
  return made;
}

// Tensors of the program get their data first: calls behind the graph ask them.
void Recipes::data() {
  static PyObject* const data_name = PyUnicode_InternFromString("data");
  static PyObject* const set = imported("builtins", "setattr");
  for (const auto& [tensor, data] : capture_.data_) {
    const int target = value(tensor), name = value(data_name), part = value(data.get());
    add({.kind = Action::Kind::Call, .parts = {target, name, part}, .object = set});
  }
}

// Iterators of the program go where the region left them, before what they go through is written
// to: some refuse to go on then.
void Recipes::taken() {
  static PyObject* const advance = imported("taeda.compiler._capture", "advance");
  for (const Capture::Taken& one : capture_.taken_) {
    Owned number(need(PyLong_FromLong(one.count)));
    const int target = value(one.iterator), count = constant(number.get());
    add({.kind = Action::Kind::Call, .parts = {target, count}, .object = advance});
  }
}

// Warnings, which the filters of the region's beginning are for.
void Recipes::warnings() {
  entry_.warns = !capture_.deferred_.empty();
  for (const Capture::Deferred& told : capture_.deferred_) {
    Action call{.kind = Action::Kind::Call, .object = told.callable};
    for (const Owned& part : told.constants)
      call.parts.push_back(add({.kind = Action::Kind::Constant, .object = part.get()}));
    add(std::move(call));
  }
}

// Writes to objects of the program, in the order in which they were first looked into; false with
// an error where there must be none.
bool Recipes::writes() {
  using Kind = Action::Kind;
  const size_t first = entry_.actions.size();
  const auto steps = steps_;
  for (size_t i = 0; i < capture_.twins_.size(); ++i) write(*capture_.twins_[i]);
  std::vector<std::pair<int, PyObject*>> cells;
  for (auto& [object, outside] : capture_.outside_)
    if (outside.is_written) cells.emplace_back(outside.source, object);
  std::sort(cells.begin(), cells.end());
  for (const auto& [source, object] : cells) {
    PyObject* contents = capture_.find(object)->contents.get();
    const int target = path(source);
    written_.push_back(source);
    if (contents == nullptr) {
      add({.kind = Kind::EmptyCell, .target = target});
    } else {
      const int part = value(contents);
      add({.kind = Kind::WriteCell, .target = target, .parts = {part}});
    }
  }
  if (!written_.empty()) {
    const int is_replayed = capture_.recorder_.replays_writes(written_);
    if (is_replayed < 0) return false;
    if (is_replayed == 0) {
      entry_.actions.resize(first);
      steps_ = steps;
      for (const size_t early : early_writes_)
        if (early < first) entry_.actions[early] = {.kind = Kind::Constant, .object = Py_None};
    }
  }
  entry_.draws = capture_.draws_;
  entry_.remembered = capture_.remembered_;
  for (const RememberedCall& call : entry_.remembered)
    for (PyObject* part : {call.callable, call.args, call.kwargs})
      if (part != nullptr) entry_.kept.emplace_back(Py_NewRef(part));
  for (const Draw& draw : entry_.draws)
    for (PyObject* part : {draw.name, draw.args}) entry_.kept.emplace_back(Py_NewRef(part));
  for (const Capture::Effect& effect : capture_.effects_) value(effect.result.get());
  for (const auto& [tensor, grad] : capture_.grads_) {
    const int target = value(tensor), part = value(grad.get());
    add({.kind = Kind::WriteGrad, .target = target, .parts = {part}});
  }
  if (!capture_.members_.empty()) capture_.check_all_distinct(capture_.slotted_);
  for (const auto& [place, written] : capture_.members_) {
    const int target = value(place.first), name = value(place.second);
    Action write{.kind = Kind::WriteMember, .target = target, .parts = {name}};
    if (written) write.parts.push_back(value(written.get()));
    add(std::move(write));
  }
  for (const auto& [tensor, wanted] : capture_.requires_grad_) {
    const int target = value(tensor);
    add({.kind = Kind::RequireGrad, .target = target, .number = wanted});
  }
  class_writes();
  capture_.check_all_distinct(capture_.identities_);
  entry_.modes_after = Modes::now();
  if (entry_.modes_after != capture_.modes_) add({.kind = Kind::SetModes});
  return true;
}

void Recipes::class_writes() {
  static PyObject* const setattr = imported("builtins", "setattr");
  static PyObject* const delattr = imported("builtins", "delattr");
  for (const Capture::ClassWrite& write : capture_.class_writes_) {
    if (!write.value && PyDict_Contains(write.type->tp_dict, write.name) == 0) continue;
    const int target = value(reinterpret_cast<PyObject*>(write.type)), name = value(write.name);
    Action call{.kind = Action::Kind::Call,
                .parts = {target, name},
                .object = write.value ? setattr : delattr};
    if (write.value) call.parts.push_back(value(write.value.get()));
    add(std::move(call));
  }
}

// A handler that began before the region ended in it, or the other way round: of the latter the
// exception is the capture's own.
void Recipes::handled(PyObject* exception) {
  if (exception == capture_.exception_state_) return;
  if (exception == nullptr) exception = Py_None;
  if (exception != Py_None && capture_.find(exception) == nullptr) {
    const auto raised = capture_.raised_at_.find(exception);
    throw Abandoned{"a break inside of a handler of exceptions",
                    raised == capture_.raised_at_.end() ? Abandoned::kNowhere : raised->second};
  }
  const int part = value(exception);
  add({.kind = Action::Kind::SetHandled, .parts = {part}});
}

// Function modes that the program began and did not end.
void Recipes::function_modes() {
  const Overrides now = capture_.recorder_.overrides();
  if (now.state != capture_.overrides_.state)
    throw Abandoned{"a break where classes of tensors are not asked"};
  static PyObject* const push = imported("taeda._C", "_push_on_torch_function_stack");
  for (PyObject* mode : now.modes) {
    const int part = value(mode);
    add({.kind = Action::Kind::Call, .parts = {part}, .object = push});
  }
}

// Note [Classes of the capture]
void Recipes::check_class(PyObject* object) const {
  if (!capture_.made_classes_.contains(object)) return;
  const auto made = capture_.made_at_.find(object);
  throw Abandoned{"a class that the program made lives on behind a break",
                  made == capture_.made_at_.end() ? Abandoned::kNowhere : made->second};
}

int Recipes::path(int source) {
  for (int part = source; part >= 0; part = capture_.sources_[part].parent)
    if (capture_.sources_[part].step == Step::Pinned) check_class(capture_.sources_[part].key);
  return add({.kind = Action::Kind::Path, .number = source});
}

int Recipes::add(Action action) {
  check_class(action.object);
  if (action.object != nullptr) entry_.kept.emplace_back(Py_NewRef(action.object));
  entry_.actions.push_back(std::move(action));
  return static_cast<int>(entry_.actions.size()) - 1;
}

int Recipes::constant(PyObject* object) {
  return note(object, add({.kind = Action::Kind::Constant, .object = object}));
}

// Writes to a container of the program, once.
void Recipes::write(Capture::Twin& twin) {
  if (!begun_.insert(&twin).second) return;
  const size_t before = entry_.actions.size();
  write_twin(twin);
  if (entry_.actions.size() == before) return;
  check_alone(twin);
  written_.push_back(twin.source);
}

// An iterator is made of what the region left of its container: a place behind the end of the
// former one is none, and writes to a dict end the loops over it.
void Recipes::write_first(PyObject* container) {
  Capture::Twin* twin = capture_.twin_of(container);
  if (twin == nullptr) return;
  const size_t before = entry_.actions.size();
  write(*twin);
  for (size_t i = before; i < entry_.actions.size(); ++i)
    if (is_write(entry_.actions[i])) early_writes_.push_back(i);
}

bool Recipes::is_constant(PyObject* object) {
  return (is_immutable(object) && !PySlice_Check(object)) || PyType_Check(object) ||
         PyModule_Check(object) || is_native_function(object);
}

int Recipes::make(PyObject* object) {
  using Kind = Action::Kind;
  if (const auto caller = capture_.callers_.find(object); caller != capture_.callers_.end())
    return note(object, value(caller->second));
  if (const Capture::Outside* outside = capture_.find(object))
    return outside->source < 0 ? effect(object) : note(object, path(outside->source));
  if (capture_.recorder_.is_value(object)) return output(object);
  if (PyLong_CheckExact(object) && capture_.is_address(object)) return address(object);
  if (PyCFunction_Check(object)) return native_method(object);
  if (is_constant(object)) return constant(object);
  if (PyTuple_Check(object)) return tuple(object);
  if (PyList_CheckExact(object)) {
    const int made = note(object, add({.kind = Kind::List}));
    Action fill{.kind = Kind::FillList, .target = made};
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(object); ++i)
      fill.parts.push_back(value(PyList_GET_ITEM(object, i)));
    add(std::move(fill));
    return made;
  }
  if (PyDict_CheckExact(object) || PyODict_CheckExact(object)) {
    Action dict{.kind = Kind::Dict};
    if (PyODict_Check(object)) dict.object = reinterpret_cast<PyObject*>(&PyODict_Type);
    const int made = note(object, add(std::move(dict)));
    fill_dict(Kind::FillDict, made, object);
    if (PyODict_Check(object)) fill_attributes(made, object);
    return made;
  }
  if (PyAnySet_CheckExact(object)) {
    const bool is_frozen = PyFrozenSet_CheckExact(object);
    Action fill{.kind = is_frozen ? Kind::FrozenSet : Kind::FillSet};
    if (!is_frozen) fill.target = note(object, add({.kind = Kind::Set}));
    Owned items(need(PySequence_Tuple(object)));
    capture_.keep(items.get());
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); ++i)
      fill.parts.push_back(value(PyTuple_GET_ITEM(items.get(), i)));
    const int target = fill.target;
    const int step = add(std::move(fill));
    return is_frozen ? note(object, step) : target;
  }
  if (PySlice_Check(object)) {
    const auto* slice = reinterpret_cast<PySliceObject*>(object);
    Action action{.kind = Kind::Slice,
                  .parts = {value(slice->start), value(slice->stop), value(slice->step)}};
    return note(object, add(std::move(action)));
  }
  if (PyCell_Check(object)) {
    const int made = note(object, add({.kind = Kind::Cell}));
    if (PyCell_GET(object) != nullptr) cells_.push_back(object);
    return made;
  }
  if (PyMethod_Check(object)) {
    const int function = value(PyMethod_GET_FUNCTION(object));
    const int self = value(PyMethod_GET_SELF(object));
    return note(object, add({.kind = Kind::Method, .parts = {function, self}}));
  }
  if (PyFunction_Check(object)) return function(object);
  return other(object);
}

// Behind the functions that share the cells, which may hold these functions.
void Recipes::fill_cells() {
  while (!cells_.empty()) {
    PyObject* cell = cells_.back();
    cells_.pop_back();
    const int part = value(PyCell_GET(cell));
    add({.kind = Action::Kind::FillCell, .target = steps_.at(cell), .parts = {part}});
  }
}

// Of the object that the run makes or has in place of the one of the capture.
int Recipes::address(PyObject* number) {
  static PyObject* const id = imported("builtins", "id");
  const int part = value(capture_.object_at(number));
  return note(number, add({.kind = Action::Kind::Call, .parts = {part}, .object = id}));
}

// A tensor of a level that is over is no value of a graph: it is remembered with its history, as
// the functions of vjp and linearize do.
void Recipes::check_levels(PyObject* object) const {
  const uint64_t level = capture_.recorder_.first_level_of(object);
  if (level == 0) return;
  const auto next = capture_.transforms_began_at_.upper_bound(level);
  const bool is_known = next != capture_.transforms_began_at_.begin();
  throw Abandoned{"a tensor of a function transform lives on behind a break",
                  is_known ? std::prev(next)->second : Abandoned::kNowhere};
}

// A result of the graph, with the attributes that the program gave it.
int Recipes::output(PyObject* object) {
  check_levels(object);
  int made = add({.kind = Action::Kind::Output, .number = capture_.recorder_.output(object)});
  // The graph's object has them.
  if (capture_.recorder_.is_wrapper(object)) {
    note(object, made);
    const auto own = capture_.own_parts_.find(object);
    if (own != capture_.own_parts_.end())
      fill_dict(Action::Kind::FillInstance, made, own->second.get());
    return made;
  }
  if (capture_.recorder_.gets_class(object)) {
    static PyObject* const as_subclass =
        PyObject_GetAttrString(imported("taeda._C", "Tensor"), "as_subclass");
    const int type = constant(reinterpret_cast<PyObject*>(capture_.recorder_.class_of(object)));
    made = add({.kind = Action::Kind::Call, .parts = {made, type}, .object = as_subclass});
  }
  note(object, made);
  if (capture_.recorder_.is_tensor_value(object)) fill_attributes(made, object);
  return made;
}

bool Recipes::is_write(const Action& action) {
  using Kind = Action::Kind;
  static PyObject* const set = imported("operator", "setitem");
  return action.kind == Kind::WriteList || action.kind == Kind::WriteSet ||
         action.kind == Kind::WriteItem || action.kind == Kind::DeleteItem ||
         (action.kind == Kind::Call && (action.object == set || action.object == list_append()));
}

// What is written to is none of the other objects that were read.
void Recipes::check_alone(const Capture::Twin& written) {
  for (const auto& other : capture_.twins_) {
    if (other->original == written.original ||
        Py_TYPE(other->original) != Py_TYPE(written.original))
      continue;
    capture_.check_pair(Check::Kind::Distinct, written.source, other->source);
  }
}

void Recipes::write_twin(Capture::Twin& twin) {
  using Kind = Action::Kind;
  PyObject* own = capture_.stand_ins_.at(twin.original);
  if (PyList_Check(own) || Py_IS_TYPE(own, deque_type())) {
    if (!twin.is_open) return append_unseen(twin);
    Owned items(need(items_in_order(own)));
    if (has_items(items.get(), twin.snapshot)) return;
    capture_.keep(items.get());
    if (!PyList_Check(own) && twin.snapshot.size() == size_t(PyTuple_GET_SIZE(items.get())))
      return write_deque(twin, items.get());
    Action write{.kind = Kind::WriteList, .target = path(twin.source)};
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); ++i)
      write.parts.push_back(value(PyTuple_GET_ITEM(items.get(), i)));
    add(std::move(write));
    return;
  }
  if (PySet_Check(own)) {
    if (!twin.is_open) return;
    bool is_same = PySet_GET_SIZE(own) == static_cast<Py_ssize_t>(twin.snapshot.size());
    for (size_t i = 0; is_same && i < twin.snapshot.size(); ++i)
      is_same = PySet_Contains(own, twin.snapshot[i]) == 1;
    if (is_same) return;
    Action write{.kind = Kind::WriteSet, .target = path(twin.source)};
    Owned items(need(items_in_order(own)));
    capture_.keep(items.get());
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); ++i)
      write.parts.push_back(value(PyTuple_GET_ITEM(items.get(), i)));
    add(std::move(write));
    return;
  }
  write_dict(twin, own);
}

void Recipes::append_unseen(const Capture::Twin& twin) {
  if (twin.added.empty()) return;
  const int target = path(twin.source);
  for (const Owned& item : twin.added) {
    const int part = value(item.get());
    add({.kind = Action::Kind::Call, .parts = {target, part}, .object = list_append()});
  }
}

// Item by item: a loop over the deque goes on, as behind writes to its items.
void Recipes::write_deque(const Capture::Twin& twin, PyObject* items) {
  static PyObject* const set = imported("operator", "setitem");
  const int target = path(twin.source);
  for (size_t i = 0; i < twin.snapshot.size(); ++i) {
    PyObject* item = PyTuple_GET_ITEM(items, i);
    if (item == twin.snapshot[i]) continue;
    Owned place(need(PyLong_FromSize_t(i)));
    const int at = constant(place.get()), part = value(item);
    add({.kind = Action::Kind::Call, .parts = {target, at, part}, .object = set});
  }
}

bool Recipes::has_items(PyObject* tuple, const std::vector<PyObject*>& items) {
  PyObject* const* begin = PySequence_Fast_ITEMS(tuple);
  return std::equal(items.begin(), items.end(), begin, begin + PyTuple_GET_SIZE(tuple));
}

// Keys that are gone or moved, then keys whose values are others, in the order of the dict.
void Recipes::write_dict(Capture::Twin& twin, PyObject* own) {
  using Kind = Action::Kind;
  const SessionScope natively(nullptr);  // keys may have a hash of their own
  int target = -1;
  const auto to = [&] { return target >= 0 ? target : target = path(twin.source); };
  Owned keys = keys_of(own);
  capture_.keep(keys.get());
  const bool is_moved = !Capture::keeps_order(twin, own, keys.get());
  const auto is_new = [&](PyObject* key) {
    return is_moved || PySet_Contains(twin.deleted.get(), key) != 0;
  };
  Py_ssize_t position = 0;
  PyObject *key, *item;
  while (PyDict_Next(twin.seen.get(), &position, &key, &item)) {
    if (PyDict_Contains(own, key) != 0 && !is_new(key)) continue;
    const int part = value(key);
    add({.kind = Kind::DeleteItem, .target = to(), .parts = {part}});
  }
  // Those that were written without being read, and then deleted, one by one or by C.
  Owned written = twin.is_open ? Capture::keys_at_first(twin)
                               : Owned(need(PySequence_Tuple(twin.deleted.get())));
  capture_.keep(written.get());
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(written.get()); ++i) {
    key = PyTuple_GET_ITEM(written.get(), i);
    if (PyDict_Contains(twin.seen.get(), key) != 0 || !capture_.contains_at_first(twin, key) ||
        (PyDict_Contains(own, key) != 0 && !is_new(key)))
      continue;
    const int part = value(key);
    add({.kind = Kind::DeleteItem, .target = to(), .parts = {part}});
  }
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(keys.get()); ++i) {
    key = PyTuple_GET_ITEM(keys.get(), i);
    item = need(PyDict_GetItemWithError(own, key));
    if (PyDict_GetItemWithError(twin.seen.get(), key) == item && !is_new(key)) continue;
    const int name = value(key), part = value(item);
    add({.kind = Kind::WriteItem, .target = to(), .parts = {name, part}});
  }
}

bool Capture::write_recipes(Entry& entry, PyObject* value,
                            const std::vector<const State*>* frames) {
  Recipes recipes(*this, entry);
  recipes.data();
  recipes.taken();
  if (value != nullptr) {
    entry.result = recipes.value(value);
  } else {
    for (const State* state : *frames) {
      FrameRecipe recipe;
      recipe.code = state->code->object;
      entry.kept.emplace_back(Py_NewRef(reinterpret_cast<PyObject*>(recipe.code)));
      auto* function = reinterpret_cast<PyObject*>(taeda_frame_function(state->frame));
      const Frame& frame = frames_.at(state->frame);
      if (frame.number >= 0) {
        const int source = sources_.function(frame.number, num_frames_);
        entry.actions.push_back({.kind = Action::Kind::Path, .number = source});
        recipe.function = static_cast<int>(entry.actions.size()) - 1;
      } else {
        recipe.function = recipes.value(function);
      }
      for (PyObject** slot = state->slots; slot < state->top; ++slot) {
        const size_t i = slot - state->slots;
        if (i < frame.is_unread.size() && frame.is_unread[i]) {
          const int source = sources_.local(frame.number, static_cast<int>(i), nullptr);
          recipe.slots.push_back(FrameRecipe::untouched(source));
        } else if (*slot == nullptr) {
          recipe.slots.push_back(-1);
        } else {
          recipe.slots.push_back(recipes.value(*slot));
        }
      }
      recipe.now = state->now;
      recipe.next = state->next;
      entry.frames.push_back(std::move(recipe));
    }
  }
  recipes.warnings();
  if (!recipes.writes()) return false;
  recipes.handled(PyThreadState_Get()->exc_info->exc_value);
  recipes.function_modes();
  return true;
}

}  // namespace taeda::dynamo
