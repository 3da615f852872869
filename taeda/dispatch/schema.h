// Schema: an operator's signature in PyTorch's syntax, parsed when somebody asks.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "taeda/dispatch/value.h"

namespace taeda::dispatch {

struct TypeRef {
  std::string
      base;  // "Tensor", "int", "SymInt", "Scalar", "bool", "float", "str", "ScalarType", ...
  bool is_list = false;
  bool is_optional = false;
  int list_size = -1;  // int[2]
  TAEDA_API std::string text() const;
};

struct Argument {
  std::string name;
  TypeRef type;
  bool is_kwarg_only = false;
  bool is_written = false;   // (a!)
  std::string alias;         // "a", empty without annotation
  std::string default_text;  // as written; has_default tells "" from none
  bool has_default = false;
  TAEDA_API Value default_value() const;
};

struct Schema {
  std::string name, overload;
  std::vector<Argument> arguments, returns;
  bool is_variadic_return = false;
};

// Throws RuntimeError that points at the offending column.
TAEDA_API Schema parse_schema(std::string_view text);

}  // namespace taeda::dispatch
