// Warnings: handed to whoever listens (the Python bindings turn them into warnings.warn), never
// printed by the library while a listener is set.
#pragma once

#include <string>

#include "taeda/base/export.h"

namespace taeda {

using WarningHandler = void (*)(const std::string& message);

TAEDA_API void set_warning_handler(WarningHandler handler);
TAEDA_API void warn(const std::string& message);

// Whether warnings that are told once per process are told each time.
TAEDA_API bool is_warn_always_enabled();
TAEDA_API void set_warn_always(bool on);

}  // namespace taeda
