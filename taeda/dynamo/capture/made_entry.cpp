// The end of a capture as a whole: its steps (recipes.cpp), its compiled graph and its guards.
#include <algorithm>

#include "taeda/dynamo/capture/capture.h"

namespace taeda::dynamo {

bool Capture::close(PyObject* value) { return make_entry(value, nullptr); }

bool Capture::close(const std::vector<const State*>& frames) {
  return make_entry(nullptr, &frames);
}

bool Capture::make_entry(PyObject* value, const std::vector<const State*>* frames) {
  const auto restore = [&] {
    modes_.restore();
    recorder_.restore(overrides_);
  };
  if (is_abandoned_) {
    restore();
    return false;
  }
  auto entry = std::make_unique<Entry>();
  try {
    if (Modes::now().num_levels != modes_.num_levels)
      throw Abandoned{"a break inside of a function transform", scope_began_at_};
    if (Modes::now().dual_level != modes_.dual_level)
      throw Abandoned{"a break inside of a level of forward mode", scope_began_at_};
    if (!locks_.empty()) throw Abandoned{"a break while a lock is held", scope_began_at_};
    if (num_undivided_ != 0)
      throw Abandoned{"a break between the inputs and the result of a module with backward hooks",
                      scope_began_at_};
    if (!write_recipes(*entry, value, frames)) {
      failure_ = Owned(taeda_take_raised());
      restore();
      return false;
    }
  } catch (const Break& problem) {
    reason_ = problem.reason;
    restore();
    return false;
  } catch (const Abandoned& problem) {
    reason_ = problem.reason;
    ends_at_ = problem.ends_at;
    restore();
    return false;
  } catch (const Raised&) {
    PyErr_Clear();
    reason_ = "an error behind the last instruction";
    restore();
    return false;
  }
  restore();
  entry->modes = modes_;
  Recorder::Compiled compiled = recorder_.compile(guards_);
  if (compiled.is_raised) {
    failure_ = Owned(taeda_take_raised());
    return false;
  }
  entry->compiled = Owned(compiled.callable);
  entry->is_foreign = compiled.is_foreign;
  entry->runs_with_grad = compiled.runs_with_grad;
  entry->inputs = std::move(compiled.inputs);
  entry->written = std::move(compiled.written);
  guards_.sources = sources_.all();
  for (int i = 0; i < sources_.size(); ++i) guards_.texts.push_back(sources_.text(i));
  for (Owned& object : sources_.take_kept()) guards_.kept.push_back(std::move(object));
  std::stable_sort(guards_.checks.begin(), guards_.checks.end(),
                   [](const Check& a, const Check& b) { return a.source < b.source; });
  guards_.prepare();
  entry->guards = std::move(guards_);
  entry->note_needed();
  entry_ = std::move(entry);
  return true;
}

}  // namespace taeda::dynamo
