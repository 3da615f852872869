// Names: the identifiers of a graph's nodes, each used once, none that Python code could mistake.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "taeda/base/export.h"

namespace taeda::fx {

class TAEDA_API Names {
 public:
  // A free name as close to the candidate as can be: characters outside [0-9a-zA-Z_] become '_', a
  // number is added or raised.
  std::string make(std::string_view candidate);
  // Takes a name as it is; false if it is used.
  bool claim(const std::string& name) { return used_.insert(name).second; }
  bool contains(const std::string& name) const { return used_.count(name) != 0; }
  void release(const std::string& name) { used_.erase(name); }

 private:
  std::unordered_set<std::string> used_;
  std::unordered_map<std::string, int64_t> counts_;  // last number given to a base
};

// "BatchNorm2d" -> "batch_norm2d", as names of targets are written.
TAEDA_API std::string snake_case(std::string_view text);

}  // namespace taeda::fx
