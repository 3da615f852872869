// A frame's values taken out of it: to put them back when a segment failed, and to make a real
// frame for a call that the evaluator ran without one.
#pragma once

#include <Python.h>

#include <utility>
#include <vector>

#include "taeda/dynamo/evaluator/state.h"

namespace taeda::dynamo {

// Holds references to everything it names, and the contents of cells: variables that functions
// share. Iterators and other objects are as they are. The image of a caller shows it between the
// call and its result.
class FrameImage {
 public:
  static FrameImage of(const State& state);
  // A frame of `function` before `next`; `now` is its call where it waits for a result.
  FrameImage(Owned function, PyCodeObject* code, std::vector<Owned> slots, const Instruction* now,
             const Instruction* next);
  FrameImage(FrameImage&&) noexcept = default;
  FrameImage& operator=(FrameImage&&) noexcept = default;

  // A frame on the data stack with this image's function; its values are written by `write`.
  TaedaFrame* push(PyThreadState* thread, TaedaFrame* caller) const;
  // Gives the frame that `state` runs the values of this image.
  void write(State& state);
  // Gives cells their contents back.
  void write_cells();

 private:
  FrameImage() = default;

  Owned function_;
  PyCodeObject* code_ = nullptr;
  Owned code_reference_;
  Owned namespace_;
  std::vector<Owned> slots_;  // locals, cells and free variables, then the value stack
  std::vector<std::pair<Owned, Owned>> cells_;  // with their contents
  const Instruction* now_ = nullptr;
  const Instruction* next_ = nullptr;
  PyObject* keyword_names_ = nullptr;
};

}  // namespace taeda::dynamo
