#include "taeda/dynamo/capture/entry.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "python/interop/tensor_object.h"
#include "taeda/autograd/autocast.h"
#include "taeda/autograd/forward.h"
#include "taeda/autograd/grad_level.h"
#include "taeda/autograd/grad_mode.h"
#include "taeda/autograd/saved_hooks.h"
#include "taeda/autograd/variable.h"
#include "taeda/base/small_vector.h"
#include "taeda/core/determinism.h"
#include "taeda/dispatch/levels.h"
#include "taeda/fx/common_memory.h"
#include "taeda/ops/attention/forms.h"

namespace taeda::dynamo {

bool& fails_at_breaks() {
  thread_local bool is_set = false;
  return is_set;
}

Modes Modes::now() {
  return {autograd::grad_enabled(),
          is_inference_mode(),
          {autocast::is_enabled(DeviceType::CPU), autocast::is_enabled(DeviceType::CUDA)},
          autocast::is_cache_enabled(),
          {taeda::determinism().is_required, taeda::determinism().is_warning_enough,
           taeda::determinism().fills_memory},
          attention::enabled_forms(),
          taeda::default_dtype(),
          {autocast::dtype_of(DeviceType::CPU), autocast::dtype_of(DeviceType::CUDA)},
          taeda::default_device(),
          autocast::region_depth(),
          dispatch::num_levels(),
          autograd::current_dual_level(),
          autograd::saved_tensor_hooks_disabled(),
          dynamo::fails_at_breaks()};
}

void Modes::restore() const {
  if (*this == now()) return;
  dynamo::fails_at_breaks() = fails_at_breaks;
  while (dispatch::num_levels() > num_levels) autograd::exit_level(dispatch::top_level().id);
  while (autograd::current_dual_level() > dual_level)
    autograd::exit_dual_level(autograd::current_dual_level());
  set_inference_mode(is_inference);
  autograd::set_grad_enabled(has_grad);
  for (const auto& [i, device] : {std::pair(0, DeviceType::CPU), std::pair(1, DeviceType::CUDA)}) {
    autocast::set_enabled(device, casts[i]);
    autocast::set_dtype(device, cast_dtypes[i]);
  }
  autocast::set_cache_enabled(caches_casts);
  while (autocast::region_depth() < cast_depth) autocast::enter_region();
  while (autocast::region_depth() > cast_depth) autocast::leave_region();
  // What was cast inside may be a stand-in.
  autocast::clear_cache();
  if (saved_hooks_refusal.empty()) {
    autograd::enable_saved_tensor_hooks();
  } else {
    autograd::disable_saved_tensor_hooks(saved_hooks_refusal);
  }
  taeda::determinism().is_required = determinism[0];
  taeda::determinism().is_warning_enough = determinism[1];
  taeda::determinism().fills_memory = determinism[2];
  attention::set_enabled_forms(attention_forms);
  set_default_dtype(default_dtype);
  set_default_device(default_device);
}

fx::Sharing sharing_of(const std::vector<PyObject*>& inputs) {
  std::vector<const StorageImpl*> storages;
  storages.reserve(inputs.size());
  for (PyObject* input : inputs)
    storages.push_back(input != nullptr && python::is_tensor(input) &&
                               python::tensor_of(input).defined()
                           ? python::tensor_of(input).storage().get()
                           : nullptr);
  if (!fx::have_common_memory(storages)) return {};
  std::vector<dispatch::Value> values;
  for (PyObject* input : inputs)
    values.push_back(input != nullptr && python::is_tensor(input)
                         ? dispatch::Value(python::tensor_of(input))
                         : dispatch::Value());
  return fx::Sharing(values);
}

bool Entry::takes(PyObject* const* const* slots, std::vector<PyObject*>& values,
                  std::vector<Owned>& held, std::string* reason) const {
  if (checks_modes && !(modes == Modes::now())) {
    if (reason != nullptr)
      *reason = "grad mode, autocast, determinism, forms of attention or default dtype differ";
    return false;
  }
  if (warns && are_warnings_errors()) {
    if (reason != nullptr) *reason = "warnings are errors";
    return false;
  }
  if (!guards.run(slots, values, held, reason)) return false;
  if (is_filtered && !has_needed(values)) {
    if (reason != nullptr) *reason = "an input is not there";
    return false;
  }
  if (!checks_memory) return true;
  std::vector<PyObject*> given;
  for (const int source : inputs) given.push_back(values[source]);
  if (sharing.holds_for(sharing_of(given))) return true;
  if (reason != nullptr) *reason = "inputs share memory in another way";
  return false;
}

bool Entry::fits(PyObject* const* const* slots, std::vector<PyObject*>& values,
                 std::vector<Owned>& held) const {
  return guards.follow_all(slots, values, held) && has_needed(values);
}

bool Entry::has_needed(const std::vector<PyObject*>& values) const {
  const auto is_there = [&](int64_t source) {
    return values[source] != nullptr || guards.sources[source].step == Step::Drawn;
  };
  return std::all_of(inputs.begin(), inputs.end(), is_there) &&
         std::all_of(actions.begin(), actions.end(), [&](const Action& action) {
           return action.kind != Action::Kind::Path || is_there(action.number);
         });
}

namespace {

// Most regions have few inputs and steps.
using FewObjects = SmallVector<PyObject*, 8>;

// References to many values at once.
class HeldMany {
 public:
  HeldMany() = default;
  ~HeldMany() {
    if (is_finalizing()) return;
    for (PyObject* object : held) Py_XDECREF(object);
  }
  HeldMany(const HeldMany&) = delete;

