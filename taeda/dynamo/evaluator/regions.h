// Regions: stretches of a program that are captured once and run compiled afterwards. What the
// evaluator asks of whoever captures and compiles; it knows nothing about tensors.
//
// A region begins at the start of a frame, or behind an instruction that was run as it is (a
// *break*). It takes the frames of an evaluator, several where a break lies in a called function,
// and ends with the value of the first of them or with frames before the next break.
#pragma once

#include <Python.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "taeda/dynamo/evaluator/image.h"
#include "taeda/dynamo/evaluator/state.h"

namespace taeda::dynamo {

// How a region ended.
struct Ending {
  Owned value;                     // of the first frame; null where the frames go on
  std::vector<FrameImage> frames;  // the first is the one of the hook
};

// Evaluates instructions for a graph instead of for the program. Frames hold stand-ins meanwhile.
class Capturing {
 public:
  virtual ~Capturing() = default;
  // The instruction at state.now. Flow::Break: nothing of it happened, and it is to be run as it
  // is.
  virtual Flow execute(State& state) = 0;
  // Runs the program's handlers of signals that came, as without a capture. False: one of them
  // raised, or one did so inside of an instruction before; the capture is to end.
  virtual bool check_signals() = 0;
  // What a handler raised, which leaves the region as if it had not begun; a new reference, or
  // null.
  virtual PyObject* take_interruption() = 0;
  // A frame that a C function called, or whose call was entered.
  virtual void begin_frame(State& state) = 0;
  // The same for a frame that a C function called, before its first instruction; false with an
  // exception.
  virtual bool begin_call(State& state) = 0;
  // A break in a frame that a C function called: the call of that function is the break.
  virtual void break_call() = 0;
  // What such a frame gives to the C function, in place of its result, which it takes; null with an
  // exception where the call is a break.
  virtual PyObject* give_to_c(TaedaFrame* frame, PyObject* result) = 0;
  virtual void end_frame(TaedaFrame* frame) = 0;
  // The program raises out of its frames, which it will do again by itself.
  virtual void note_raised() = 0;
  // Before the captured world is taken apart.
  virtual void finish() = 0;
  // The end of the region, in the world of stand-ins. False: it cannot be compiled.
  virtual bool close(PyObject* value) = 0;
  virtual bool close(const std::vector<const State*>& frames) = 0;
};

enum class RegionRun : uint8_t {
  Ran,       // `ending` says how it ended
  Missing,   // to be captured
  Natively,  // CPython runs the frames
  AsItIs,    // no region begins here: the next instruction is run as it is
  Raised,    // with an exception, at the instruction before
};

class Regions {
 public:
  virtual ~Regions() = default;
  // Runs the region that begins at these frames.
  virtual RegionRun run(const std::vector<const State*>& frames, Ending& ending) = 0;
  // Null with an exception.
  virtual std::unique_ptr<Capturing> capture(const std::vector<const State*>& frames) = 0;
  // Whether a function that is called by one which is left alone is captured in its own right.
  virtual bool takes_callee(PyFunctionObject* function) const = 0;
  // The region that was captured last is not compiled: from now on CPython runs the frames.
  virtual void give_up(const std::vector<const State*>& frames) = 0;
};

}  // namespace taeda::dynamo
