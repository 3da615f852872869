#include "taeda/dynamo/evaluator/evaluator.h"

#include <vector>

#include "taeda/dynamo/evaluator/image.h"
#include "taeda/dynamo/evaluator/regions.h"
#include "taeda/dynamo/evaluator/state.h"

namespace taeda::dynamo {

namespace {

class Evaluator {
 public:
  Evaluator(PyThreadState* thread, Session& session) : thread_(thread), session_(session) {}

  // Runs the frame by regions: compiled, or captured first.
  void use(std::shared_ptr<Regions> regions) {
    regions_ = std::move(regions);
    at_boundary_ = true;
  }
  // The frame belongs to what is being captured: a C function called it.
  void use(Capturing& capture) {
    capture_ = &capture;
    is_nested_ = true;
  }

  // The result of the frame that the hook was given; null with an exception.
  PyObject* run(TaedaFrame* frame, bool is_throwing) {
    if (taeda_link_begin(thread_, &link_, frame) < 0) {
      taeda_frame_finish(thread_, frame);
      return nullptr;
    }
    if (taeda_recursion_enter(thread_) < 0) {
      taeda_link_end(thread_, &link_, frame);
      taeda_frame_finish(thread_, frame);
      return nullptr;
    }
    load(frame);
    if (is_nested_ && !capture_->begin_call(state_)) unwind(Flow::Raise, state_.now->unit);
    if (is_throwing) unwind(Flow::Raise, taeda_frame_thrown_at(frame));
    while (!is_done_) {
      if (at_boundary_) {
        run_region();
      } else {
        step();
      }
    }
    if (is_nested_) capture_->end_frame(frame);
    return result_;
  }

 private:
  void load(TaedaFrame* frame) {
    state_ = State{};
    state_.thread = thread_;
    state_.session = &session_;
    state_.frame = frame;
    state_.code = decoded(taeda_frame_code(frame));
    state_.stamp = taeda_observation_stamp(thread_, state_.code->object);
    state_.slots = taeda_frame_slots(frame);
    state_.top = state_.slots + taeda_frame_take(frame);
    const int next = taeda_frame_next(frame);
    state_.now = state_.next = state_.code->at(next < 0 ? 0 : next);
  }

  void step() {
    if (capture_ != nullptr) return step_captured();
    if (state_.checks && !handle_pending()) return;
    if (state_.stamp != taeda_observation_stamp(thread_, state_.code->object) &&
        becomes_observed()) {
      return;
    }
    state_.now = state_.next++;
    taeda_frame_set_at(state_.frame, state_.now->unit);
    if (session_.has_orders() && obey_orders()) return;
    ++session_.counts.instructions;
    const Handler handler = state_.now->handler;
    if (handler == nullptr) {
      hand_back(resume_unit());
    } else {
      obey(handler(state_, state_.now->argument));
    }
    at_boundary_ = regions_ != nullptr && !is_done_ && state_.keyword_names == nullptr;
  }

  void obey(Flow flow) {
    switch (flow) {
      case Flow::Next: return;
      case Flow::Raise:
      case Flow::Reraise: return unwind(flow, state_.now->unit);
      case Flow::Enter: return enter();
      case Flow::Return: return leave(state_.result);
      case Flow::Yield: return suspend();
      case Flow::HandBack: return hand_back(resume_unit());
      case Flow::Break: return break_capture();
    }
  }

  // ---- regions ----

  void step_captured() {
    constexpr int64_t kBetweenChecks = 64;
    state_.now = state_.next++;
    taeda_frame_set_at(state_.frame, state_.now->unit);
    if (++session_.counts.instructions % kBetweenChecks == 0 && !capture_->check_signals())
      return break_capture();
    obey(capture_->execute(state_));
  }

  std::vector<const State*> frames() const {
    std::vector<const State*> all;
    for (const State& caller : callers_) all.push_back(&caller);
    all.push_back(&state_);
    return all;
  }

