#include "taeda/dynamo/evaluator/opcodes.h"

#include <opcode.h>

#include "taeda/dynamo/evaluator/handlers.h"

namespace taeda::dynamo {

namespace {

std::array<Opcode, 256> make_table() {
  std::array<Opcode, 256> table;
// Pasting keeps the preprocessor from reading a handler's name as the opcode's number.
#define TAEDA_HANDLER_runs(handler) &run::handler
#define TAEDA_HANDLER_hands_back(handler) nullptr
#define TAEDA_OPCODE_ALL(name, how) table[name] = {#name, TAEDA_HANDLER_##how(name##_)};
#include "taeda/dynamo/evaluator/opcodes.def"
#undef TAEDA_OPCODE_ALL
  return table;
}

}  // namespace

const std::array<Opcode, 256>& opcodes() {
  static const std::array<Opcode, 256> table = make_table();
  return table;
}

int opcode_number(std::string_view name) {
  const auto& table = opcodes();
  for (size_t number = 0; number < table.size(); ++number) {
    if (table[number].name == name) return static_cast<int>(number);
  }
  return -1;
}

}  // namespace taeda::dynamo
