#include "python/src/dynamo/compiled_regions.h"

#include <algorithm>
#include <utility>

#include "python/interop/errors.h"
#include "python/src/compile/compiled_object.h"
#include "python/src/dispatch/overrides.h"
#include "taeda/autograd/forward.h"
#include "taeda/base/str.h"
#include "taeda/dispatch/levels.h"
#include "taeda/dispatch/modes.h"

namespace taeda::python {

using dynamo::Ending;
using dynamo::Entry;
using dynamo::RegionRun;
using dynamo::State;

Stance stance = Stance::Default;

bool has_foreign_modes() {
  return dispatch::num_levels() > 0 || !dispatch::modes().empty() || is_function_mode_active() ||
         override_state() != OverrideState::Enabled || autograd::current_dual_level() >= 0;
}

namespace {

PyObject* dynamo_error(const char* name) {
  const dynamo::SessionScope natively(nullptr);
  Ref module(PyImport_ImportModule("taeda._dynamo.exc"));
  return module ? PyObject_GetAttrString(module.get(), name) : nullptr;
}

int line_of(const State& state) {
  return PyCode_Addr2Line(state.code->object, 2 * state.now->unit);
}

std::string text_of(PyObject* o) {
  const char* text = o && PyUnicode_Check(o) ? PyUnicode_AsUTF8(o) : nullptr;
  if (!text) PyErr_Clear();
  return text ? text : "?";
}

}  // namespace

// A capture with everything that it fills. When it ends well its entry goes to the region.
class ActiveCapture final : public dynamo::Capturing {
 public:
  ActiveCapture(CompiledRegions& owner, CompiledRegions::Region& region,
                const std::vector<const State*>& frames)
      : owner_(owner),
        region_(region),
        recorder_(sources_, guards_, region.history, owner.options_.dynamic,
                  owner.options_.compile.get()),
        capture_(sources_, guards_, recorder_, frames),
        collects_(PyGC_Disable() == 1) {
    capture_.break_at(region.break_at, region.break_reason);
  }
  ~ActiveCapture() override {
    if (collects_) PyGC_Enable();
  }

  dynamo::Flow execute(State& state) override {
    const dynamo::Flow flow = capture_.execute(state);
    if (flow == dynamo::Flow::Break) {
      code_ = state.code->object;
      line_ = line_of(state);
    }
    return flow;
  }
  void begin_frame(State& state) override { capture_.begin_frame(state); }
  bool begin_call(State& state) override { return capture_.begin_call(state); }
  void end_frame(TaedaFrame* frame) override { capture_.end_frame(frame); }
  void break_call() override { capture_.break_call(); }
  void note_raised() override {
    dynamo::Owned error(taeda_take_raised());
    const std::string kind = error ? Py_TYPE(error.get())->tp_name : "an error";
    taeda_set_raised(error.release());
    capture_.end_at_raised("the program raises " + kind);
    if (ends_earlier()) return;
    error = dynamo::Owned(taeda_take_raised());
    owner_.tell("given up", capture_.reason(), nullptr, 0);
    taeda_set_raised(error.release());
    region_.note_failure();
  }
  void finish() override { capture_.finish(); }
  bool close(PyObject* value) override {
    const bool is_made = capture_.close(value);
    return !(!is_made && ends_earlier()) && keep(is_made);
  }
  bool close(const std::vector<const State*>& frames) override {
    if (owner_.options_.is_whole) {
      owner_.fail_whole(capture_.reason(), code_, line_);
      return false;
    }
    const std::string reason = capture_.reason();
    const bool is_made = capture_.close(frames);
    if (!is_made && ends_earlier()) return false;
    owner_.tell("break", reason, code_, line_);
    return keep(is_made);
  }

 private:
  // Whether the region is captured again, up to where it can be compiled.
  bool ends_earlier() {
    const int64_t number = capture_.ends_at();
    const bool is_earlier = region_.break_at == 0 || number < region_.break_at;
    if (number <= 0 || !is_earlier || owner_.options_.is_whole) return false;
    region_.break_at = number;
    region_.break_reason = capture_.reason();
    region_.is_tried_again = true;
    return true;
  }

  bool keep(bool is_made) {
    if (is_made) {
      std::unique_ptr<Entry> entry = capture_.take_entry();
      entry->checks_memory = recorder_.writes_inputs();
      if (entry->checks_memory) recorder_.note_memory(*entry);
      // A graph that writes to nothing may be run again, by the program itself.
      entry->is_transactional = entry->compiled && (is_compiled_graph(entry->compiled.get()) ||
                                                    !recorder_.writes_inputs());
      region_.entries.push_back(std::move(entry));
      region_.break_at = 0;
      owner_.tell("graph", "", nullptr, 0);
      return true;
    }
    if (dynamo::Owned failure = capture_.take_failure()) {
      owner_.error_ = Ref(failure.release());
    } else if (owner_.options_.is_whole && !owner_.error_) {
      owner_.fail_whole(capture_.reason(), code_, line_);
    } else {
      owner_.tell("given up", capture_.reason(), code_, line_);
      if (region_.break_at > 0) region_.note_failure();
    }
    return false;
  }

