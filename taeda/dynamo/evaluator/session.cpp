#include "taeda/dynamo/evaluator/session.h"

#include "taeda/dynamo/evaluator/evaluator.h"
#include "taeda/dynamo/frames/frames.h"

namespace taeda::dynamo {

namespace {

// Read in every Python call while the hook is installed: one instruction, no call.
[[gnu::tls_model("initial-exec")]] constinit thread_local Session* active = nullptr;
int installed = 0;  // sessions of all threads; under the interpreter lock
TaedaEvaluate former_hook = nullptr;

PyObject* hook(PyThreadState* thread, TaedaFrame* frame, int is_throwing) {
  Session* session = active;
  if (session == nullptr) return taeda_evaluate_natively(thread, frame, is_throwing);
  PyCodeObject* code = taeda_frame_code(frame);
  if (taeda_is_observed(thread, code) || session->skipped.contains(code))
    return taeda_evaluate_natively(thread, frame, is_throwing);
  return evaluate(thread, frame, is_throwing != 0, *session);
}

}  // namespace

bool Session::hands_back_at(PyCodeObject* code, int unit) {
  if (one_in != 0) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    if ((random >> 33) % one_in == 0) return true;
  }
  if (places.empty()) return false;
  auto found = places.find(code);
  return found != places.end() && found->second.contains(unit);
}

Session* active_session() { return active; }

SessionScope::SessionScope(Session* session) : former_(active) {
  active = session;
  if (installed++ == 0) {
    former_hook = taeda_has_hook() ? taeda_get_hook() : nullptr;
    taeda_set_hook(hook);
  }
}

SessionScope::~SessionScope() {
  active = former_;
  if (--installed == 0) taeda_set_hook(former_hook);
}

}  // namespace taeda::dynamo
