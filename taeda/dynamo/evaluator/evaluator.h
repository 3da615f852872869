// The plain evaluator: runs bytecode over real objects, instruction by instruction, in the frame
// that CPython made, and gives frames back to CPython at any instruction.
//
// Python functions that evaluated code calls get frames on the thread's data stack and run in the
// same loop. All frames are linked as CPython links them, so that tracebacks, sys._getframe,
// locals() and super() see the same as ever.
#pragma once

#include <Python.h>

#include "taeda/dynamo/evaluator/session.h"
#include "taeda/dynamo/frames/frames.h"

namespace taeda::dynamo {

// Takes the place of CPython's evaluator for a frame, with the same contract.
PyObject* evaluate(PyThreadState* thread, TaedaFrame* frame, bool is_throwing,
                   std::shared_ptr<Session> session);

}  // namespace taeda::dynamo
