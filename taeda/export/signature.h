// The meaning of an exported graph's inputs and outputs.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "taeda/fx/arg.h"

namespace taeda::exported {

enum class InputKind : uint8_t { UserInput, Parameter, Buffer, ConstantTensor };
enum class OutputKind : uint8_t {
  UserOutput,
  BufferMutation,
  UserInputMutation,
  ParameterMutation
};
enum class ArgumentKind : uint8_t { Tensor, SymInt, Constant, SymFloat, SymBool };
// The operators that a graph may call: all that a model calls, writes included, or only those that
// write to none of their arguments.
enum class Dialect : uint8_t { Training, Aten };

struct InputSpec {
  InputKind kind = InputKind::UserInput;
  ArgumentKind argument = ArgumentKind::Tensor;
  std::string name;           // of the placeholder
  std::string target;         // of a parameter, buffer or constant: its name in the module
  bool is_persistent = true;  // of a buffer
  fx::Arg value;              // of a constant argument
};

struct OutputSpec {
  OutputKind kind = OutputKind::UserOutput;
  ArgumentKind argument = ArgumentKind::Tensor;
  std::string name;    // of the node; empty for constants
  std::string target;  // of a mutation: the parameter or buffer, or the input's placeholder
  fx::Arg value;       // of a constant argument
};

// The values that a symbol, or a size of several, may have, both ends included.
struct SizeRange {
  static constexpr int64_t kUnbounded = INT64_MAX;
  int64_t low = 0, high = kUnbounded;
  int64_t assumed_low = 0;  // of a symbol: the least value while the program was traced
};

// In the order of the graph's placeholders and results.
struct Signature {
  std::vector<InputSpec> inputs;
  std::vector<OutputSpec> outputs;
  std::vector<std::pair<std::string, SizeRange>> ranges;  // of "s0", or of "2*s0 + 1"
  std::vector<std::string> conditions;                    // on symbols: see symbolic/parse.h
  Dialect dialect = Dialect::Aten;
};

TAEDA_API const char* kind_name(InputKind kind);  // "user_input"
TAEDA_API const char* kind_name(OutputKind kind);
TAEDA_API const char* kind_name(ArgumentKind kind);

// The signature as dicts and lists in the text form of graphs' arguments.
TAEDA_API std::string to_text(const Signature& signature);
// RuntimeError for a text that is no signature.
TAEDA_API Signature parse_signature(std::string_view text);
TAEDA_API Signature read_signature(const fx::Arg& dict);

}  // namespace taeda::exported
