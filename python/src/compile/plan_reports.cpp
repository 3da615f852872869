// Reports of plans as dicts.
#include <cstring>

#include "python/interop/errors.h"
#include "python/interop/wrap.h"
#include "python/src/compile/compiled_object.h"

namespace taeda::python {
namespace {

class Dict {
 public:
  Dict() : object_(checked(PyDict_New())) {}
  template <class T>
  Dict& set(const char* key, const T& value) {
    return set_object(key, Ref(checked(wrap(value))));
  }
  Dict& set_object(const char* key, Ref value) {
    if (PyDict_SetItemString(object_.get(), key, value.get()) < 0) throw_python_error();
    return *this;
  }
  PyObject* release() { return object_.release(); }

 private:
  Ref object_;
};

template <class Items, class F>
Ref list_of(const Items& items, F&& f) {
  Ref all(checked(PyList_New(0)));
  for (const auto& item : items) {
    const Ref one(checked(f(item)));
    if (PyList_Append(all.get(), one.get()) < 0) throw_python_error();
  }
  return all;
}

Ref texts(const std::vector<std::string>& all) {
  return list_of(all, [](const std::string& text) { return wrap(text); });
}

PyObject* step_report(const inductor::StepReport& step) {
  return Dict()
      .set("kind", std::string(step.is_kernel ? "kernel" : "call"))
      .set("name", step.name)
      .set("epilogue", step.epilogue)
      .set_object("prologues", texts(step.prologues))
      .set_object("post_ops", texts(step.post_ops))
      .set("finished_by_library", step.is_finished_by_library)
      .set("native", step.is_native)
      .set_object("values", texts(step.values))
      .set_object("nodes", texts(step.nodes))
      .set_object("lines", texts(step.lines))
      .set("members", static_cast<int64_t>(step.members))
      .set("singles", static_cast<int64_t>(step.singles))
      .set("family", static_cast<int64_t>(step.family))
      .set("packed_bytes", step.packed_bytes)
      .set("bytes_read", step.bytes_read)
      .set("bytes_written", step.bytes_written)
      .set("bytes_saved", step.bytes_saved)
      .set("seconds", step.seconds)
      .release();
}

PyObject* slot_report(const inductor::ArenaSlot& slot) {
  return Dict()
      .set("value", slot.value)
      .set("first", int64_t{slot.first})
      .set("last", int64_t{slot.last})
      .set("offset", slot.offset)
      .set("bytes", slot.bytes)
      .release();
}

PyObject* plan_report(const inductor::CompiledGraph& plan) {
  const inductor::PlanReport r = plan.report();
  Dict stages;
  for (const auto& [stage, seconds] : r.seconds) stages.set(stage.c_str(), seconds);
  return Dict()
      .set("kernels", int64_t{r.kernels})
      .set("native", int64_t{r.native})
      .set("distinct_kernels", int64_t{r.distinct_kernels})
      .set("calls", int64_t{r.calls})
      .set("arena_bytes", r.arena_bytes)
      .set("output_bytes", r.output_bytes)
      .set("runs_by_eager", r.runs_by_eager)
      .set_object("problem", Ref(checked(wrap_message(r.problem))))
      .set_object("called", texts(r.called))
      .set_object("library_calls", texts(r.library_calls))
      .set_object("fallbacks", texts(r.fallbacks))
      .set_object("steps", list_of(r.steps, step_report))
      .set_object("arena", list_of(r.arena, slot_report))
      .set_object("seconds", Ref(stages.release()))
      .release();
}

}  // namespace

PyObject* plan_reports(const Compiled& compiled) {
  return list_of(compiled.plans, [](const auto& plan) { return plan_report(*plan); }).release();
}

}  // namespace taeda::python
