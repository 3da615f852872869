#include "python/src/dynamo/compiled_regions.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "python/interop/errors.h"
#include "python/src/dispatch/overrides.h"
#include "python/src/dynamo/compiled_callable.h"
#include "python/src/dynamo/recorder_parts.h"
#include "python/src/dynamo/undo.h"
#include "taeda/autograd/forward.h"
#include "taeda/autograd/saved_hooks.h"
#include "taeda/base/str.h"
#include "taeda/dispatch/levels.h"
#include "taeda/dispatch/modes.h"

namespace taeda::python {

using dynamo::Ending;
using dynamo::Entry;
using dynamo::RegionRun;
using dynamo::State;

Stance stance = Stance::Default;
bool skips_guards = false;
thread_local bool is_disabled = false;
thread_local bool is_provisional = false;
thread_local CompiledCall* CompiledCall::now = nullptr;

bool has_foreign_modes() {
  return dispatch::num_levels() > 0 || !dispatch::modes().empty() || is_function_mode_active() ||
         override_state() != OverrideState::Enabled || autograd::current_dual_level() >= 0;
}

// Whether the program set modes or hooks that see calls as they are; they end where it ends them.
static bool has_own_modes() {
  const CompiledCall* call = CompiledCall::now;
  return has_foreign_modes() ||
         (call && autograd::num_saved_tensor_hooks() > call->num_saved_hooks);
}

namespace {

PyObject* dynamo_error(const char* name) {
  const dynamo::SessionScope natively(nullptr);
  Ref module(dynamo::imported_module("taeda.compiler._errors"));
  return module ? PyObject_GetAttrString(module.get(), name) : nullptr;
}

std::string instruction_name(const State& state) {
  return std::string(dynamo::opcodes()[state.now->opcode & 0xFF].name);
}

// (kind, name, text, sources, object): what a check asks, by which path, and of what. The sources
// are the path's own and those that it leads through; the object is None where there is none to
// show. `real` gives the value at a path, or null.
template <class Real>
Ref described(const dynamo::GuardProgram& guards, const dynamo::Check& check, const Real& real) {
  PyObject* object = check.kind == dynamo::Check::Kind::Tensor ? real(check.source) : check.object;
  Ref sources(checked(PyList_New(0)));
  for (int source = check.source; source >= 0; source = guards.sources[source].parent) {
    const Ref number(checked(PyLong_FromLong(source)));
    if (PyList_Append(sources.get(), number.get()) < 0) throw_python_error();
  }
  return Ref(checked(Py_BuildValue("(sssOO)", dynamo::GuardProgram::name_of(check.kind),
                                   guards.texts[check.source].c_str(), guards.text(check).c_str(),
                                   sources.get(), object ? object : Py_None)));
}

// Those of an entry, in the order of its checks; then those of numbers and of modes, one each.
template <class Real>
Ref guards_of(const Entry& entry, const Real& real) {
  Ref all(checked(PyList_New(0)));
  const auto add = [&](const Ref& one) {
    if (PyList_Append(all.get(), one.get()) < 0) throw_python_error();
  };
  for (const dynamo::Check& check : entry.guards.checks) add(described(entry.guards, check, real));
  std::string numbers;
  if (!entry.guards.shaped.empty())
    for (const std::string& text : entry.guards.numbers.texts())
      numbers += (numbers.empty() ? "" : "; ") + text;
  add(Ref(checked(Py_BuildValue("(sss[]O)", "SHAPE_ENV", "", numbers.c_str(), Py_None))));
  const char* modes = entry.checks_modes ? "grad mode, inference mode, autocast, default dtype and "
                                           "device are those of the capture"
                                         : "";
  add(Ref(checked(Py_BuildValue("(sss[]O)", "GLOBAL_STATE", "", modes, Py_None))));
  return all;
}

// Whether a function is the package's own.
bool is_in_package(const PyCodeObject* code) {
  const char* file = PyUnicode_AsUTF8(code->co_filename);
  if (!file) PyErr_Clear();
  const std::string& folder = package_folder();
  return file && std::strncmp(file, folder.c_str(), folder.size()) == 0;
}

int line_of(const State& state) { return state.code->line_of(state.now->unit); }

std::string text_of(PyObject* o) {
  const char* text = o && PyUnicode_Check(o) ? PyUnicode_AsUTF8(o) : nullptr;
  if (!text) PyErr_Clear();
  return text ? text : "?";
}

}  // namespace

namespace {

// A vector with the memory of the last call's. Calls inside of a call have one of their own.
struct SpareValues {
  explicit SpareValues(std::vector<PyObject*>& last) : values(std::move(last)), last(last) {}
  ~SpareValues() { last = std::move(values); }
  SpareValues(const SpareValues&) = delete;
  std::vector<PyObject*> values;
  std::vector<PyObject*>& last;
};

}  // namespace

// A capture with everything that it fills. When it ends well its entry goes to the region.
class ActiveCapture final : public dynamo::Capturing {
 public:
  ActiveCapture(CompiledRegions& owner, CompiledRegions::Region& region,
                const std::vector<const State*>& frames)
      : ended_{owner},
        owner_(owner),
        region_(region),
        first_code_(frames.front()->code->object),
        first_line_(PyCode_Addr2Line(first_code_, 2 * frames.front()->next->unit)),
        recorder_(sources_, guards_, region.history, owner.dynamic(), owner.options_.compile.get(),
                  owner.options_.is_whole),
        capture_(sources_, guards_, recorder_, frames),
        collects_(PyGC_Disable() == 1) {
    const CompiledRegions::Region::Attempt& attempt = region.attempt();
    capture_.break_at(attempt.break_at, attempt.break_reason);
    capture_.set_whole(owner.options_.is_whole || dynamo::fails_at_breaks());
    capture_.share_early_calls(&owner.early_calls_[PyThread_get_thread_ident()]);
    recorder_.begin_at(first_code_);
  }
  ~ActiveCapture() override {
    is_provisional = false;
    if (collects_) PyGC_Enable();
  }

