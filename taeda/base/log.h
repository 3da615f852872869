// Warnings: handed to whoever listens (the Python bindings turn them into warnings.warn), never
// printed by the library while a listener is set.
#pragma once

#include <string>

#include "taeda/base/export.h"

namespace taeda {

using WarningHandler = void (*)(const std::string& message);

TAEDA_API void set_warning_handler(WarningHandler handler);
TAEDA_API void warn(const std::string& message);

}  // namespace taeda
