// The text of math.h for generated code, taken into the library when it is assembled.
#include <cstring>
#include <string>
#include <string_view>

#include "taeda/kernel/print.h"

// The assembler finds the files on the include path, which holds the root of the source tree.
#define TAEDA_TEXT(symbol, path)                                                           \
  asm(".pushsection .rodata\n" #symbol ":\n.incbin \"" path "\"\n.byte 0\n.popsection\n"); \
  extern "C" __attribute__((visibility("hidden"))) const char symbol[];

TAEDA_TEXT(taeda_text_types, "taeda/kernel/math_types.h")
TAEDA_TEXT(taeda_text_polynomials, "taeda/kernel/math_polynomials.h")
TAEDA_TEXT(taeda_text_exp, "taeda/kernel/math_exp.h")
TAEDA_TEXT(taeda_text_log, "taeda/kernel/math_log.h")
TAEDA_TEXT(taeda_text_trig, "taeda/kernel/math_trig.h")
TAEDA_TEXT(taeda_text_special, "taeda/kernel/math_special.h")
TAEDA_TEXT(taeda_text_int, "taeda/kernel/math_int.h")
TAEDA_TEXT(taeda_text_convert, "taeda/kernel/math_convert.h")
TAEDA_TEXT(taeda_text_complex, "taeda/kernel/math_complex.h")
TAEDA_TEXT(taeda_text_memory, "taeda/kernel/math_memory.h")
TAEDA_TEXT(taeda_text_storage, "taeda/kernel/math_storage.h")
TAEDA_TEXT(taeda_text_mixed, "taeda/kernel/math_mixed.h")
TAEDA_TEXT(taeda_text_transpose, "taeda/kernel/math_transpose.h")
TAEDA_TEXT(taeda_text_grid, "taeda/kernel/math_grid.h")
TAEDA_TEXT(taeda_text_random, "taeda/kernel/math_random.h")
TAEDA_TEXT(taeda_text_reduce_tree, "taeda/kernel/reduce_tree.h")
TAEDA_TEXT(taeda_text_reduce_cascade, "taeda/kernel/reduce_cascade.h")

namespace taeda::kernel {

namespace {

// Appends a header without its includes, comment lines and empty lines.
void append(std::string& text, const char* header) {
  for (const char* line = header; *line;) {
    const char* end = std::strchr(line, '\n');
    std::string_view view(line, end - line);
    size_t start = view.find_first_not_of(' ');
    bool is_dropped = start == view.npos || view.substr(start).starts_with("//") ||
                      view.substr(start).starts_with("#include") ||
                      view.substr(start).starts_with("#  include") ||
                      view.starts_with("#pragma once");
    if (!is_dropped) text.append(view).append("\n");
    line = end + 1;
  }
}

std::string prelude(bool is_cuda) {
  std::string text;
  for (const char* header :
       {taeda_text_types, taeda_text_polynomials, taeda_text_exp, taeda_text_log, taeda_text_trig,
        taeda_text_special, taeda_text_int, taeda_text_convert, taeda_text_complex}) {
    append(text, header);
  }
  if (!is_cuda) append(text, taeda_text_memory);
  append(text, taeda_text_storage);
  if (!is_cuda) append(text, taeda_text_mixed);
  if (!is_cuda) append(text, taeda_text_transpose);
  append(text, taeda_text_random);
  if (is_cuda) append(text, taeda_text_grid);
  append(text, taeda_text_reduce_tree);
  append(text, taeda_text_reduce_cascade);
  return text + "using namespace taeda::kernel;\n";
}

}  // namespace

std::string cpu_prelude() { return prelude(false); }
std::string cuda_prelude() { return prelude(true); }

}  // namespace taeda::kernel