  dynamo::Flow execute(State& state) override {
    const dynamo::Flow flow = capture_.execute(state);
    note_place(state);
    if (flow == dynamo::Flow::Break) instruction_ = instruction_name(state);
    return flow;
  }
  bool check_signals() override { return capture_.check_signals(); }
  PyObject* take_interruption() override { return capture_.take_interruption(); }
  void begin_frame(State& state) override { capture_.begin_frame(state); }
  bool begin_call(State& state) override { return capture_.begin_call(state); }
  void end_frame(TaedaFrame* frame) override { capture_.end_frame(frame); }
  void break_call() override { capture_.break_call(); }
  PyObject* give_to_c(TaedaFrame* frame, PyObject* result) override {
    return capture_.give_to_c(frame, result);
  }
  void note_raised() override {
    dynamo::Owned error(taeda_take_raised());
    const std::string kind = error ? Py_TYPE(error.get())->tp_name : "an error";
    taeda_set_raised(error.release());
    capture_.end_at_raised("the program raises " + kind);
    if (ends_earlier()) return;
    error = dynamo::Owned(taeda_take_raised());
    owner_.tell("given up", capture_.reason(), code_, line());
    const bool may_differ = !error || !dynamo::is_lack_of_room(error.get());
    if (owner_.options_.is_whole && CompiledCall::now && may_differ) note_for_caller(error.get());
    taeda_set_raised(error.release());
    region_.note_failure(owner_.options_.is_whole);
  }
  void finish() override { capture_.finish(); }
  bool close(PyObject* value) override {
    if (begins_again() || is_in_doubt()) return false;
    const bool is_made = capture_.close(value);
    return !(!is_made && ends_earlier()) && keep(is_made);
  }
  bool close(const std::vector<const State*>& frames) override {
    if (begins_again() || is_refused() || is_skipped()) return false;
    const std::string reason = capture_.reason();
    if (owner_.options_.is_whole || dynamo::fails_at_breaks()) {
      owner_.tell("break", reason, code_, line(), instruction_);
      CompiledRegions::Places places;
      for (const State* state : frames) {
        // Not the package's own frame around a program.
        const bool is_inside = state == frames.back() || !places.empty();
        if (is_inside || !is_in_package(state->code->object))
          places.emplace_back(state->code->object, line_of(*state));
      }
      owner_.fail_whole(reason, places);
      region_.attempt().break_at = 0;
      return false;
    }
    const bool is_made = capture_.close(frames);
    if (!is_made && ends_earlier()) return false;
    owner_.tell("break", reason, code_, line(), instruction_);
    return keep(is_made);
  }