  FewObjects held;
};

// A slot, or an item of the object's __dict__, whatever its class has by that name.
bool set_own_attribute(PyObject* object, PyObject* name, PyObject* value) {
  PyObject* of_class = _PyType_Lookup(Py_TYPE(object), name);
  const bool is_slot = of_class != nullptr && (Py_IS_TYPE(of_class, &PyMemberDescr_Type) ||
                                               Py_IS_TYPE(of_class, &PyGetSetDescr_Type));
  if (of_class == nullptr || is_slot || Py_TYPE(of_class)->tp_descr_set == nullptr)
    return PyObject_GenericSetAttr(object, name, value) == 0;
  const Owned names(PyObject_GenericGetDict(object, nullptr));
  return names && PyDict_SetItem(names.get(), name, value) == 0;
}

// Runs the steps in order.
class Steps {
 public:
  Steps(const Entry& entry, const std::vector<PyObject*>& sources, PyObject* outputs)
      : entry_(entry), sources_(sources), outputs_(outputs) {
    values_.held.resize(entry.actions.size(), nullptr);
  }

  bool run() {
    for (size_t i = 0; i < entry_.actions.size(); ++i)
      if (!perform(entry_.actions[i], values_.held[i])) return false;
    return true;
  }
  PyObject* value(int step) const { return values_.held[step]; }

 private:
  PyObject* part(const Action& action, size_t i) const { return value(action.parts[i]); }