  void run_region() {
    at_boundary_ = false;
    Ending ending;
    switch (regions_->run(frames(), ending)) {
      case RegionRun::Ran: ++session_.counts.regions; return take(std::move(ending));
      case RegionRun::Natively: return hand_back(state_.next->start, /*with_callers=*/true);
      case RegionRun::AsItIs: return step();
      case RegionRun::Raised: return unwind(Flow::Raise, state_.now->unit);
      case RegionRun::Missing: break;
    }
    begin_segment();
    captured_ = regions_->capture(frames());
    capture_ = session_.capturing = captured_.get();
    if (capture_ != nullptr) return;
    segment_.clear();
    segment_exception_ = Owned();
    unwind(Flow::Raise, state_.now->unit);
  }

  void take(Ending ending) {
    if (ending.value) {
      while (!callers_.empty()) {
        cut_stack(0);
        end_frame();
      }
      cut_stack(0);
      return finish(ending.value.release());
    }
    restore_frames(std::move(ending.frames));
    step();  // the break
  }

  // The instruction at hand is run as it is. Below a C function that cannot be, so the call of that
  // function becomes the break.
  void break_capture() {
    if (!is_nested_) {
      if (Owned raised(capture_->take_interruption()); raised) return interrupt(std::move(raised));
      state_.next = state_.code->at(resume_unit());
      return end_capture(capture_->close(frames()));
    }
    capture_->break_call();
    PyErr_SetString(PyExc_SystemError, "a captured call broke");
    while (!callers_.empty()) {
      cut_stack(0);
      end_frame();
    }
    cut_stack(0);
    finish(nullptr);
  }

  // The frames are as they were at the region's beginning; the region is found there now, or
  // nothing of it is compiled.
  void end_capture(bool is_compiled) {
    leave_capture();
    if (!is_compiled) regions_->give_up(frames());
    captured_.reset();
    at_boundary_ = true;
  }

  // A signal's handler raised: so does the program, where the region began. The next call captures
  // it again.
  void interrupt(Owned raised) {
    leave_capture();
    captured_.reset();
    taeda_set_raised(raised.release());
    unwind(Flow::Raise, state_.now->unit);
  }

  void leave_capture() {
    capture_->finish();
    capture_ = session_.capturing = nullptr;
    PyErr_Clear();  // what the program raises it raises again
    restore_segment();
  }

  // ---- instructions ----

  // Signals and requests for the lock, between two instructions; false where the frame does not go
  // on here.
  bool handle_pending() {
    state_.checks = false;
    if (!taeda_has_pending(thread_) || taeda_handle_pending(thread_) == 0) return true;
    unwind(Flow::Raise, state_.now->unit);
    return false;
  }

  // Somebody began or ended to watch; where it is this code, CPython goes on with it.
  bool becomes_observed() {
    state_.stamp = taeda_observation_stamp(thread_, state_.code->object);
    if (!taeda_is_observed(thread_, state_.code->object)) return false;
    hand_back(state_.next->start);
    return true;
  }

  // Forced hand-backs, and segments that begin or fail here; true where the instruction is not run.
  bool obey_orders() {
    PyCodeObject* code = state_.code->object;
    const int unit = state_.now->unit;
    if (session_.segment_code == code && session_.segment_unit == unit && segment_.empty()) {
      begin_segment();
    }
    if (session_.failure_code == code && session_.failure_unit == unit && !segment_.empty()) {
      roll_back();
      return true;
    }
    if (!session_.hands_back_at(code, unit)) return false;
    hand_back(resume_unit());
    return true;
  }

  // Where CPython can take over instead of running the instruction at hand. Names of keyword
  // arguments are not on the stack, so a call is resumed at the instruction that names them.
  int resume_unit() const {
    const Instruction* at = state_.now;
    if (state_.keyword_names != nullptr) {
      static const int kNames = opcode_number("KW_NAMES");
      while (at->opcode != kNames) --at;
    }
    return at->start;
  }

  // The exception is set. Goes on at the handler, or ends the frame.
  void unwind(Flow flow, int unit) {
    for (;; flow = Flow::Raise, unit = state_.now->unit) {
      state_.keyword_names = nullptr;
      if (flow == Flow::Raise) add_traceback();
      if (const ExceptionEntry* entry = state_.code->handler_of(unit)) return handle(*entry);
      if (is_last_captured()) {
        if (Owned raised(capture_->take_interruption()); raised) {
          return interrupt(std::move(raised));
        }
        capture_->note_raised();
        return end_capture(false);
      }
      cut_stack(0);
      if (!end_frame()) return finish(nullptr);
    }
  }