 private:
  void note_for_caller(PyObject* error) {
    const dynamo::SessionScope natively(nullptr);
    const dynamo::StackRoom room;
    Ref text(error ? PyObject_Str(error) : nullptr);
    if (!text) PyErr_Clear();
    const std::string told = text ? ": " + text_of(text.get()) : "";
    CompiledCall::now->error = CompiledRegions::unsupported(
        capture_.reason() + " in its capture, and none when it runs" + told, {{code_, line()}});
  }

  // The line of the program that is captured: in functions of the package it is where it calls
  // them.
  void note_place(const State& state) {
    if (state.code->object != seen_code_) {
      seen_code_ = state.code->object;
      is_of_program_ = !is_in_package(seen_code_);
    }
    if (!is_of_program_ && code_ && is_code_of_program_) return;
    code_ = seen_code_;
    unit_ = state.now->unit;
    is_code_of_program_ = is_of_program_;
  }
  int line() const { return code_ ? PyCode_Addr2Line(code_, 2 * unit_) : 0; }

  bool begins_again() {
    if (capture_.begins_again()) region_.attempt().is_tried_again = true;
    return capture_.begins_again();
  }
  // Whether the program went on behind an error that may not be its own: that is a break.
  bool is_in_doubt() {
    if (capture_.doubts_at() == 0) return false;
    CompiledRegions::Region::Attempt& attempt = region_.attempt();
    attempt.break_at = capture_.doubts_at();
    attempt.break_reason = dynamo::Capture::kDoubt;
    return attempt.is_tried_again = true;
  }

  // Whether the region is captured again, up to where it can be compiled.
  bool ends_earlier() {
    const int64_t number = capture_.ends_at();
    CompiledRegions::Region::Attempt& attempt = region_.attempt();
    const bool is_earlier = attempt.break_at == 0 || number < attempt.break_at;
    if (number <= 0 || !is_earlier || owner_.options_.is_whole) return false;
    attempt.break_at = number;
    attempt.break_reason = capture_.reason();
    attempt.is_tried_again = true;
    return true;
  }

  // Whether the caller gets an error that is none of the program's.
  bool is_refused() {
    dynamo::Owned failure = capture_.take_failure();
    if (!failure) return false;
    owner_.error() = Ref(failure.release());
    return true;
  }

  // Whether the program runs as it is this time, and is captured at a later call.
  bool is_skipped() {
    if (!capture_.lacks_room()) return false;
    owner_.tell("given up", capture_.reason(), code_, line(), instruction_);
    region_.note_failure(owner_.options_.is_whole);
    return true;
  }

  bool keep(bool is_made) {
    if (is_made) {
      std::unique_ptr<Entry> entry = capture_.take_entry();
      // Views have the memory and the flag of their base.
      entry->checks_memory = recorder_.writes_inputs() || recorder_.tells_inputs();
      if (entry->checks_memory) recorder_.note_memory(*entry);
      if (owner_.options_.filter && !owner_.filter(*entry, recorder_)) return false;
      region_.entries.push_back(std::move(entry));
      region_.attempts.erase(PyThread_get_thread_ident());
      capture_.settle_early_calls();
      const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start_;
      owner_.tell("graph", std::to_string(taken.count()), first_code_, first_line_);
      return true;
    }
    if (is_refused()) return false;
    if (owner_.options_.is_whole && !owner_.has_error()) {
      owner_.fail_whole(capture_.reason(), {{code_, line()}});
    } else {
      owner_.tell("given up", capture_.reason(), code_, line(), instruction_);
      if (region_.attempt().break_at > 0) region_.note_failure(owner_.options_.is_whole);
    }
    return false;
  }

