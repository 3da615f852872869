// The instructions of the running CPython, as handlers by opcode number.
#pragma once

#include <Python.h>

#include <array>
#include <cstdint>
#include <string_view>

namespace taeda::dynamo {

struct State;

// What an instruction asks of the evaluator's loop.
enum class Flow : uint8_t {
  Next,      // go on at state.next
  Raise,     // an exception is set; its traceback gets this line
  Reraise,   // an exception is set and keeps its traceback
  Enter,     // state.callee, a frame that was pushed, runs now
  Return,    // the frame ends with state.result
  Yield,     // the generator is suspended with state.result
  HandBack,  // CPython goes on with this frame, from this instruction
  Break,     // of a capture: nothing happened, and the instruction is to be run as it is
};

using Handler = Flow (*)(State& state, int argument);

struct Opcode {
  std::string_view name;      // empty: no such opcode in this version
  Handler handler = nullptr;  // null: the frame is handed back
};

// By opcode number.
const std::array<Opcode, 256>& opcodes();
// The number of an opcode by name; -1 where this version has none.
int opcode_number(std::string_view name);

}  // namespace taeda::dynamo
