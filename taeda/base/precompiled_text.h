// For precompiled headers alone: strings of every character type, made while the header is
// compiled.
//
// Inline functions of <string> use strings of five character types. The compiler leaves what they
// use of the templates to the end of each source, unless a constant needs it: so this one does.
#pragma once

#include <string>
#include <string_view>

namespace taeda::precompiled {

template <class Character>
constexpr bool makes_text() {
  const Character characters[32] = {};
  const std::basic_string<Character> text(characters, 32);
  const std::basic_string_view<Character> view(characters, 32);
  return text.length() == view.length() && *text.data() == *view.data();
}
static_assert(makes_text<char>() && makes_text<wchar_t>() && makes_text<char8_t>() &&
              makes_text<char16_t>() && makes_text<char32_t>());

}  // namespace taeda::precompiled