  // Tells of the end, when the program's world is back.
  struct Ended {
    CompiledRegions& owner;
    ~Ended() {
      PyObject* raised = PyErr_Occurred() ? taeda_take_raised() : nullptr;
      owner.tell("end", "", nullptr, 0);
      if (raised) taeda_set_raised(raised);
    }
  };
  Ended ended_;
  CompiledRegions& owner_;
  CompiledRegions::Region& region_;
  PyCodeObject* first_code_;
  int first_line_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  dynamo::Sources sources_;
  dynamo::GuardProgram guards_;
  GraphRecorder recorder_;
  dynamo::Capture capture_;
  PyCodeObject* code_ = nullptr;  // of the program, once it was there
  int unit_ = 0;
  bool is_code_of_program_ = false;
  PyCodeObject* seen_code_ = nullptr;
  bool is_of_program_ = false;
  std::string instruction_;
  // Objects that have nothing to do with the program end at other times: their code is none of
  // its.
  bool collects_;
};

std::shared_ptr<const Entry> CompiledRegions::Region::find(PyObject* const* const* slots,
                                                           std::vector<PyObject*>& values,
                                                           std::vector<dynamo::Owned>& held) const {
  if (skips_guards && entries.size() == 1)
    return entries.front()->fits(slots, values, held) ? entries.front() : nullptr;
  for (const auto& entry : entries) {
    held.clear();
    if (entry->takes(slots, values, held)) return entry;
  }
  return nullptr;
}

CompiledRegions::Place CompiledRegions::place_of(const std::vector<const State*>& frames) {
  Place place;
  for (const State* state : frames) place.emplace_back(state->code->object, state->next->start);
  return place;
}

bool CompiledRegions::tell(const char* what, const std::string& text, PyCodeObject* code, int line,
                           const std::string& instruction) {
  if (!options_.report) return false;
  const std::string file = code ? text_of(code->co_filename) : "";
  const GraphRecorder::Natively natively;
  const dynamo::StackRoom room;
  Ref done(PyObject_CallFunction(options_.report.get(), "sssisO", what, text.c_str(), file.c_str(),
                                 line, instruction.c_str(),
                                 code ? reinterpret_cast<PyObject*>(code) : Py_None));
  // Of callbacks, warnings that are errors, handlers of signals.
  if (!done && has_error()) PyErr_WriteUnraisable(options_.report.get());
  if (!done && !has_error()) error() = Ref(taeda_take_raised());
  return done.get() == Py_True;
}

bool CompiledRegions::raises() {
  const auto own = errors_.find(PyThread_get_thread_ident());
  if (own == errors_.end()) return false;
  Ref error = std::move(own->second);
  errors_.erase(own);
  taeda_set_raised(error.release());
  return true;
}

void CompiledRegions::fail_whole(const std::string& reason, const Places& places) {
  error() = unsupported(reason, places);
}

Ref CompiledRegions::unsupported(const std::string& reason, const Places& places) {
  const GraphRecorder::Natively natively;
  const dynamo::StackRoom room;
  const Ref make(dynamo_error("unsupported"));
  const Ref lines(PyList_New(0));
  for (const auto& [code, line] : places) {
    const Ref place(code ? Py_BuildValue("(OiO)", code->co_filename, line, code->co_name)
                         : nullptr);
    if (place && lines) PyList_Append(lines.get(), place.get());
  }
  Ref error(make && lines ? PyObject_CallFunction(make.get(), "sO", reason.c_str(), lines.get())
                          : nullptr);
  // What kept it from being made is an error, too.
  return error ? std::move(error) : Ref(taeda_take_raised());
}

bool CompiledRegions::filter(Entry& entry, const GraphRecorder& recorder) {
  const GraphRecorder::Natively natively;
  const dynamo::StackRoom room;
  const size_t count = entry.guards.checks.size();
  try {
    const Ref given = guards_of(entry, [&](int source) { return recorder.real_at(source); });
    const Ref answer(checked(PyObject_CallOneArg(options_.filter.get(), given.get())));
    const Ref flags(checked(PySequence_List(answer.get())));
    TAEDA_CHECK(PyList_GET_SIZE(flags.get()) == static_cast<Py_ssize_t>(count + 2),
                "guard_filter_fn gives a bool per guard: got ", PyList_GET_SIZE(flags.get()),
                ", expected ", count + 2);
    std::vector<bool> wanted;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(flags.get()); ++i) {
      const int is_wanted = PyObject_IsTrue(PyList_GET_ITEM(flags.get(), i));
      if (is_wanted < 0) throw_python_error();
      wanted.push_back(is_wanted == 1);
    }
    if (std::find(wanted.begin(), wanted.end(), false) == wanted.end()) return true;
    entry.checks_modes = wanted[count + 1];
    entry.guards.keep_only(wanted, wanted[count]);
    entry.is_filtered = true;
    return true;
  } catch (...) {
    translate_exception();
    error() = Ref(taeda_take_raised());
    return false;
  }
}

