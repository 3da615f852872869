#include "taeda/dynamo/evaluator/session.h"

#include <algorithm>
#include <cstring>

#include "taeda/dynamo/evaluator/evaluator.h"
#include "taeda/dynamo/evaluator/regions.h"
#include "taeda/dynamo/frames/frames.h"

namespace taeda::dynamo {

namespace {

// The sessions of this thread, the active one last. Not a plain vector: a thread may end without
// the interpreter lock, which the sessions' references need, and then what is left stays.
thread_local std::vector<std::shared_ptr<Session>>* sessions = nullptr;
// Read in every Python call while the hook is installed: one instruction, no call.
[[gnu::tls_model("initial-exec")]] constinit thread_local Session* active = nullptr;

int installed = 0;  // scopes of all threads; under the interpreter lock
TaedaEvaluate former_hook = nullptr;

PyObject* run_natively(PyThreadState* thread, TaedaFrame* frame, int is_throwing) {
  if (former_hook != nullptr) return former_hook(thread, frame, is_throwing);
  return taeda_evaluate_natively(thread, frame, is_throwing);
}

// Imports that C makes while it is called belong to no program.
bool is_of_importlib(PyCodeObject* code) {
  constexpr char kPrefix[] = "<frozen importlib";
  const char* file = PyUnicode_AsUTF8(code->co_filename);
  if (file == nullptr) PyErr_Clear();
  return file != nullptr && std::strncmp(file, kPrefix, sizeof kPrefix - 1) == 0;
}

// Whether the frame that makes a call, whose own frame is not linked yet, runs this code.
bool is_called_by(PyCodeObject* code) {
  PyFrameObject* caller = taeda_current_frame_object();
  if (caller == nullptr) return false;
  PyCodeObject* of_caller = PyFrame_GetCode(caller);
  Py_DECREF(of_caller);  // the frame keeps it
  return of_caller == code;
}

PyObject* hook(PyThreadState* thread, TaedaFrame* frame, int is_throwing) {
  Session* session = active;
  if (session == nullptr || session->scopes == 0 || !session->takes_frame(thread, frame)) {
    return run_natively(thread, frame, is_throwing);
  }
  if (session->capturing != nullptr && is_of_importlib(taeda_frame_code(frame))) {
    const SessionScope nothing(nullptr);
    return run_natively(thread, frame, is_throwing);
  }
  if (session->callees_of != nullptr && session->capturing == nullptr) {
    // What is called from here on is this callee's business.
    auto own = std::make_shared<Session>();
    own->regions = session->regions;
    const SessionScope scope(own);
    return evaluate(thread, frame, is_throwing != 0, own);
  }
  return evaluate(thread, frame, is_throwing != 0, sessions->back());
}

// Another tool may have put its hook over ours and put ours back later: ours is never its own
// former one.
void install() {
  const TaedaEvaluate present = taeda_get_hook();
  if (present == hook) return;
  former_hook = taeda_has_hook() ? present : nullptr;
  taeda_set_hook(hook);
}

void uninstall() {
  if (taeda_get_hook() == hook) taeda_set_hook(former_hook);
}

void activate_last() { active = sessions->empty() ? nullptr : sessions->back().get(); }

}  // namespace

bool Session::takes(PyThreadState* thread, PyCodeObject* code) const {
  if (regions != nullptr && capturing == nullptr) return false;
  return !taeda_is_observed(thread, code) && !skipped.contains(code);
}

bool Session::takes_frame(PyThreadState* thread, TaedaFrame* frame) const {
  PyCodeObject* code = taeda_frame_code(frame);
  if (entry != nullptr && entry == taeda_frame_function(frame))
    return !taeda_is_observed(thread, code);
  if (callees_of != nullptr && capturing == nullptr && code != callees_of &&
      is_called_by(callees_of))
    return !taeda_is_observed(thread, code) && regions->takes_callee(taeda_frame_function(frame));
  return takes(thread, code);
}

bool Session::hands_back_at(PyCodeObject* code, int unit) {
  if (one_in != 0) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    if ((random >> 33) % one_in == 0) return true;
  }
  if (places.empty()) return false;
  auto found = places.find(code);
  return found != places.end() && found->second.contains(unit);
}

SessionScope::SessionScope(std::shared_ptr<Session> session) : session_(std::move(session)) {
  if (sessions == nullptr) sessions = new std::vector<std::shared_ptr<Session>>;
  sessions->push_back(session_);
  if (session_ != nullptr) ++session_->scopes;
  activate_last();
  if (installed++ == 0) install();
}

// Scopes are left in any order. One that another thread leaves stays in the list of its own thread,
// without effect.
SessionScope::~SessionScope() {
  if (is_finalizing()) return;
  if (session_ != nullptr) --session_->scopes;
  if (sessions != nullptr) {
    auto last = std::find(sessions->rbegin(), sessions->rend(), session_);
    if (last != sessions->rend()) sessions->erase(std::next(last).base());
    activate_last();
  }
  if (--installed == 0) uninstall();
}

std::shared_ptr<Session> active_session() {
  return sessions == nullptr || sessions->empty() ? nullptr : sessions->back();
}

bool is_capturing() { return active != nullptr && active->capturing != nullptr; }

void forget_other_threads() {
  installed = sessions == nullptr ? 0 : static_cast<int>(sessions->size());
  if (installed == 0) uninstall();
}

}  // namespace taeda::dynamo
