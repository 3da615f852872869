// What a region changed before it failed, put back.
#include "python/src/dynamo/undo.h"

#include "python/src/dynamo/recorder_parts.h"
#include "taeda/autograd/grad_mode.h"
#include "taeda/autograd/saved_hooks.h"
#include "taeda/dispatch/modes.h"
#include "taeda/ops/functions.h"

namespace taeda::python {

// An error of a function that the program's own backend made is none of the program's.
Undo::Undo(const dynamo::Entry& entry, const std::vector<PyObject*>& values)
    : is_repeatable_(entry.compiled && !entry.is_foreign),
      num_failed_packs_(autograd::num_failed_packs()) {
  if (!is_repeatable_) return;
  stream_ = default_cpu_generator().get_state();
  for (const dynamo::Draw& draw : entry.draws) {
    PyObject* generator = values[draw.generator];
    if (!generators_.empty() && generators_.back().first.get() == generator) continue;
    Ref state(PyObject_CallMethod(generator, "getstate", nullptr));
    if (!state) PyErr_Clear();
    if (state) generators_.emplace_back(Ref::share(generator), std::move(state));
  }
  try {
    for (const int source : entry.written)
      if (values[source]) keep(tensor_of(values[source]));
  } catch (const Error&) {
    is_repeatable_ = false;  // there is no memory for a copy
  }
}

void Undo::keep(const Tensor& t) {
  // What lies in no memory of its own is its class's to write to.
  if (t.keys().has(Key::Python) || dispatch::has_no_memory(t)) is_repeatable_ = false;
  if (!is_repeatable_) return;
  const autograd::NoGrad unrecorded;
  const Tensor place = autograd::detached(t);
  written_.push_back({t, place, place.clone(), t.impl()->version()});
  histories_.emplace_back(t);
  if (TensorImpl* base = t.impl()->view_base())
    histories_.emplace_back(Tensor(IntrusivePtr<TensorImpl>::share(base)));
}

void Undo::Written::put_back() const {
  const TensorImpl& before = *place.impl();
  TensorImpl& impl = *tensor.impl();
  place.copy_(elements);
  if (impl.storage() != before.storage()) impl.set_storage(before.storage());
  impl.set_geometry(before.sizes(), before.strides(), before.storage_offset());
  if (impl.has_version_counter()) impl.version_counter().store(version, std::memory_order_relaxed);
}

void Undo::put_back() const {
  const autograd::NoGrad unrecorded;
  for (const Written& one : written_) one.put_back();
  for (const autograd::KeptHistory& history : histories_) history.put_back();
  if (stream_) default_cpu_generator().set_state(*stream_);
  for (auto it = generators_.rbegin(); it != generators_.rend(); ++it) {
    const auto& [generator, state] = *it;
    const Ref name(PyUnicode_InternFromString("setstate"));
    const Ref done(name ? PyObject_CallMethodOneArg(generator.get(), name.get(), state.get())
                        : nullptr);
    if (!done) PyErr_Clear();
  }
}

// A signal's handler raised it, in a function of Python that the graph calls.
static bool is_interruption(PyObject* error) {
  const dynamo::SessionScope natively(nullptr);
  const dynamo::StackRoom room;
  static PyObject* const ask = attribute_of("taeda.compiler._capture", "is_interruption");
  const Ref answer(checked(PyObject_CallOneArg(ask, error)));
  return answer.get() == Py_True;
}

bool Undo::perform(dynamo::Entry::Run run) const {
  if (!is_repeatable_ || run != dynamo::Entry::Run::Failed) return false;
  // What hooks of saved tensors raise, such as the end of a recomputation, is no error of a region.
  if (autograd::num_failed_packs() != num_failed_packs_) return false;
  Ref error(taeda_take_raised());
  try {
    put_back();
    if (!is_interruption(error.get())) return true;
    taeda_set_raised(error.release());
  } catch (...) {
    translate_exception();
  }
  return false;
}

}  // namespace taeda::python
