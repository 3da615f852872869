// The names of classes and functions that a pickle refers to, found without reading its objects.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "taeda/base/export.h"

namespace taeda::serialization {

// In order of appearance, with repetitions, as "module.name"; pickles of every protocol.
// PickleError for what is no pickle.
TAEDA_API std::vector<std::string> globals_in_pickle(std::string_view pickle);

// Gives every global of the package `from` the same name in the package `to`, of as many letters.
// A text that is both a module's name and data (protocol 4 shares them) stays as it is.
TAEDA_API void move_globals(std::string& pickle, std::string_view from, std::string_view to);

}  // namespace taeda::serialization