  bool perform(const Action& action, PyObject*& made) {
    using Kind = Action::Kind;
    const size_t count = action.parts.size();
    PyObject* target = action.target < 0 ? nullptr : value(action.target);
    switch (action.kind) {
      case Kind::Constant: return take(made, Py_NewRef(action.object));
      case Kind::Path: return take(made, Py_XNewRef(sources_[action.number]));
      case Kind::Output:
        return take(made, PyTuple_CheckExact(outputs_)
                              ? Py_NewRef(PyTuple_GET_ITEM(outputs_, action.number))
                              : PySequence_GetItem(outputs_, action.number));
      case Kind::Tuple: return take(made, tuple(action));
      case Kind::List: return take(made, PyList_New(0));
      case Kind::FillList:
        for (size_t i = 0; i < count; ++i)
          if (PyList_Append(target, part(action, i)) < 0) return false;
        return true;
      case Kind::Dict:
        return take(made, action.object == nullptr ? PyDict_New() : call(action.object, action));
      case Kind::FillDict:
        for (size_t i = 0; i < count; i += 2)
          if (set_dict_item(target, part(action, i), part(action, i + 1)) < 0) return false;
        return true;
      case Kind::Set: return take(made, PySet_New(nullptr));
      case Kind::FillSet:
        for (size_t i = 0; i < count; ++i)
          if (PySet_Add(target, part(action, i)) < 0) return false;
        return true;
      case Kind::FrozenSet: {
        Owned items(tuple(action));
        return items && take(made, PyFrozenSet_New(items.get()));
      }
      case Kind::Slice:
        return take(made, PySlice_New(part(action, 0), part(action, 1), part(action, 2)));
      case Kind::Cell: return take(made, PyCell_New(nullptr));
      case Kind::FillCell: return PyCell_Set(target, part(action, 0)) == 0;
      case Kind::Function: return take(made, function(action));
      case Kind::Method: return take(made, PyMethod_New(part(action, 0), part(action, 1)));
      case Kind::Instance: {
        auto* type = reinterpret_cast<PyTypeObject*>(action.object);
        Owned nothing(PyTuple_New(0));
        PyTypeObject* base = container_of(type);
        if (base == nullptr) base = is_namespace(type) ? namespace_type() : &PyBaseObject_Type;
        return nothing && take(made, base->tp_new(type, nothing.get(), nullptr));
      }
      case Kind::FillInstance:
        for (size_t i = 0; i < count; i += 2)
          if (!set_own_attribute(target, part(action, i), part(action, i + 1))) return false;
        return true;
      case Kind::Call: return take(made, call(action.object, action));
      case Kind::SetState: {
        Owned done(PyObject_CallMethod(target, "__setstate__", "(O)", part(action, 0)));
        return static_cast<bool>(done);
      }
      case Kind::WaitingSlots: {
        FewObjects slots;
        for (const int step : action.parts)
          slots.push_back(step < 0 ? nullptr : Py_NewRef(value(step)));
        taeda_generator_wait(target, slots.data(), static_cast<int>(slots.size()),
                             static_cast<int>(action.number));
        return true;
      }
      case Kind::WriteList: {
        Owned items(tuple(action));
        if (!items || PyList_Check(target))
          return items && PyList_SetSlice(target, 0, PyList_GET_SIZE(target), items.get()) == 0;
        Owned cleared(PyObject_CallMethod(target, "clear", nullptr));
        Owned filled(cleared ? PyObject_CallMethod(target, "extend", "(O)", items.get()) : nullptr);
        return static_cast<bool>(filled);
      }
      case Kind::WriteSet: {
        if (PySet_Clear(target) < 0) return false;
        for (size_t i = 0; i < count; ++i)
          if (PySet_Add(target, part(action, i)) < 0) return false;
        return true;
      }
      case Kind::WriteItem: return set_dict_item(target, part(action, 0), part(action, 1)) == 0;
      case Kind::DeleteItem: return delete_dict_item(target, part(action, 0)) == 0;
      case Kind::WriteCell: return PyCell_Set(target, part(action, 0)) == 0;
      case Kind::EmptyCell: return PyCell_Set(target, nullptr) == 0;
      // object.__setattr__ refuses tensors, whose class has one of its own in C.
      case Kind::WriteMember:
        return PyObject_GenericSetAttr(target, part(action, 0),
                                       count > 1 ? part(action, 1) : nullptr) == 0;
      case Kind::WriteGrad: return PyObject_SetAttrString(target, "grad", part(action, 0)) == 0;
      case Kind::RequireGrad: {
        PyObject* wanted = action.number != 0 ? Py_True : Py_False;
        return PyObject_SetAttrString(target, "requires_grad", wanted) == 0;
      }
      case Kind::SetModes: entry_.modes_after.restore(); return true;
      case Kind::SetHandled:
        Py_XSETREF(PyThreadState_Get()->exc_info->exc_value, Py_NewRef(part(action, 0)));
        return true;
    }
    return false;
  }

  static bool take(PyObject*& made, PyObject* value) {
    made = value;
    return value != nullptr;
  }

  PyObject* tuple(const Action& action) const {
    Owned items(PyTuple_New(static_cast<Py_ssize_t>(action.parts.size())));
    if (!items) return nullptr;
    for (size_t i = 0; i < action.parts.size(); ++i)
      PyTuple_SET_ITEM(items.get(), i, Py_NewRef(part(action, i)));
    if (action.object == nullptr) return items.release();
    return make_tuple(reinterpret_cast<PyTypeObject*>(action.object), items.get());
  }

  PyObject* call(PyObject* callable, const Action& action) const {
    std::vector<PyObject*> arguments;
    for (const int step : action.parts) arguments.push_back(value(step));
    return PyObject_Vectorcall(callable, arguments.data(), arguments.size(), nullptr);
  }

