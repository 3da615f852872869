// The instructions of a capture that read or write objects of the program; calls, scopes and
// patterns are in call_instructions.cpp. All others are the evaluator's own.
#include <algorithm>
#include <array>
#include <utility>

#include "python/interop/errors.h"
#include "python/interop/sym_numbers.h"
#include "taeda/autograd/forward.h"
#include "taeda/autograd/grad_mode.h"
#include "taeda/base/error.h"
#include "taeda/dynamo/capture/capture.h"
#include "taeda/dynamo/capture/handler_world.h"
#include "taeda/dynamo/evaluator/handlers.h"
#include "taeda/dynamo/evaluator/messages.h"

namespace taeda::dynamo {

using run::raise_name_error;
using run::raise_unbound;

const std::array<Capture::Way, 256>& Capture::ways() {
  static const std::array<Way, 256> table = [] {
    std::array<Way, 256> ways{};
    const auto own = [&](const char* name, Handler handler) {
      if (const int number = opcode_number(name); number >= 0) ways[number].handler = handler;
    };
    const auto looks = [&](const char* name, int operands, bool writes = false) {
      const int number = opcode_number(name);
      if (number < 0) return;
      ways[number].operands = operands;
      ways[number].writes = writes;
    };
    own("LOAD_FAST", &Capture::load_fast);
    own("LOAD_FAST_CHECK", &Capture::load_fast);
    own("LOAD_FAST_AND_CLEAR", &Capture::load_fast_and_clear);
    own("LOAD_FAST_LOAD_FAST", &Capture::load_fast_load_fast);
    own("STORE_FAST", &Capture::store_fast);
    own("STORE_FAST_LOAD_FAST", &Capture::store_fast_load_fast);
    own("STORE_FAST_STORE_FAST", &Capture::store_fast_store_fast);
    own("DELETE_FAST", &Capture::delete_fast);
    own("LOAD_CLOSURE", &Capture::load_fast);
    own("MAKE_CELL", &Capture::make_cell);
    own("COPY_FREE_VARS", &Capture::copy_free_vars);
    own("LOAD_DEREF", &Capture::load_deref);
    own("STORE_DEREF", &Capture::store_deref);
    own("DELETE_DEREF", &Capture::delete_deref);
    own("LOAD_GLOBAL", &Capture::load_global);
    own("STORE_GLOBAL", &Capture::store_global);
    own("DELETE_GLOBAL", &Capture::delete_global);
    own("LOAD_ATTR", &Capture::load_attr);
    own("LOAD_METHOD", &Capture::load_method);
    own("STORE_ATTR", &Capture::store_attr);
    own("DELETE_ATTR", &Capture::delete_attr);
    own("BINARY_SUBSCR", &Capture::binary_subscr);
    own("STORE_SUBSCR", &Capture::store_subscr);
    own("DELETE_SUBSCR", &Capture::delete_subscr);
    own("CONTAINS_OP", &Capture::contains);
    own("IS_OP", &Capture::is_op);
    own("COMPARE_OP", &Capture::compare_op);
    own("MAKE_FUNCTION", &Capture::make_function);
    own("BUILD_SET", &Capture::build_set);
    own("BUILD_MAP", &Capture::build_map);
    own("CALL", &Capture::call_instruction);
    own("CALL_KW", &Capture::call_kw);
    own("CALL_FUNCTION_EX", &Capture::call_function_ex);
    own("IMPORT_NAME", &Capture::import_name);
    own("IMPORT_FROM", &Capture::import_from);
    own("RETURN_GENERATOR", &Capture::return_generator);
    own("BEFORE_WITH", &Capture::before_with);
    own("WITH_EXCEPT_START", &Capture::with_except_start);
    own("PUSH_EXC_INFO", &Capture::push_exc_info);
    own("LOAD_NAME", &Capture::load_name);
    own("STORE_NAME", &Capture::store_name);
    own("CHECK_EXC_MATCH", &Capture::check_exc_match);
    own("RERAISE", &Capture::reraise);
    own("RAISE_VARARGS", &Capture::raise_varargs);
    own("FOR_ITER", &Capture::for_iter);
    own("LOAD_SUPER_ATTR", &Capture::load_super_attr);
    own("FORMAT_VALUE", &Capture::format_value);
    own("FORMAT_SIMPLE", &Capture::format_value);
    own("FORMAT_WITH_SPEC", &Capture::format_value);
    own("CONVERT_VALUE", &Capture::format_value);
    for (const char* name :
         {"DELETE_NAME", "LOAD_CLASSDEREF", "LOAD_LOCALS", "LOAD_FROM_DICT_OR_GLOBALS",
          "LOAD_FROM_DICT_OR_DEREF", "SETUP_ANNOTATIONS", "GET_AITER", "GET_ANEXT", "END_ASYNC_FOR",
          "BEFORE_ASYNC_WITH"})
      own(name, &Capture::refuse);
    for (const char* name : {"UNARY_POSITIVE",
                             "UNARY_NEGATIVE",
                             "UNARY_NOT",
                             "UNARY_INVERT",
                             "GET_ITER",
                             "UNPACK_SEQUENCE",
                             "UNPACK_EX",
                             "GET_LEN",
                             "MATCH_SEQUENCE",
                             "MATCH_MAPPING",
                             "LIST_EXTEND",
                             "LIST_TO_TUPLE",
                             "SET_UPDATE",
                             "DICT_UPDATE",
                             "DICT_MERGE",
                             "GET_YIELD_FROM_ITER",
                             "GET_AWAITABLE",
                             "SEND",
                             "JUMP_IF_FALSE_OR_POP",
                             "JUMP_IF_TRUE_OR_POP",
                             "POP_JUMP_BACKWARD_IF_FALSE",
                             "POP_JUMP_BACKWARD_IF_TRUE",
                             "CALL_INTRINSIC_1"})
      looks(name, 1);
    for (const char* name : {"BINARY_OP", "MATCH_KEYS"}) looks(name, 2);
    own("MATCH_CLASS", &Capture::match_class);
    // Containers that are being built lie below their new items.
    for (const char* name :
         {"LIST_APPEND", "SET_ADD", "LIST_EXTEND", "SET_UPDATE", "DICT_UPDATE", "DICT_MERGE"})
      if (const int number = opcode_number(name); number >= 0) ways[number].below = 1;
    if (const int number = opcode_number("MAP_ADD"); number >= 0) ways[number].below = 2;
    for (const char* name : {"POP_JUMP_IF_TRUE", "POP_JUMP_IF_FALSE", "POP_JUMP_FORWARD_IF_TRUE",
                             "POP_JUMP_FORWARD_IF_FALSE"})
      own(name, &Capture::pop_jump);
    own("TO_BOOL", &Capture::to_bool);
    looks("BINARY_SLICE", 3);
    looks("STORE_SLICE", 4, true);
    return ways;
  }();
  return table;
}

Capture::Capture(Sources& sources, GuardProgram& guards, Recorder& recorder,
                 const std::vector<const State*>& frames)
    : sources_(sources),
      guards_(guards),
      recorder_(recorder),
      modes_(Modes::now()),
      overrides_(recorder.overrides()) {
  handlers_ = std::make_unique<HandlerWorld>(*this);
  recorder_.ask_handlers_of(handlers_.get());
  exception_state_ = frames.back()->thread->exc_info->exc_value;
  if (exception_state_ != nullptr && exception_state_ != Py_None) {
    const int source = sources_.of(Step::Handled, sources_.pinned(Py_None, "thread"));
    Py_DECREF(note_outside(exception_state_, source, /*is_opaque=*/true));
  }
  for (const State* state : frames) {
    Frame& frame = frames_[state->frame];
    frame.number = num_frames_++;
    frame.is_unread.assign(state->used(), true);
    if (state->next != state->code->instructions.data()) continue;
    // At the start of a function there is nothing but its arguments.
    const PyCodeObject* code = state->code->object;
    const int arguments = code->co_argcount + code->co_kwonlyargcount +
                          ((code->co_flags & CO_VARARGS) != 0) +
                          ((code->co_flags & CO_VARKEYWORDS) != 0);
    std::fill(frame.is_unread.begin() + arguments, frame.is_unread.end(), false);
  }
}

Capture::~Capture() {
  if (program_ != nullptr) return;
  recorder_.ask_handlers_of(nullptr);
  handlers_.reset();
  modes_.restore();
  recorder_.restore(overrides_);
  for (Owned& lock : locks_) {
    Owned released(PyObject_CallMethod(lock.get(), "release", nullptr));
    if (!released) PyErr_Clear();
  }
}

void Capture::begin_frame(State& state) {
  frames_[state.frame] = Frame{.number = -1};
  // One that is thrown into may be on its way out, past the end of its weak references.
  if (!taeda_frame_is_generator(state.frame) || PyErr_Occurred()) return;
  Owned reference(PyWeakref_NewRef(taeda_frame_generator(state.frame), nullptr));
  if (!reference) PyErr_Clear();
  if (reference) generators_.push_back(std::move(reference));
}

bool Capture::begin_call(State& state) {
  begin_frame(state);
  Frame& frame = frame_of(state);
  frame.is_shown_to_c = is_looked_at_;
  frame.taker = std::exchange(taker_, Taker::C);
  if (state.next != state.code->instructions.data()) return true;  // a generator goes on
  // def __int__(*args)
  PyObject* first = state.code->object->co_nlocalsplus > 0 ? state.slots[0] : nullptr;
  const bool is_of_all = first != nullptr && state.code->object->co_argcount == 0 &&
                         PyTuple_CheckExact(first) && PyTuple_GET_SIZE(first) > 0;
  if (is_of_all) first = PyTuple_GET_ITEM(first, 0);
  if (first != nullptr) frame.owner = Owned(Py_NewRef(Py_TYPE(first)));
  try {
    import_defaults(state.frame);
  } catch (const Break& reason) {
    reason_ = reason.reason;
    is_broken_ = true;
    PyErr_SetString(PyExc_SystemError, "a captured call broke");
    return false;
  } catch (const Raised&) {
    return false;
  }
  return true;
}

void Capture::end_frame(TaedaFrame* frame) {
  if (const auto node = frames_.extract(frame); node && node.mapped().taker == Taker::Reader)
    taker_ = Taker::Reader;
  ++num_frames_ended_;
}

// Python warns of a coroutine that is dropped before it began.
void Capture::note_generator(PyObject* object) {
  const bool is_coroutine = PyCoro_CheckExact(object);
  if (!is_coroutine && !PyGen_CheckExact(object)) return;
  made_at_[object] = std::exchange(last_generator_at_, 0);
  Owned reference(is_coroutine ? PyWeakref_NewRef(object, nullptr) : nullptr);
  PyErr_Clear();
  if (reference) generators_.push_back(std::move(reference));
}

// A generator that is dropped runs its `finally`. One that the program would still have is kept for
// good instead: what belongs to a capture must do nothing behind it.
void Capture::finish() {
  for (const Owned& reference : generators_) {
    PyObject* generator = PyWeakref_GET_OBJECT(reference.get());
    if (generator == Py_None) continue;
    const bool is_coroutine = PyCoro_CheckExact(generator);
    Owned frame(PyObject_GetAttrString(generator, is_coroutine ? "cr_frame" : "gi_frame"));
    if (!frame) PyErr_Clear();
    if (frame && frame.get() != Py_None) Py_INCREF(generator);
  }
  generators_.clear();
  if (Capture* handlers = program_ == nullptr ? other() : nullptr) handlers->finish();
}

Capture::Frame& Capture::frame_of(const State& state) { return frames_.at(state.frame); }

Flow Capture::execute(State& state) {
  PyObject** base = state.stack_base();
  std::vector<Owned> operands;
  bool is_begun = false;
  const size_t mark = recorder_.mark();
  const int64_t writes = writes_;
  const int64_t frames_ended = num_frames_ended_;
  const int64_t symbols = num_symbols_given_;
  const Overrides overrides = recorder_.overrides();
  PyObject* names = state.keyword_names;
  const bool was_looked_at = is_looked_at_;
  is_looked_at_ = state.top > base && is_iterator_of_c(state.peek(1));
  Flow flow = Flow::Raise;
  bool is_break = false, is_exact = false, is_settled = false;
  const int64_t number = ++num_executed_;
  if (last_generator_at_ > 0 && state.top > base && state.peek(1) != nullptr)
    note_generator(state.peek(1));
  try {
    if (number == break_at_) throw Break{break_reason_};
    // A break puts stand-ins back, by which the region's end knows the program's objects.
    read_stack(state);
    for (PyObject** slot = base; slot < state.top; ++slot) operands.emplace_back(Py_XNewRef(*slot));
    is_begun = true;
    flow = dispatch(state);
  } catch (const Break& reason) {
    is_break = true;
    reason_ = reason.reason;
  } catch (const Abandoned& problem) {
    is_break = is_settled = is_abandoned_ = true;
    reason_ = problem.reason;
    ends_at_ = problem.ends_at == Abandoned::kHere ? number : problem.ends_at;
  } catch (const Raised& raised) {
    is_exact = raised.is_exact;
  } catch (const Refused&) {
    is_break = is_settled = is_abandoned_ = true;
    failure_ = Owned(taeda_take_raised());
  } catch (const std::exception& error) {
    is_break = is_settled = is_abandoned_ = true;
    reason_ = error.what();
    python::translate_exception();
    take_own_error();
  }
  is_looked_at_ = was_looked_at;
  bool is_inside = false;  // of C, which had begun
  if (!is_break && is_broken_) is_break = true;
  if (!is_break && flow == Flow::Raise && num_frames_ended_ == frames_ended)
    is_break = take_interruption_of(state);
  if (!is_break && flow == Flow::Raise && PyErr_Occurred())
    is_break = is_inside =
        breaks_at_error(state, operands, is_exact, num_frames_ended_ == frames_ended,
                        num_symbols_given_ != symbols, number);
  if (!is_break) {
    const bool is_in_transform = recorder_.num_levels() != modes_.num_levels;
    if (is_in_transform && !is_in_transform_)
      transforms_began_at_[recorder_.innermost_level()] = number;
    is_in_transform_ = is_in_transform;
    const bool is_in_scope = is_in_transform || !locks_.empty() || num_undivided_ != 0 ||
                             autograd::current_dual_level() != modes_.dual_level;
    if (!is_in_scope) scope_began_at_ = 0;
    if (is_in_scope && scope_began_at_ == 0) scope_began_at_ = number;
    return flow;
  }
  PyErr_Clear();
  // What was done before the break cannot be taken back: the capture is made again, up to here.
  const bool has_run = num_frames_ended_ != frames_ended;
  is_settled |= ends_at_ == Abandoned::kAsAWhole;
  if (!is_settled &&
      (has_run || (is_inside && (writes_ != writes || may_change(state, operands))))) {
    is_abandoned_ = true;
    ends_at_ = number;
  }
  is_broken_ = false;
  if (reason_.empty()) reason_ = "instruction " + std::string(opcodes()[state.now->opcode].name);
  recorder_.rewind(mark);
  recorder_.restore(overrides);
  if (is_begun) {
    while (state.top > base) Py_XDECREF(state.pop());
    for (Owned& operand : operands) state.push(operand.release());
  }
  state.keyword_names = names;
  return Flow::Break;
}

void Capture::end_at_raised(std::string reason) {
  Owned raised(taeda_take_raised());
  const auto known = raised_at_.find(raised.get());
  ends_at_ = known == raised_at_.end() ? 0 : known->second;
  reason_ = std::move(reason);
  if (raised) taeda_set_raised(raised.release());
}

// Imports values on the stack at the region's beginning.
void Capture::read_stack(State& state) {
  Frame& frame = frame_of(state);
  const auto locals = static_cast<size_t>(state.code->object->co_nlocalsplus);
  for (size_t i = locals; i < frame.is_unread.size() && state.slots + i < state.top; ++i)
    if (frame.is_unread[i]) {
      // Whatever takes it from the stack may be its end.
      if (state.slots[i] != nullptr && holds_end(state.slots[i]))
        throw Break{"an object with an end on the stack"};
      Py_XDECREF(read_slot(state, static_cast<int>(i)));
    }
  if (frame.is_unread.size() > locals) frame.is_unread.resize(locals);
}

// Instructions that go through what lies on top of the stack.
static bool takes_items(int opcode) {
  static const int known[] = {opcode_number("GET_ITER"), opcode_number("UNPACK_SEQUENCE"),
                              opcode_number("UNPACK_EX"), opcode_number("LIST_EXTEND")};
  return std::find(std::begin(known), std::end(known), opcode) != std::end(known);
}

// A handler of its own, or the evaluator's, with what it looks into opened.
Flow Capture::dispatch(State& state) {
  static const int binary_op = opcode_number("BINARY_OP");
  static const int pop_top = opcode_number("POP_TOP");
  static const int slices[] = {opcode_number("BINARY_SLICE"), opcode_number("STORE_SLICE")};
  static const int returns[] = {opcode_number("RETURN_VALUE"), opcode_number("RETURN_CONST")};
  static const int yields = opcode_number("YIELD_VALUE");
  const Instruction& at = *state.now;
  const Way& way = ways()[at.opcode];
  if (way.handler != nullptr) return (this->*way.handler)(state, at.argument);
  if (at.handler == nullptr) throw Break{"instruction " + std::string(opcodes()[at.opcode].name)};
  for (int i = 1; i <= way.operands && state.top - i >= state.stack_base(); ++i) {
    PyObject* operand = state.peek(i);
    if (operand == nullptr) continue;
    if (is_opaque(operand))
      throw Break{std::string("an operation on ") + Py_TYPE(operand)->tp_name};
    open(operand);
    if (PyLong_CheckExact(operand)) need_settled(operand);
  }
  if (at.opcode == binary_op) check_arithmetic(state, at.argument);
  if (at.opcode == slices[0] || at.opcode == slices[1]) read_bounds(state);
  if (at.opcode == pop_top && find(state.peek(1)) != nullptr) check_end_of(state, state.top - 1);
  if (at.opcode == returns[0]) check_ends_of(state, state.peek(1));
  if (at.opcode == returns[1]) check_ends_of(state, nullptr);
  if (at.opcode == returns[0]) end_generators(state, state.peek(1));
  if (at.opcode == returns[1]) end_generators(state, nullptr);
  if ((at.opcode == returns[0] || at.opcode == yields) && frame_of(state).is_shown_to_c)
    open_deep(state.peek(1));
  if (way.below > 0) {
    PyObject* container = state.peek(at.argument + way.below);
    open(container);
    if (PyAnySet_Check(container) || PyDict_Check(container)) {
      note_key(state.peek(way.below));
      note_identities_in(state.peek(way.below));
    }
  }
  if (takes_items(at.opcode)) check_order(state.peek(1));
  if (way.writes || way.below > 0) ++writes_;
  return at.handler(state, at.argument);
}

Flow Capture::refuse(State& state, int) {
  throw Break{"instruction " + std::string(opcodes()[state.now->opcode].name)};
}

// ---- locals ----

// The value of a slot as a stand-in, a new reference; null where it is empty.
PyObject* Capture::read_slot(State& state, int slot) {
  Frame& frame = frame_of(state);
  PyObject*& value = state.slots[slot];
  if (static_cast<size_t>(slot) < frame.is_unread.size() && frame.is_unread[slot]) {
    PyCodeObject* code = state.code->object;
    PyObject* name =
        slot < code->co_nlocalsplus ? PyTuple_GET_ITEM(code->co_localsplusnames, slot) : nullptr;
    const int source = sources_.local(frame.number, slot, name);
    if (value == nullptr) {
      check(Check::Kind::Unbound, source);
    } else {
      Py_SETREF(value, import(value, source));
    }
    frame_of(state).is_unread[slot] = false;
  }
  return Py_XNewRef(value);
}

Flow Capture::load_fast(State& state, int argument) {
  PyObject* value = read_slot(state, argument);
  if (value == nullptr) return raise_unbound(state, argument);
  state.push(value);
  return Flow::Next;
}

Flow Capture::load_fast_and_clear(State& state, int argument) {
  state.push(read_slot(state, argument));
  Py_CLEAR(state.slots[argument]);
  return Flow::Next;
}

Flow Capture::load_fast_load_fast(State& state, int argument) {
  state.push(read_slot(state, argument >> 4));
  state.push(read_slot(state, argument & 15));
  return Flow::Next;
}

Flow Capture::store_fast(State& state, int argument) {
  if (state.slots[argument] != state.peek(1)) check_end_of(state, state.slots + argument);
  Frame& frame = frame_of(state);
  if (static_cast<size_t>(argument) < frame.is_unread.size()) frame.is_unread[argument] = false;
  PyObject* old = state.slots[argument];
  state.slots[argument] = state.pop();
  Py_XDECREF(old);
  return Flow::Next;
}

Flow Capture::store_fast_load_fast(State& state, int argument) {
  store_fast(state, argument >> 4);
  state.push(read_slot(state, argument & 15));
  return Flow::Next;
}

Flow Capture::store_fast_store_fast(State& state, int argument) {
  store_fast(state, argument >> 4);
  return store_fast(state, argument & 15);
}

Flow Capture::delete_fast(State& state, int argument) {
  if (Owned value{read_slot(state, argument)}; !value) return raise_unbound(state, argument);
  check_end_of(state, state.slots + argument);
  Py_CLEAR(state.slots[argument]);
  return Flow::Next;
}

// ---- cells ----

Flow Capture::make_cell(State& state, int argument) {
  Owned value(read_slot(state, argument));
  PyObject* cell = need(PyCell_New(value.get()));
  Py_XSETREF(state.slots[argument], cell);
  return Flow::Next;
}

Flow Capture::copy_free_vars(State& state, int argument) {
  PyFunctionObject* function = taeda_frame_function(state.frame);
  auto* object = reinterpret_cast<PyObject*>(function);
  PyObject** free = state.stack_base() - argument;
  const int number = frame_of(state).number;
  const Outside* outside = find(object);
  for (int i = 0; i < argument; ++i) {
    PyObject* cell = PyTuple_GET_ITEM(function->func_closure, i);
    Frame& frame = frame_of(state);
    const size_t slot = free + i - state.slots;
    if (slot < frame.is_unread.size()) frame.is_unread[slot] = false;
    if (outside == nullptr && is_made(object)) {
      Py_XSETREF(free[i], Py_NewRef(cell));
      continue;
    }
    const int source = number >= 0          ? sources_.function(number, num_frames_)
                       : outside != nullptr ? outside->source
                                            : pin(object);
    Py_XSETREF(free[i], import(cell, sources_.of(Step::Closure, source, i)));
  }
  return Flow::Next;
}

Flow Capture::load_deref(State& state, int argument) {
  Owned cell(read_slot(state, argument));
  PyObject* value = cell_contents(cell.get());
  if (value == nullptr) return raise_unbound(state, argument);
  state.push(value);
  return Flow::Next;
}

PyObject* Capture::cell_contents(PyObject* cell) {
  Outside* outside = find(cell);
  if (outside == nullptr) return PyCell_Get(cell);
  check_unwritten_cell(cell);
  if (!outside->is_written && !outside->contents) {
    PyObject* real = PyCell_GET(cell);
    if (real == nullptr) throw Break{"a variable without a value"};
    const int source = sources_.of(Step::CellContents, outside->source);
    Owned own(import(real, source));
    find(cell)->contents = std::move(own);
    outside = find(cell);
  }
  return Py_XNewRef(outside->contents.get());
}

Flow Capture::store_deref(State& state, int argument) {
  ++writes_;
  Owned cell(read_slot(state, argument));
  Owned value = state.take();
  if (Outside* outside = find(cell.get())) {
    check_unwritten_cell(cell.get());
    outside->is_written = true;
    outside->contents = std::move(value);
  } else {
    PyCell_Set(cell.get(), value.get());
  }
  return Flow::Next;
}

Flow Capture::delete_deref(State& state, int argument) {
  ++writes_;
  Owned cell(read_slot(state, argument));
  if (find(cell.get()) != nullptr) throw Break{"a variable of another function is deleted"};
  if (PyCell_GET(cell.get()) == nullptr) return raise_unbound(state, argument);
  PyCell_Set(cell.get(), nullptr);
  return Flow::Next;
}

// ---- names ----

// Borrowed; null where there is none.
PyObject* Capture::global_value(const State& state, PyObject* name) {
  PyObject* globals = taeda_frame_globals(state.frame);
  PyObject* builtins = taeda_frame_builtins(state.frame);
  if (!PyDict_CheckExact(globals) || !PyDict_CheckExact(builtins))
    throw Break{"names of a namespace of its own"};
  PyObject* value = dict_get(pinned_dict(globals, "G"), name);
  return value != nullptr ? value : dict_get(pinned_dict(builtins, "__builtins__"), name);
}

Flow Capture::load_global(State& state, int argument) {
  PyObject* name = state.name(argument >> 1);
  PyObject* value = global_value(state, name);
  if (value == nullptr) return raise_name_error(name);
  if (argument & 1) {
    state.push_callable(Py_NewRef(value), nullptr);
  } else {
    state.push(Py_NewRef(value));
  }
  return Flow::Next;
}

Flow Capture::store_global(State& state, int argument) {
  Owned value = state.take();
  PyObject* globals = taeda_frame_globals(state.frame);
  dict_set(pinned_dict(globals, "G"), state.name(argument), value.get());
  return Flow::Next;
}

Flow Capture::delete_global(State& state, int argument) {
  PyObject* globals = taeda_frame_globals(state.frame);
  if (dict_delete(pinned_dict(globals, "G"), state.name(argument))) return Flow::Next;
  return raise_name_error(state.name(argument));
}

Flow Capture::make_function(State& state, int argument) {
  const Flow flow = run::MAKE_FUNCTION_(state, argument);
  if (flow == Flow::Next) {
    keep(state.peek(1));
    made_functions_.insert(state.peek(1));
  }
  return flow;
}

// Defaults that a call filled in are the program's.
void Capture::import_defaults(TaedaFrame* frame) {
  PyFunctionObject* function = taeda_frame_function(frame);
  auto* object = reinterpret_cast<PyObject*>(function);
  if (is_made(object)) return;
  const Outside* outside = find(object);
  const int source = outside != nullptr ? outside->source : pin(object);
  auto* code = reinterpret_cast<PyCodeObject*>(function->func_code);
  PyObject** slots = taeda_frame_slots(frame);
  PyObject* defaults = function->func_defaults;
  const int count = defaults == nullptr ? 0 : static_cast<int>(PyTuple_GET_SIZE(defaults));
  for (int i = 0; i < count; ++i) {
    PyObject*& slot = slots[code->co_argcount - count + i];
    if (slot != nullptr && slot == PyTuple_GET_ITEM(defaults, i))
      Py_SETREF(slot, import(slot, sources_.of(Step::Default, source, i)));
  }
  for (int i = 0; function->func_kwdefaults != nullptr && i < code->co_kwonlyargcount; ++i) {
    PyObject*& slot = slots[code->co_argcount + i];
    PyObject* name = PyTuple_GET_ITEM(code->co_localsplusnames, code->co_argcount + i);
    if (slot != nullptr && slot == PyDict_GetItemWithError(function->func_kwdefaults, name))
      Py_SETREF(slot, import(slot, sources_.of(Step::KeywordDefault, source, 0, name)));
  }
}

// Whether functions of Python alone say what an instance is as a text: their frames come back
// through the hook. Conversions as in FORMAT_VALUE: none, str, repr, ascii.
static bool shows_itself(PyTypeObject* type, int conversion) {
  static const char* const names[] = {"__format__", "__str__", "__repr__"};
  // A class by its name.
  if (PyType_IsSubtype(type, &PyType_Type)) return type->tp_repr == PyType_Type.tp_repr;
  if (!is_plain_instance(type)) return false;
  for (int i = std::min(conversion, 2); i < 3; ++i) {
    Owned name(need(PyUnicode_InternFromString(names[i])));
    PyObject* found = _PyType_Lookup(type, name.get());
    if (found != nullptr && PyFunction_Check(found)) return true;
    if (found != _PyType_Lookup(&PyBaseObject_Type, name.get())) return false;
  }
  return false;
}

Flow Capture::format_value(State& state, int argument) {
  static const int with_flags = opcode_number("FORMAT_VALUE");
  static const int with_spec = opcode_number("FORMAT_WITH_SPEC");
  static const int converts = opcode_number("CONVERT_VALUE");
  const int opcode = state.now->opcode;
  const int count = opcode == with_spec || (opcode == with_flags && (argument & 4)) ? 2 : 1;
  for (int i = 1; i <= count; ++i) {
    PyObject*& part = state.peek(i);
    if (part != nullptr && python::is_symint(part)) Py_SETREF(part, need(PyNumber_Index(part)));
    if (part != nullptr && python::is_symfloat(part)) Py_SETREF(part, need(PyNumber_Float(part)));
    if (part != nullptr && recorder_.is_tensor_value(part)) throw Break{"a tensor as a text"};
  }
  PyObject* value = state.peek(count);
  if (find(value) != nullptr && twin_of(value) == nullptr && !PyUnicode_Check(value) &&
      !PyTuple_Check(value) && !recorder_.is_value(value)) {
    const int conversion = opcode == with_flags || opcode == converts ? argument & 3 : 0;
    if (!shows_itself(Py_TYPE(value), conversion)) throw Break{"an object as a text"};
    check_class(Py_TYPE(value));
  }
  open_deep(value);
  need_settled(value);
  return state.now->handler(state, argument);
}

}  // namespace taeda::dynamo
