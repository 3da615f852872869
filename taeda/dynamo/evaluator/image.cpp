#include "taeda/dynamo/evaluator/image.h"

namespace taeda::dynamo {

FrameImage::FrameImage(Owned function, PyCodeObject* code, std::vector<Owned> slots,
                       const Instruction* now, const Instruction* next)
    : function_(std::move(function)),
      code_(code),
      code_reference_(Py_NewRef(reinterpret_cast<PyObject*>(code))),
      slots_(std::move(slots)),
      now_(now),
      next_(next) {}

FrameImage FrameImage::of(const State& state) {
  FrameImage image;
  image.function_ =
      Owned(Py_NewRef(reinterpret_cast<PyObject*>(taeda_frame_function(state.frame))));
  image.code_ = state.code->object;
  image.code_reference_ = Owned(Py_NewRef(reinterpret_cast<PyObject*>(image.code_)));
  image.namespace_ = Owned(Py_XNewRef(taeda_frame_namespace(state.frame)));
  for (PyObject** slot = state.slots; slot < state.top; ++slot)
    image.slots_.emplace_back(Py_XNewRef(*slot));
  for (PyObject** slot = state.slots; slot < state.stack_base(); ++slot) {
    if (*slot == nullptr || !PyCell_Check(*slot)) continue;
    image.cells_.emplace_back(Py_NewRef(*slot), PyCell_Get(*slot));
  }
  image.now_ = state.now;
  image.next_ = state.next;
  image.keyword_names_ = state.keyword_names;
  return image;
}

TaedaFrame* FrameImage::push(PyThreadState* thread, TaedaFrame* caller) const {
  auto* function = reinterpret_cast<PyFunctionObject*>(function_.get());
  return taeda_frame_push(thread, function, code_, namespace_.get(), caller);
}

void FrameImage::write(State& state) {
  PyObject** old_top = state.top;
  state.top = state.slots + slots_.size();
  for (size_t i = 0; i < slots_.size(); ++i) {
    PyObject* old = state.slots + i < old_top ? state.slots[i] : nullptr;
    state.slots[i] = slots_[i].release();
    Py_XDECREF(old);
  }
  for (PyObject** slot = state.top; slot < old_top; ++slot) Py_XDECREF(*slot);
  state.now = now_;
  state.next = next_;
  state.keyword_names = keyword_names_;
  state.checks = false;
  taeda_frame_set_at(state.frame, now_->unit);
}

void FrameImage::write_cells() {
  for (auto& [cell, contents] : cells_) PyCell_Set(cell.get(), contents.get());
}

}  // namespace taeda::dynamo