  // Parts: globals, name, then defaults, keyword defaults and closure, each None where there is
  // none.
  PyObject* function(const Action& action) const {
    Owned made(PyFunction_New(action.object, part(action, 0)));
    if (!made) return nullptr;
    auto* fields = reinterpret_cast<PyFunctionObject*>(made.get());
    const auto set = [&](PyObject*& field, size_t i) {
      if (part(action, i) != Py_None) Py_XSETREF(field, Py_NewRef(part(action, i)));
    };
    set(fields->func_defaults, 1);
    set(fields->func_kwdefaults, 2);
    set(fields->func_closure, 3);
    return made.release();
  }

  const Entry& entry_;
  const std::vector<PyObject*>& sources_;
  PyObject* outputs_;
  HeldMany values_;
};

}  // namespace

void Entry::note_needed() {
  needed = inputs;
  for (const Draw& draw : draws) needed.push_back(draw.generator);
  for (const Action& action : actions) {
    if (action.kind == Action::Kind::Path) needed.push_back(static_cast<int>(action.number));
    if (action.kind == Action::Kind::Output)
      num_outputs = std::max<Py_ssize_t>(num_outputs, action.number + 1);
  }
  for (const FrameRecipe& frame : frames)
    for (const int step : frame.slots)
      if (step < -1) needed.push_back(FrameRecipe::untouched(step));
  std::sort(needed.begin(), needed.end());
  needed.erase(std::unique(needed.begin(), needed.end()), needed.end());
}

// Whether a backend's function gave as many results as the steps take, which is known before the
// first of them; false with an error.
bool Entry::has_outputs(PyObject* given) const {
  if (PyTuple_CheckExact(given) && PyTuple_GET_SIZE(given) >= num_outputs) return true;
  for (Py_ssize_t i = 0; i < num_outputs; ++i) {
    const Owned number(PyLong_FromSsize_t(i));
    const Owned item(number ? PyObject_GetItem(given, number.get()) : nullptr);
    if (!item) return false;
  }
  return true;
}

Entry::Run Entry::run(const std::vector<PyObject*>& found, Ending& ending) const {
  // The function may run for a while without the interpreter lock.
  HeldMany held;
  held.held.reserve(needed.size());
  for (const int i : needed) held.held.push_back(Py_XNewRef(found[i]));
  std::vector<PyObject*> with_draws;
  std::vector<Owned> drawn;
  if (!draws.empty()) with_draws = found;
  for (const Draw& draw : draws) {
    Owned method(PyObject_GetAttr(found[draw.generator], draw.name));
    Owned& value =
        drawn.emplace_back(method ? PyObject_CallObject(method.get(), draw.args) : nullptr);
    if (!value) return Run::Failed;
    if (draw.source >= 0) with_draws[draw.source] = value.get();
  }
  const std::vector<PyObject*>& borrowed = draws.empty() ? found : with_draws;
  Owned outputs;
  if (compiled) {
    FewObjects arguments;
    arguments.reserve(inputs.size());
    for (const int source : inputs) arguments.push_back(borrowed[source]);
    std::optional<autograd::GradMode> with_grad;
    if (runs_with_grad) with_grad.emplace(true);
    outputs =
        Owned(PyObject_Vectorcall(compiled.get(), arguments.data(), arguments.size(), nullptr));
    if (!outputs || !has_outputs(outputs.get())) {
      modes.restore();
      return Run::Failed;
    }
  }
  for (const RememberedCall& call : remembered) {
    if (std::exchange(call.is_made, false)) continue;
    const Owned counted(PyObject_Call(call.callable, call.args, call.kwargs));
    if (!counted) return Run::FailedBehind;
  }
  Steps steps(*this, borrowed, outputs.get());
  if (!steps.run()) return Run::FailedBehind;
  if (result >= 0) {
    ending.value = Owned(Py_NewRef(steps.value(result)));
    return Run::Done;
  }
  for (const FrameRecipe& frame : frames) {
    std::vector<Owned> slots;
    for (const int step : frame.slots)
      slots.emplace_back(step >= 0    ? Py_NewRef(steps.value(step))
                         : step == -1 ? nullptr
                                      : Py_XNewRef(borrowed[FrameRecipe::untouched(step)]));
    ending.frames.emplace_back(Owned(Py_NewRef(steps.value(frame.function))), frame.code,
                               std::move(slots), frame.now, frame.next);
  }
  return Run::Done;
}

}  // namespace taeda::dynamo
