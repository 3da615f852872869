// Declares the handlers of all instructions that this version of CPython has and that are run.
#pragma once

#include "taeda/dynamo/evaluator/opcodes.h"

#define TAEDA_OPCODE_NONE(name, how)
#if PY_MINOR_VERSION == 11
#  define TAEDA_OPCODE_311 TAEDA_OPCODE_ALL
#  define TAEDA_OPCODE_311_312 TAEDA_OPCODE_ALL
#  define TAEDA_OPCODE_312 TAEDA_OPCODE_NONE
#  define TAEDA_OPCODE_312_313 TAEDA_OPCODE_NONE
#  define TAEDA_OPCODE_313 TAEDA_OPCODE_NONE
#elif PY_MINOR_VERSION == 12
#  define TAEDA_OPCODE_311 TAEDA_OPCODE_NONE
#  define TAEDA_OPCODE_311_312 TAEDA_OPCODE_ALL
#  define TAEDA_OPCODE_312 TAEDA_OPCODE_ALL
#  define TAEDA_OPCODE_312_313 TAEDA_OPCODE_ALL
#  define TAEDA_OPCODE_313 TAEDA_OPCODE_NONE
#else
#  define TAEDA_OPCODE_311 TAEDA_OPCODE_NONE
#  define TAEDA_OPCODE_311_312 TAEDA_OPCODE_NONE
#  define TAEDA_OPCODE_312 TAEDA_OPCODE_NONE
#  define TAEDA_OPCODE_312_313 TAEDA_OPCODE_ALL
#  define TAEDA_OPCODE_313 TAEDA_OPCODE_ALL
#endif

namespace taeda::dynamo::run {

#define TAEDA_DECLARE_runs(handler) Flow handler(State& state, int argument);
#define TAEDA_DECLARE_hands_back(handler)
#define TAEDA_OPCODE_ALL(name, how) TAEDA_DECLARE_##how(name##_)
#include "taeda/dynamo/evaluator/opcodes.def"
#undef TAEDA_OPCODE_ALL

}  // namespace taeda::dynamo::run