  void add_traceback() {
    if (!PyErr_Occurred()) {
      PyErr_SetString(PyExc_SystemError, "error return without exception set");
    }
    if (!taeda_frame_is_complete(state_.frame)) return;
    if (PyFrameObject* object = taeda_current_frame_object()) PyTraceBack_Here(object);
  }

  void handle(const ExceptionEntry& entry) {
    cut_stack(entry.depth);
    if (entry.has_instruction) {
      PyObject* exception = taeda_take_raised();
      state_.push(PyLong_FromLong(taeda_frame_at(state_.frame)));
      state_.push(exception);
    } else {
      state_.push(taeda_take_raised());
    }
    state_.next = &state_.code->instructions[entry.handler];
  }

  void cut_stack(int depth) {
    PyObject** bottom = state_.stack_base() + depth;
    while (state_.top > bottom) Py_XDECREF(state_.pop());
  }

  void enter() {
    TaedaFrame* callee = state_.callee;
    taeda_frame_save(state_.frame, state_.used());
    callers_.push_back(state_);
    taeda_link_set(thread_, &link_, callee);
    load(callee);
    if (capture_ != nullptr) capture_->begin_frame(state_);
    ++session_.counts.entered;
    if (taeda_recursion_enter(thread_) == 0) return;
    drop_callee();  // as in CPython, the traceback does not name the frame that was refused
    unwind(Flow::Raise, state_.now->unit);
  }

  // The topmost entered frame ends, and the caller is the current one again.
  void drop_callee() {
    TaedaFrame* frame = state_.frame;
    if (capture_ != nullptr) capture_->end_frame(frame);
    taeda_frame_save(frame, state_.used());
    taeda_link_set(thread_, &link_, taeda_frame_previous(frame));
    taeda_frame_pop(thread_, frame);
    restore_caller();
  }

  void restore_caller() {
    state_ = callers_.back();
    callers_.pop_back();
    taeda_frame_take(state_.frame);
    state_.callee = nullptr;
    state_.checks = true;
  }

  // Ends the frame that runs; false where it is the one of the hook, which `finish` ends.
  bool end_frame() {
    if (callers_.empty()) return false;
    taeda_recursion_leave(thread_);
    drop_callee();
    return true;
  }

  // Whether what ends now is the region that is captured.
  bool is_last_captured() const { return capture_ != nullptr && !is_nested_ && callers_.empty(); }

  void leave(PyObject* result) {
    if (is_last_captured()) {
      const Owned held(result);
      return end_capture(capture_->close(result));
    }
    if (is_nested_ && callers_.empty()) result = capture_->give_to_c(state_.frame, result);
    if (!end_frame()) return finish(result);
    state_.push(result);
  }

  void finish(PyObject* result) {
    taeda_recursion_leave(thread_);
    taeda_frame_save(state_.frame, state_.used());
    taeda_link_end(thread_, &link_, state_.frame);
    taeda_frame_finish(thread_, state_.frame);
    done(result);
  }

  void suspend() {
    taeda_recursion_leave(thread_);
    taeda_frame_save(state_.frame, state_.used());
    taeda_link_end(thread_, &link_, state_.frame);
    taeda_frame_suspend(thread_, state_.frame, state_.now->unit, state_.now->argument);
    done(state_.result);
  }

  void done(PyObject* result) {
    result_ = result;
    is_done_ = true;
  }

  // Gives the frame that runs to CPython, which goes on at `unit`; with its result, its caller goes
  // on here, or is given back in turn.
  void hand_back(int unit) {
    if (session_.rebuilds && !callers_.empty()) rebuild_frames();
    hand_back(unit, session_.hands_back_callers);
  }

  void hand_back(int unit, bool with_callers) {
    for (;;) {
      ++session_.counts.hand_backs;
      PyObject* result = resume_natively(unit);
      if (is_done_) return;
      if (result == nullptr) return unwind(Flow::Raise, state_.now->unit);
      state_.push(result);
      if (!with_callers) return;
      unit = state_.next->start;
    }
  }