// Sizes of arguments before anything is compiled: those that differ at the next call are symbols.
void CompiledRegions::note_sizes(const State& frame, History& history) {
  const auto note = [&](const std::string& name, PyObject* value) {
    if (!is_tensor(value)) return;
    const IntList sizes = tensor_of(value).sizes();
    history.sizes[name].assign(sizes.begin(), sizes.end());
  };
  PyCodeObject* code = frame.code->object;
  const int count = code->co_argcount + code->co_kwonlyargcount +
                    ((code->co_flags & CO_VARARGS) != 0) + ((code->co_flags & CO_VARKEYWORDS) != 0);
  for (int i = 0; i < count; ++i) {
    PyObject* value = frame.slots[i];
    if (!value) continue;
    const std::string name = "L['" + text_of(PyTuple_GET_ITEM(code->co_localsplusnames, i)) + "']";
    note(name, value);
    for (Py_ssize_t j = 0; PyTuple_Check(value) && j < PyTuple_GET_SIZE(value); ++j)
      note(str(name, "[", j, "]"), PyTuple_GET_ITEM(value, j));
  }
}

Dynamic CompiledRegions::dynamic() const {
  const dynamo::SessionScope natively(nullptr);
  const dynamo::StackRoom room;
  const Ref answer(checked(PyObject_CallNoArgs(options_.dynamic.get())));
  if (answer.get() == Py_None) return Dynamic::WhereChanged;
  const int is_always = PyObject_IsTrue(answer.get());
  if (is_always < 0) throw_python_error();
  return is_always ? Dynamic::Always : Dynamic::Never;
}

Py_ssize_t CompiledRegions::recompile_limit() const {
  const dynamo::SessionScope natively(nullptr);
  const dynamo::StackRoom room;
  const Ref answer(PyObject_CallNoArgs(options_.recompile_limit.get()));
  return answer ? PyLong_AsSsize_t(answer.get()) : -1;
}

// The places of regions name code.
void CompiledRegions::keep_codes(const std::vector<const State*>& frames) {
  for (const State* state : frames)
    codes_.push_back(Ref::share(reinterpret_cast<PyObject*>(state->code->object)));
}

std::shared_ptr<const Entry> CompiledRegions::adopt(const std::vector<const State*>& frames,
                                                    Region& region, PyObject* const* const* slots,
                                                    std::vector<PyObject*>& values,
                                                    std::vector<dynamo::Owned>& held) {
  if (!options_.siblings || skips_guards) return nullptr;
  Ref others;
  {
    const dynamo::SessionScope natively(nullptr);
    const dynamo::StackRoom room;
    others = Ref(PyObject_CallNoArgs(options_.siblings.get()));
  }
  if (!others) error() = Ref(taeda_take_raised());
  const Place place = place_of(frames);
  for (Py_ssize_t i = 0; others && i < PyList_GET_SIZE(others.get()); ++i) {
    const std::shared_ptr<CompiledRegions> other = regions_of(PyList_GET_ITEM(others.get(), i));
    const auto found = other->regions_.find(place);
    if (other.get() == this || found == other->regions_.end() || found->second.is_provisional)
      continue;
    std::shared_ptr<const Entry> entry = found->second.find(slots, values, held);
    if (!entry) {
      // Sizes and numbers that were others there change here, too.
      if (options_.shares_history && region.entries.empty() && !region.is_seen)
        region.history = found->second.history;
      continue;
    }
    keep_codes(frames);
    region.entries.push_back(entry);
    return entry;
  }
  return nullptr;
}

