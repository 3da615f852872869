// Evaluation on a thread: while a session is active, frames of Python functions come to the
// evaluator instead of CPython's; the session says where frames are handed back and counts.
#pragma once

#include <Python.h>

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "taeda/dynamo/evaluator/owned.h"
#include "taeda/dynamo/frames/frames.h"

namespace taeda::dynamo {

class Capturing;
class Regions;

struct Counts {
  int64_t instructions = 0;  // run by the evaluator
  int64_t frames = 0;        // that came through the hook
  int64_t entered = 0;       // calls that the evaluator gave a frame
  int64_t hand_backs = 0;
  int64_t rebuilt = 0;    // frames that were made anew from their images
  int64_t rollbacks = 0;  // segments that failed
  int64_t regions = 0;    // that were run compiled
};

struct Session {
  // Hand-backs forced by place: the units of each code object.
  std::unordered_map<PyCodeObject*, std::unordered_set<int>> places;
  // Hand-backs forced by chance: at one of so many instructions; 0 for never.
  uint32_t one_in = 0;
  uint64_t random = 1;
  bool hands_back_callers = false;  // a hand-back takes the frames that called, too
  bool rebuilds = false;            // frames of entered calls are made anew before a hand-back
  // Segments by place: one begins at the first arrival at `segment`, and fails at `failure`.
  PyCodeObject* segment_code = nullptr;
  int segment_unit = -1;
  PyCodeObject* failure_code = nullptr;
  int failure_unit = -1;
  // Compiled calls: the next frame of this function is run by regions, and while one of them is
  // captured, so are all frames; others are left to CPython.
  std::shared_ptr<Regions> regions;
  PyFunctionObject* entry = nullptr;  // null once its frame came
  // Functions that frames of this code call are run by regions, too, though the code is not.
  PyCodeObject* callees_of = nullptr;
  Capturing* capturing = nullptr;
  // Code that is left to CPython: a test's own harness.
  std::unordered_set<PyCodeObject*> skipped;
  // Keeps the code objects above alive.
  std::vector<Owned> codes;
  int scopes = 0;  // that are open; a session that was left everywhere evaluates nothing
  Counts counts;

  // Whether frames of this code are evaluated: nobody observes it, and it is not skipped.
  bool takes(PyThreadState* thread, PyCodeObject* code) const;
  bool takes_frame(PyThreadState* thread, TaedaFrame* frame) const;
  bool has_orders() const { return !places.empty() || one_in != 0 || segment_code != nullptr; }
  bool hands_back_at(PyCodeObject* code, int unit);
};

// Activates a session on this thread for its scope; the hook is installed with the first scope of
// the process and removed with the last. Scopes nest: the former session comes back. An empty
// session leaves all frames of the thread to CPython.
//
// Only the main interpreter is evaluated. After a fork the child counts its own thread's scopes.
class SessionScope {
 public:
  explicit SessionScope(std::shared_ptr<Session> session);
  ~SessionScope();
  SessionScope(const SessionScope&) = delete;
  SessionScope& operator=(const SessionScope&) = delete;

 private:
  std::shared_ptr<Session> session_;
};

// For Python code that a capture calls for its own sake, where the program's frames are near the
// recursion limit: without a capture they would fit.
class StackRoom {
 public:
  StackRoom() : thread_(PyThreadState_Get()) { taeda_recursion_lend(thread_, kFrames); }
  ~StackRoom() { taeda_recursion_lend(thread_, -kFrames); }
  StackRoom(const StackRoom&) = delete;
  StackRoom& operator=(const StackRoom&) = delete;

 private:
  static constexpr int kFrames = 400;
  PyThreadState* thread_;
};

// The session of this thread; null without one.
std::shared_ptr<Session> active_session();
// Whether a program of this thread is being captured.
bool is_capturing();
void forget_other_threads();  // in a forked child

}  // namespace taeda::dynamo