  PyObject* resume_natively(int unit) {
    TaedaFrame* frame = state_.frame;
    taeda_frame_save(frame, state_.used());
    taeda_frame_set_next(frame, unit);
    taeda_recursion_leave(thread_);
    const bool is_entered = !callers_.empty();
    if (is_entered) {
      taeda_link_set(thread_, &link_, taeda_frame_previous(frame));
    } else {
      taeda_link_end(thread_, &link_, frame);
    }
    PyObject* result = taeda_frame_resume(thread_, frame, is_entered);
    if (is_entered) {
      restore_caller();
    } else {
      done(result);
    }
    return result;
  }

  // Images of all frames of this evaluator, from that of the hook to the one that runs.
  std::vector<FrameImage> images() {
    std::vector<FrameImage> all;
    for (const State& caller : callers_) all.push_back(FrameImage::of(caller));
    all.push_back(FrameImage::of(state_));
    return all;
  }

  // Replaces the entered frames by new ones made from their images.
  void rebuild_frames() {
    for (const State& caller : callers_) {
      if (caller.frame != callers_.front().frame && taeda_frame_is_exposed(caller.frame)) return;
    }
    if (taeda_frame_is_exposed(state_.frame)) return;
    restore_frames(images());
  }

  // Makes the frames of this evaluator those of the images: entered frames are dropped and made
  // anew, the frame of the hook gets its values back.
  void restore_frames(std::vector<FrameImage> images) {
    while (!callers_.empty()) {
      cut_stack(0);
      end_frame();
    }
    images.front().write(state_);
    for (size_t i = 1; i < images.size(); ++i) {
      TaedaFrame* frame = images[i].push(thread_, state_.frame);
      taeda_frame_save(state_.frame, state_.used());
      callers_.push_back(state_);
      taeda_link_set(thread_, &link_, frame);
      load(frame);
      images[i].write(state_);
      taeda_recursion_restore(thread_);
      ++session_.counts.rebuilt;
    }
    state_.checks = false;
  }

  void begin_segment() {
    segment_ = images();
    PyObject* exception = thread_->exc_info->exc_value;
    segment_exception_ = Owned(Py_XNewRef(exception));
  }

  // A segment failed before any of its effects: its frames are as they were at its beginning, and
  // CPython runs them.
  void roll_back() {
    ++session_.counts.rollbacks;
    session_.segment_code = nullptr;  // what failed is not tried again
    restore_segment();
    hand_back(resume_unit(), /*with_callers=*/true);
  }

  void restore_segment() {
    for (FrameImage& image : segment_) image.write_cells();
    restore_frames(std::move(segment_));
    segment_.clear();
    Py_XSETREF(thread_->exc_info->exc_value, segment_exception_.release());
  }

  PyThreadState* thread_;
  Session& session_;
  TaedaLink link_{};
  State state_;
  std::vector<State> callers_;
  std::vector<FrameImage> segment_;
  Owned segment_exception_;
  PyObject* result_ = nullptr;
  bool is_done_ = false;
  std::shared_ptr<Regions> regions_;
  std::unique_ptr<Capturing> captured_;
  Capturing* capture_ = nullptr;  // what instructions are captured for
  bool is_nested_ = false;        // a C function of the capture called this evaluator's frame
  bool at_boundary_ = false;      // a region begins at the next instruction
};

}  // namespace

PyObject* evaluate(PyThreadState* thread, TaedaFrame* frame, bool is_throwing,
                   std::shared_ptr<Session> session) {
  if (decoded(taeda_frame_code(frame)) == nullptr) {
    PyErr_Clear();  // no memory for the decoded form: CPython needs none
    return taeda_evaluate_natively(thread, frame, is_throwing);
  }
  ++session->counts.frames;
  Evaluator evaluator(thread, *session);
  if (session->capturing != nullptr) {
    evaluator.use(*session->capturing);
  } else if (session->regions != nullptr) {
    session->entry = nullptr;
    evaluator.use(session->regions);
  }
  return evaluator.run(frame, is_throwing);
}

}  // namespace taeda::dynamo