RegionRun CompiledRegions::run(const std::vector<const State*>& frames, Ending& ending) {
  if (raises()) return RegionRun::Raised;
  if (has_own_modes()) return RegionRun::AsItIs;
  Region& region = regions_[place_of(frames)];
  if (region.take_skip() || region.is_native) return RegionRun::Natively;
  if (region.is_provisional && !region.entries.empty() && !std::exchange(region.is_fresh, false)) {
    region.entries.clear();
    region.is_provisional = false;
    region.is_seen = true;
  }
  std::vector<PyObject* const*> slots;
  std::vector<PyObject*> functions;
  for (const State* state : frames) {
    slots.push_back(state->slots);
    functions.push_back(reinterpret_cast<PyObject*>(taeda_frame_function(state->frame)));
  }
  slots.push_back(functions.data());
  std::vector<PyObject*> values;
  std::vector<dynamo::Owned> held;
  std::shared_ptr<const Entry> entry = region.find(slots.data(), values, held);
  if (!entry) entry = adopt(frames, region, slots.data(), values, held);
  if (raises()) return RegionRun::Raised;
  if (entry) {
    const Undo undo(*entry, values);
    const Entry::Run run = entry->run(values, ending);
    if (run == Entry::Run::Done) return RegionRun::Ran;
    return undo.perform(run) ? RegionRun::Natively : RegionRun::Raised;
  }
  PyCodeObject* code = frames.front()->code->object;
  std::string reason;
  const auto fail = [&](const char* error, const std::string& text) {
    Ref type(dynamo_error(error));
    PyErr_SetString(type ? type.get() : PyExc_RuntimeError,
                    (text + (reason.empty() ? "" : ": " + reason)).c_str());
    return RegionRun::Raised;
  };
  if (stance == Stance::EagerOnRecompile) return RegionRun::Natively;
  if (!region.entries.empty()) {
    held.clear();
    region.entries.back()->takes(slots.data(), values, held, &reason);
  }
  if (stance == Stance::FailOnRecompile)
    return fail(
        "RecompileError",
        str("Detected recompile when torch.compile stance is 'fail_on_recompile'. filename: "
            "'",
            text_of(code->co_filename), "', function name: '", text_of(code->co_name),
            "', line number: ", code->co_firstlineno,
            region.entries.empty() ? "" : "\na compiled function is compiled again"));
  if (stance == Stance::EagerThenCompile && region.entries.empty() && !region.is_seen) {
    region.is_seen = true;
    note_sizes(*frames.front(), region.history);
    return RegionRun::Natively;
  }
  if (!region.entries.empty()) {
    const std::string again = "a compiled function is compiled again";
    const Py_ssize_t limit = recompile_limit();
    if (limit < 0 && PyErr_Occurred()) return RegionRun::Raised;
    if (static_cast<Py_ssize_t>(region.entries.size()) >= limit) {
      if (tell("limit", reason, code, code->co_firstlineno))
        return fail("FailOnRecompileLimitHit", again);
      region.is_native = true;
      return raises() ? RegionRun::Raised : RegionRun::Natively;
    }
    if (tell("recompile", reason, code, code->co_firstlineno)) return fail("RecompileError", again);
    if (raises()) return RegionRun::Raised;
  }
  return RegionRun::Missing;
}

std::unique_ptr<dynamo::Capturing> CompiledRegions::capture(
    const std::vector<const State*>& frames) {
  keep_codes(frames);
  tell("begin", "", frames.front()->code->object, frames.front()->code->object->co_firstlineno);
  if (raises()) return nullptr;
  Region& region = regions_[place_of(frames)];
  const State& state = *frames.front();
  const bool is_begun = frames.size() == 1 && state.next == state.code->instructions.data() &&
                        region.attempt().break_at == 0;
  if (is_begun) early_calls_[PyThread_get_thread_ident()].clear();
  is_provisional = region.is_provisional = region.is_fresh =
      stance == Stance::AotEagerThenCompile && region.entries.empty() && !region.is_seen;
  try {
    return std::make_unique<ActiveCapture>(*this, region, frames);
  } catch (...) {
    translate_exception();
    is_provisional = false;
    return nullptr;
  }
}

