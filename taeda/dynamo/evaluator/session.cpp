#include "taeda/dynamo/evaluator/session.h"

#include <algorithm>

#include "taeda/dynamo/evaluator/evaluator.h"
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

PyObject* hook(PyThreadState* thread, TaedaFrame* frame, int is_throwing) {
  Session* session = active;
  if (session == nullptr) return run_natively(thread, frame, is_throwing);
  if (!session->takes(thread, taeda_frame_code(frame)))
    return run_natively(thread, frame, is_throwing);
  return evaluate(thread, frame, is_throwing != 0, *session);
}

void activate_last() { active = sessions->empty() ? nullptr : sessions->back().get(); }

}  // namespace

bool Session::takes(PyThreadState* thread, PyCodeObject* code) const {
  return !taeda_is_observed(thread, code) && !skipped.contains(code);
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
  activate_last();
  if (installed++ > 0) return;
  former_hook = taeda_has_hook() ? taeda_get_hook() : nullptr;
  taeda_set_hook(hook);
}

// Scopes are left in any order, by this thread; what another thread leaves stays in its own list.
SessionScope::~SessionScope() {
  if (sessions != nullptr) {
    auto last = std::find(sessions->rbegin(), sessions->rend(), session_);
    if (last != sessions->rend()) sessions->erase(std::next(last).base());
    activate_last();
  }
  if (--installed == 0 && taeda_get_hook() == hook) taeda_set_hook(former_hook);
}

}  // namespace taeda::dynamo
