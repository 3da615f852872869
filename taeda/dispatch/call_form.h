// The parts of an operator's schema that a call needs, found once.
#pragma once

#include "taeda/dispatch/operator.h"
#include "taeda/dispatch/schema.h"

namespace taeda::dispatch {

struct CallForm : Schema {
  TAEDA_API explicit CallForm(Schema schema);

  std::vector<Value> defaults;  // None where there is none
  size_t num_positional = 0;
  bool writes = false;  // to an argument
};

// Kept for the life of the process; any thread may ask.
TAEDA_API const CallForm& call_form(const Operator& op);

}  // namespace taeda::dispatch