bool CompiledRegions::takes_callee(PyFunctionObject* function) const {
  constexpr int kSuspended = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR;
  const auto* code = reinterpret_cast<PyCodeObject*>(function->func_code);
  const std::string module = text_of(function->func_module);
  const bool is_left_alone = is_disabled || stance == Stance::ForceEager || has_foreign_modes() ||
                             module == "taeda" || module.starts_with("taeda.");
  return !is_left_alone && !options_.is_whole && !(code->co_flags & kSuspended) &&
         known_calls().of(reinterpret_cast<PyObject*>(function)) == dynamo::CallKind::Entered;
}

void CompiledRegions::give_up(const std::vector<const State*>& frames) {
  Region& region = regions_[place_of(frames)];
  Region::Attempt& attempt = region.attempt();
  const bool is_tried_again = std::exchange(attempt.is_tried_again, false);
  if (!has_error() && !is_tried_again && !attempt.is_skipped) region.is_native = true;
}

// A program that raises with these arguments may do well with others.
// One that is to be compiled as a whole is not left alone for it: its breaks are errors.
void CompiledRegions::Region::note_failure(bool is_whole) {
  constexpr int kMost = 8;
  attempt().break_at = 0;
  attempt().is_skipped = true;
  is_native = ++num_raised >= kMost && !is_whole;
}

bool CompiledRegions::Region::take_skip() {
  const auto own = attempts.find(PyThread_get_thread_ident());
  return own != attempts.end() && std::exchange(own->second.is_skipped, false);
}

PyObject* CompiledRegions::run_whole(PyFunctionObject* function, PyObject* const* slots,
                                     bool& is_failed, bool& is_native) {
  auto* code = reinterpret_cast<PyCodeObject*>(function->func_code);
  auto* object = reinterpret_cast<PyObject*>(function);
  PyObject* const* const frames[] = {slots, &object};
  is_failed = is_native = false;
  if (whole_.first != code) {
    const auto found = regions_.find({{code, 0}});
    if (found == regions_.end()) return nullptr;
    whole_ = {code, &found->second};
  }
  Region& region = *whole_.second;
  if (region.is_provisional) return nullptr;
  SpareValues spare(spare_);
  std::vector<PyObject*>& values = spare.values;
  std::vector<dynamo::Owned> held;
  if (const auto entry = region.find(frames, values, held)) {
    if (entry->result < 0) return nullptr;
    Ending ending;
    const Undo undo(*entry, values);
    const Entry::Run run = entry->run(values, ending);
    if (run == Entry::Run::Done) return ending.value.release();
    is_native = undo.perform(run);
    is_failed = !is_native;
    return nullptr;
  }
  return nullptr;
}

int CompiledRegions::visit(visitproc visit, void* arg) const {
  for (const Ref* part : {&options_.compile, &options_.report, &options_.filter, &options_.dynamic,
                          &options_.recompile_limit, &options_.siblings})
    Py_VISIT(part->get());
  for (const Ref& code : codes_) Py_VISIT(code.get());
  for (const auto& [place, region] : regions_)
    for (const auto& entry : region.entries) {
      if (entry.use_count() != 1) continue;
      Py_VISIT(entry->compiled.get());
      for (const dynamo::Owned& part : entry->kept) Py_VISIT(part.get());
      for (const dynamo::Owned& part : entry->guards.kept) Py_VISIT(part.get());
    }
  return 0;
}

size_t CompiledRegions::num_entries() const {
  size_t count = 0;
  for (const auto& [place, region] : regions_) count += region.entries.size();
  return count;
}

Ref CompiledRegions::guards() const {
  Ref all(checked(PyList_New(0)));
  for (const auto& [place, region] : regions_)
    for (const auto& entry : region.entries) {
      const auto& [code, unit] = place.back();
      const Ref found = guards_of(*entry, [](int) -> PyObject* { return nullptr; });
      const Ref one(checked(Py_BuildValue("(OiO)", code->co_filename,
                                          PyCode_Addr2Line(code, 2 * unit), found.get())));
      if (PyList_Append(all.get(), one.get()) < 0) throw_python_error();
    }
  return all;
}

}  // namespace taeda::python
