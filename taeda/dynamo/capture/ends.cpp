// Objects whose end the program notices, and weak references.
//
// Note [Ends of objects]: a capture keeps what it sees, and a compiled region lets go of objects
// when it is done. Where __del__ or a callback of a weak reference would run earlier, the
// instruction that lets go is a break; so is one that makes such an object. Weak references to
// objects of the program are made anew by recipes; of objects that the capture made nobody knows
// when they end.
//
// Generators of the capture run their `finally` when they end, as they do for the program: when the
// last that holds them lets go, or when the region's frame returns and neither its value nor what
// the region wrote holds them.
#include <algorithm>
#include <tuple>

#include "taeda/dynamo/capture/capture.h"

namespace taeda::dynamo {

// The first weak reference to an object; null where there is none.
static const PyWeakReference* references_to(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  if (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE) || type->tp_weaklistoffset == 0) return nullptr;
  return *reinterpret_cast<PyWeakReference* const*>(reinterpret_cast<const char*>(object) +
                                                    type->tp_weaklistoffset);
}

bool has_end(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  if (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE) || PyType_Check(object)) return false;
  static PyObject* const name = PyUnicode_InternFromString("__del__");
  if (type->tp_finalize != nullptr && _PyType_Lookup(type, name) != nullptr) return true;
  for (const PyWeakReference* reference = references_to(object); reference != nullptr;
       reference = reference->wr_next)
    if (reference->wr_callback != nullptr) return true;
  return false;
}

namespace {

// Whether objects with an end are among those that others hold. It looks at so many that a look
// costs little; behind them are none that a program notices.
class Search {
 public:
  explicit Search(bool takes_references = false) : takes_references_(takes_references) {}

  bool finds(PyObject* object) {
    if (has_end(object)) return true;
    if (takes_references_ && !PyType_Check(object) && references_to(object) != nullptr) return true;
    PyTypeObject* type = Py_TYPE(object);
    const bool is_looked_into =
        type->tp_traverse != nullptr && type->tp_iternext != PyGen_Type.tp_iternext &&
        (container_of(type) != nullptr || PyTuple_Check(object) || PyIter_Check(object) ||
         (is_plain_instance(type) && !is_module(type)));
    if (!is_looked_into || depth_ == kDeepest || --num_left_ < 0) return false;
    ++depth_;
    const bool is_found = type->tp_traverse(object, &visit, this) != 0;
    --depth_;
    return is_found;
  }

 private:
  static constexpr int kDeepest = 4;

  static int visit(PyObject* held, void* search) {
    return held != nullptr && static_cast<Search*>(search)->finds(held) ? 1 : 0;
  }
  static bool is_module(PyTypeObject* type) {
    static Loaded module("taeda.nn.modules.module", "Module");
    return module.get() != nullptr && PyType_IsSubtype(type, module.type());
  }

  bool takes_references_;
  int depth_ = 0;
  int num_left_ = 100;
};

}  // namespace

bool holds_end(PyObject* object) { return Search().finds(object); }

// A twin that nobody looked into holds nothing itself.
bool Capture::is_noticed(PyObject* object) {
  const Twin* twin = twin_of(object);
  return holds_end(object) || (twin != nullptr && holds_end(twin->original));
}

// Before items of a container are taken away or replaced.
void Capture::check_ends_in(PyObject* container) {
  if (container_of(Py_TYPE(container)) != nullptr && is_noticed(container))
    throw Break{"a write to a container of objects whose end the program notices"};
}

// A tuple, null where nothing is to be checked.
Owned Capture::items_of(PyObject* container) {
  if (container_of(Py_TYPE(container)) == nullptr) return Owned();
  if (!PyDict_Check(container)) return Owned(need(items_in_order(container)));
  const Owned values(need(PyDict_Values(container)));
  return Owned(need(PyList_AsTuple(values.get())));
}

// A weak reference shows the end of an object to whoever asks it.
void Capture::check_references(PyObject* container, const Owned& items) const {
  if (!items) return;
  const Owned left = items_of(container);
  PyObject** begin = PySequence_Fast_ITEMS(items.get());
  PyObject** end = begin + PyTuple_GET_SIZE(items.get());
  PyObject** rest = PySequence_Fast_ITEMS(left.get());
  PyObject** rest_end = rest + PyTuple_GET_SIZE(left.get());
  std::tie(begin, rest) = std::mismatch(begin, end, rest, rest_end);
  if (begin == end) return;  // nothing was lost
  const std::unordered_set<PyObject*> kept(rest, rest_end);
  for (; begin != end; ++begin) {
    if (!kept.contains(*begin) && !recorder_.is_value(*begin) && Search(true).finds(*begin))
      throw Abandoned{"the end of an object that weak references show", Abandoned::kHere};
  }
}

// A variable lets go of its object. What the capture made has no end that anybody sees; what was
// read from anywhere else, or what another variable has, is still there.
void Capture::check_end(const State& state, PyObject* const* variable) {
  PyObject* object = *variable;
  if (object == nullptr) return;
  const Outside* outside = find(object);
  const std::vector<bool>& unread = frame_of(state).is_unread;
  const auto slot = static_cast<size_t>(variable - state.slots);
  const bool is_unread = slot < unread.size() && unread[slot];
  if (outside == nullptr ? !is_unread : outside->source < 0) return;
  const Step step = outside != nullptr ? sources_[outside->source].step : Step::Local;
  if (step != Step::Local && step != Step::Referent) return;
  for (TaedaFrame* frame = state.frame; frame != nullptr && frames_.contains(frame);
       frame = taeda_frame_previous(frame)) {
    PyObject* const* slots = taeda_frame_slots(frame);
    for (int i = 0; i < taeda_frame_code(frame)->co_nlocalsplus; ++i)
      if (slots[i] == object && slots + i != variable) return;
  }
  throw Break{std::string("the end of an object of class ") + Py_TYPE(object)->tp_name};
}

