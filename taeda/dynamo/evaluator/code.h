// A code object in the form the evaluator reads: plain instructions with their whole arguments, and
// the exception table. Made once per code object and kept with it.
#pragma once

#include <Python.h>

#include <vector>

#include "taeda/dynamo/evaluator/opcodes.h"

namespace taeda::dynamo {

struct Instruction {
  Handler handler = nullptr;  // null: handed back
  int opcode = 0;
  int argument = 0;
  int start = 0;   // the first unit, with its EXTENDED_ARG prefixes: where it can be resumed
  int unit = 0;    // the unit of the opcode: what tracebacks name
  int after = 0;   // the unit behind it and its caches
  int target = 0;  // of jumps: the index of the instruction that is jumped to
};

struct ExceptionEntry {
  int start, end;        // units, end excluded
  int handler;           // the index of the first instruction of the handler
  int depth;             // the value stack is cut to this depth
  bool has_instruction;  // the raising instruction's unit is pushed before the exception
};

struct Code {
  PyCodeObject* object = nullptr;  // borrowed: the code object owns this
  std::vector<Instruction> instructions;
  std::vector<int> index_of_unit;  // -1 inside caches; prefixes map to their instruction
  std::vector<ExceptionEntry> exceptions;
  mutable std::vector<int> lines;  // by unit, made when first asked for

  const Instruction* at(int unit) const { return &instructions[index_of_unit[unit]]; }
  // The handler for an exception at a unit; null where there is none.
  const ExceptionEntry* handler_of(int unit) const;
  // The line of a unit; -1 where it has none. CPython walks its table up to the unit each time.
  int line_of(int unit) const;
};

// The decoded form of a code object; null with an exception.
const Code* decoded(PyCodeObject* code);

}  // namespace taeda::dynamo
