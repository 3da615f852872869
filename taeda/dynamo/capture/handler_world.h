// The handlers of operators of a captured program, evaluated beside it.
//
// Note [World of handlers]: a handler runs when the graph does, before what the program writes. So
// it is evaluated by a capture of its own, whose twins hold what handlers wrote so far: the next
// one finds it there. Tensors are the program's stand-ins, guards go to the region, nothing else is
// shared, and all of it is dropped at the end. What one of the two captures changed the other must
// not touch: the program would see it too early or too late, and the instruction is a break.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "taeda/base/function_ref.h"
#include "taeda/dynamo/capture/capture.h"

namespace taeda::dynamo {

class Capture::HandlerWorld final : public Handlers {
 public:
  explicit HandlerWorld(Capture& program) : program_(program) {}

  PyObject* ask(PyTypeObject* type, PyObject* rule, PyObject* args) override;
  std::string take_break() override { return std::exchange(reason_, {}); }
  bool have_written() override;
  PyObject* evaluate(PyObject* function, PyObject* args) override;
  // Null until the first handler, or wrapper, needs it.
  Capture* capture() const { return capture_.get(); }
  Capture& begin();

 private:
  // Runs `call` in the world of handlers; null with `reason_` set where it breaks.
  PyObject* run(FunctionRef<PyObject*(Capture& world)> call);

  Capture& program_;
  std::unique_ptr<Capture> capture_;
  std::shared_ptr<Session> session_;
  std::string reason_;
};

}  // namespace taeda::dynamo