// The variable gets another value, or none. A weak reference shows the end, too, to whoever asks
// it.
void Capture::check_end_of(const State& state, PyObject* const* variable) {
  PyObject* object = *variable;
  if (object == nullptr) return;
  int source = -1;
  if (recorder_.is_value(object)) object = recorder_.real_of(object, &source);
  if (object == nullptr) return;
  if (references_to(object) != nullptr || is_noticed(object)) check_end(state, variable);
}

// What a called function alone holds ends with it, but for what it returns.
void Capture::check_ends_of(const State& state, const PyObject* returned) {
  if (frame_of(state).number == 0) return;
  for (PyObject** slot = state.slots; slot < state.stack_base(); ++slot)
    if (*slot != nullptr && *slot != returned && is_noticed(*slot)) check_end(state, slot);
}

static void add_once(std::vector<PyObject*>& generators, PyObject* object) {
  if (PyGen_CheckExact(object) &&
      std::find(generators.begin(), generators.end(), object) == generators.end())
    generators.push_back(object);
}

// What the region's value and its writes hold, directly or not. Of the program's own objects the
// stand-ins are looked into, and the graph's values hold nothing.
std::unordered_set<PyObject*> Capture::outliving(PyObject* returned) {
  std::unordered_set<PyObject*> known;
  std::vector<PyObject*> waiting;
  const auto add = [&](PyObject* object) {
    if (object != nullptr && known.insert(object).second) waiting.push_back(object);
  };
  add(returned);
  for (const auto& twin : twins_) {
    const auto own = stand_ins_.find(twin->original);
    if (own != stand_ins_.end()) add(own->second);
    for (const Owned& item : twin->added) add(item.get());
  }
  for (const auto& [object, outside] : outside_) add(outside.contents.get());
  for (const auto& [place, written] : members_) add(written.get());
  for (const ClassWrite& write : class_writes_) add(write.value.get());
  for (const auto& [wrapper, parts] : own_parts_) add(parts.get());
  for (const Effect& effect : effects_)
    for (const Owned& part : effect.parts) add(part.get());
  const auto visit = [](PyObject* held, void* adds) {
    (*static_cast<decltype(add)*>(adds))(held);
    return 0;
  };
  while (!waiting.empty()) {
    PyObject* object = waiting.back();
    waiting.pop_back();
    const bool is_program_s = find(object) != nullptr && twin_of(object) == nullptr;
    const traverseproc traverse = Py_TYPE(object)->tp_traverse;
    if (traverse == nullptr || is_program_s || recorder_.is_value(object) || PyType_Check(object) ||
        PyModule_Check(object))
      continue;
    // A function has the names of its module, too, which are the program's.
    if (PyFunction_Check(object)) known.insert(PyFunction_GET_GLOBALS(object));
    traverse(object, visit, const_cast<void*>(static_cast<const void*>(&add)));
  }
  return known;
}

// Generators that wait end with the frame of the region that has them: their `finally` runs then.
void Capture::end_generators(const State& state, PyObject* returned) {
  if (generators_.empty() || frame_of(state).number != 0) return;
  std::vector<PyObject*> waiting;
  const auto add = [&](PyObject* object) {
    if (object == nullptr) return;
    // These let go of their last item first.
    if (PyList_CheckExact(object) || PyTuple_CheckExact(object))
      for (Py_ssize_t i = PySequence_Fast_GET_SIZE(object); i-- > 0;)
        add_once(waiting, PySequence_Fast_GET_ITEM(object, i));
    add_once(waiting, object);
  };
  for (PyObject** slot = state.slots; slot < state.stack_base(); ++slot) add(*slot);
  for (const Owned& reference : generators_) add(PyWeakref_GET_OBJECT(reference.get()));
  const std::unordered_set<PyObject*> left = outliving(returned);
  std::erase_if(waiting, [&](PyObject* generator) { return left.contains(generator); });
  for (PyObject* generator : waiting) keep(generator);
  static PyObject* const close = PyUnicode_InternFromString("close");
  for (PyObject* generator : waiting) {
    const Owned closed(PyObject_CallMethodNoArgs(generator, close));
    if (closed) continue;
    if (is_broken_) throw Raised{};
    PyErr_Clear();  // Python shows it and goes on
    throw Break{"an error of a generator that ends"};
  }
}

// What a weakref.proxy of the program stands for; null for other objects. Borrowed.
PyObject* Capture::referent_of(PyObject* proxy) {
  const Outside* outside = PyWeakref_CheckProxy(proxy) ? find(proxy) : nullptr;
  if (outside == nullptr || outside->source < 0) return nullptr;
  PyObject* referent = PyWeakref_GET_OBJECT(proxy);
  if (referent == Py_None) throw Break{"a proxy of an object that is gone"};
  Owned own(import(referent, sources_.of(Step::Referent, outside->source)));
  keep(own.get());
  return own.get();
}

// weakref.ref(object)
PyObject* Capture::make_reference(const Call& call) {
  const bool is_of_program = call.names == nullptr && call.values.size() == 1 &&
                             find(call.values[0]) != nullptr && !is_opaque(call.values[0]);
  if (!is_of_program) throw Break{"call of the class " + name_of(call.callable)};
  return need(PyWeakref_NewRef(call.values[0], nullptr));
}

}  // namespace taeda::dynamo