  CompiledRegions& owner_;
  CompiledRegions::Region& region_;
  dynamo::Sources sources_;
  dynamo::GuardProgram guards_;
  GraphRecorder recorder_;
  dynamo::Capture capture_;
  PyCodeObject* code_ = nullptr;
  int line_ = 0;
  // Objects that have nothing to do with the program end at other times: their code is none of
  // its.
  bool collects_;
};

std::shared_ptr<const Entry> CompiledRegions::Region::find(PyObject* const* const* slots,
                                                           std::vector<PyObject*>& values,
                                                           std::vector<dynamo::Owned>& held) const {
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

bool CompiledRegions::tell(const char* what, const std::string& text, PyCodeObject* code,
                           int line) {
  if (!options_.report) return false;
  const std::string file = code ? text_of(code->co_filename) : "";
  const dynamo::SessionScope natively(nullptr);
  Ref done(
      PyObject_CallFunction(options_.report.get(), "sssi", what, text.c_str(), file.c_str(), line));
  if (!done) PyErr_WriteUnraisable(options_.report.get());
  return done.get() == Py_True;
}

void CompiledRegions::fail_whole(const std::string& reason, PyCodeObject* code, int line) {
  const dynamo::SessionScope natively(nullptr);
  Ref type(dynamo_error("Unsupported"));
  if (!type) PyErr_Clear();
  const std::string where = code
                                ? str("\n\nfrom user code:\n   File \"", text_of(code->co_filename),
                                      "\", line ", line, ", in ", text_of(code->co_name))
                                : "";
  error_ = Ref(
      PyObject_CallFunction(type ? type.get() : PyExc_RuntimeError, "s", (reason + where).c_str()));
}

RegionRun CompiledRegions::run(const std::vector<const State*>& frames, Ending& ending) {
  if (error_) {
    taeda_set_raised(error_.release());
    return RegionRun::Raised;
  }
  if (has_foreign_modes()) return RegionRun::Natively;
  Region& region = regions_[place_of(frames)];
  if (std::exchange(region.is_skipped, false) || region.is_native) return RegionRun::Natively;
  std::vector<PyObject* const*> slots;
  for (const State* state : frames) slots.push_back(state->slots);
  std::vector<PyObject*> values;
  std::vector<dynamo::Owned> held;
  if (const auto entry = region.find(slots.data(), values, held)) {
    if (entry->run(values, ending)) return RegionRun::Ran;
    if (!entry->is_transactional) return RegionRun::Raised;
    // Nothing of the region happened: the program raises its error itself.
    PyErr_Clear();
    return RegionRun::Natively;
  }
  if (!region.entries.empty()) {
    std::string reason;
    held.clear();
    region.entries.back()->takes(slots.data(), values, held, &reason);
    PyCodeObject* code = frames.front()->code->object;
    if (stance == Stance::EagerOnRecompile) return RegionRun::Natively;
    const auto fail = [&](const char* error) {
      Ref type(dynamo_error(error));
      PyErr_SetString(type ? type.get() : PyExc_RuntimeError,
                      str("a compiled function is compiled again: ", reason).c_str());
      return RegionRun::Raised;
    };
    if (stance == Stance::FailOnRecompile) return fail("RecompileError");
    if (region.entries.size() >= options_.recompile_limit) {
      if (tell("limit", reason, code, code->co_firstlineno)) return fail("FailOnRecompileLimitHit");
      region.is_native = true;
      return RegionRun::Natively;
    }
    if (tell("recompile", reason, code, code->co_firstlineno)) return fail("RecompileError");
  }
  return RegionRun::Missing;
}

std::unique_ptr<dynamo::Capturing> CompiledRegions::capture(
    const std::vector<const State*>& frames) {
  for (const State* state : frames)
    codes_.push_back(Ref::share(reinterpret_cast<PyObject*>(state->code->object)));
  try {
    return std::make_unique<ActiveCapture>(*this, regions_[place_of(frames)], frames);
  } catch (...) {
    translate_exception();
    return nullptr;
  }
}

void CompiledRegions::give_up(const std::vector<const State*>& frames) {
  Region& region = regions_[place_of(frames)];
  const bool is_tried_again = std::exchange(region.is_tried_again, false);
  if (!error_ && !is_tried_again && !region.is_skipped) region.is_native = true;
}

// A program that raises with these arguments may do well with others.
void CompiledRegions::Region::note_failure() {
  constexpr int kMost = 8;
  break_at = 0;
  is_skipped = true;
  is_native = ++num_raised >= kMost;
}

PyObject* CompiledRegions::run_whole(PyCodeObject* code, PyObject* const* slots, bool& is_failed,
                                     bool& is_native) {
  is_failed = is_native = false;
  const auto found = regions_.find({{code, 0}});
  if (found == regions_.end()) return nullptr;
  std::vector<PyObject*> values;
  std::vector<dynamo::Owned> held;
  if (const auto entry = found->second.find(&slots, values, held)) {
    if (entry->result < 0) return nullptr;
    Ending ending;
    if (entry->run(values, ending)) return ending.value.release();
    is_failed = !entry->is_transactional;
    is_native = !is_failed;
    if (is_native) PyErr_Clear();
    return nullptr;
  }
  return nullptr;
}

size_t CompiledRegions::num_entries() const {
  size_t count = 0;
  for (const auto& [place, region] : regions_) count += region.entries.size();
  return count;
}

std::string CompiledRegions::guards_text() const {
  std::string text;
  for (const auto& [place, region] : regions_)
    for (const auto& entry : region.entries)
      for (const dynamo::Check& check : entry->guards.checks)
        text += entry->guards.text(check) + "\n";
  return text;
}

}  // namespace taeda::python
