// The names of tags, and those that only operators defined at run time carry.
//
// The bits below 1 << 16 are Tag's (operator.h), which records set; the others follow here.
#pragma once

#include <string_view>

#include "taeda/dispatch/operator.h"

namespace taeda::dispatch {

struct NamedTag {
  const char* name;
  uint32_t bit;
};

// Every tag, in alphabetical order.
TAEDA_API Span<NamedTag> named_tags();
// Throws ValueError for a name that is none.
TAEDA_API uint32_t tag_bit(std::string_view name);

}  // namespace taeda::dispatch
