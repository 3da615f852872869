// Whether bytes are text.
#pragma once

#include <string_view>

#include "taeda/base/export.h"

namespace taeda::serialization {

// Well-formed UTF-8: no overlong forms, surrogates or values beyond Unicode.
TAEDA_API bool is_utf8(std::string_view bytes);

}  // namespace taeda::serialization
