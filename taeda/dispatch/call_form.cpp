// Parses the schemas of operators that are called by their schema.
#include "taeda/dispatch/call_form.h"

#include <mutex>
#include <unordered_map>

namespace taeda::dispatch {

CallForm::CallForm(Schema schema) : Schema(std::move(schema)) {
  for (const Argument& a : arguments) {
    defaults.push_back(a.default_value());
    num_positional += !a.is_kwarg_only;
    writes |= a.is_written;
  }
}

const CallForm& call_form(const Operator& op) {
  static auto* kept = new std::unordered_map<const Operator*, CallForm>;
  static auto* mutex = new std::mutex;
  const std::lock_guard lock(*mutex);
  if (const auto it = kept->find(&op); it != kept->end()) return it->second;
  return kept->emplace(&op, parse_schema(op.schema)).first->second;
}

}  // namespace taeda::dispatch
