// The text of math.h and of called functions for generated code, taken into the library when it is
// assembled.
#include <cstring>
#include <set>
#include <string>
#include <string_view>

#include "taeda/base/error.h"
#include "taeda/base/str.h"
#include "taeda/kernel/ir/rewrite.h"
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
TAEDA_TEXT(taeda_text_index, "taeda/kernel/math_index.h")
TAEDA_TEXT(taeda_text_convert, "taeda/kernel/math_convert.h")
TAEDA_TEXT(taeda_text_complex, "taeda/kernel/math_complex.h")
TAEDA_TEXT(taeda_text_memory, "taeda/kernel/math_memory.h")
TAEDA_TEXT(taeda_text_storage, "taeda/kernel/math_storage.h")
TAEDA_TEXT(taeda_text_mixed, "taeda/kernel/math_mixed.h")
TAEDA_TEXT(taeda_text_short, "taeda/kernel/math_short.h")
TAEDA_TEXT(taeda_text_transpose, "taeda/kernel/math_transpose.h")
TAEDA_TEXT(taeda_text_grid, "taeda/kernel/math_grid.h")
TAEDA_TEXT(taeda_text_random, "taeda/kernel/math_random.h")
TAEDA_TEXT(taeda_text_random_rows, "taeda/kernel/math_random_rows.h")
TAEDA_TEXT(taeda_text_reduce_tree, "taeda/kernel/reduce_tree.h")
TAEDA_TEXT(taeda_text_reduce_cascade, "taeda/kernel/reduce_cascade.h")
TAEDA_TEXT(taeda_text_reduce_places, "taeda/kernel/reduce_places.h")
TAEDA_TEXT(taeda_text_called_lanes, "taeda/kernel/called/lanes.h")
TAEDA_TEXT(taeda_text_called_bessel, "taeda/kernel/called/bessel.h")
TAEDA_TEXT(taeda_text_called_gamma, "taeda/kernel/called/gamma.h")
TAEDA_TEXT(taeda_text_called_normal, "taeda/kernel/called/normal.h")
TAEDA_TEXT(taeda_text_called_high_degrees, "taeda/kernel/called/high_degrees.h")
TAEDA_TEXT(taeda_text_called_polynomials, "taeda/kernel/called/polynomials.h")
TAEDA_TEXT(taeda_text_called_integers, "taeda/kernel/called/integers.h")
TAEDA_TEXT(taeda_text_called_float_parts, "taeda/kernel/called/float_parts.h")

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
  for (const char* header : {taeda_text_types, taeda_text_polynomials, taeda_text_exp,
                             taeda_text_log, taeda_text_trig, taeda_text_special, taeda_text_int,
                             taeda_text_index, taeda_text_convert, taeda_text_complex}) {
    append(text, header);
  }
  if (!is_cuda) append(text, taeda_text_memory);
  append(text, taeda_text_storage);
  if (!is_cuda) append(text, taeda_text_mixed);
  if (!is_cuda) append(text, taeda_text_short);
  if (!is_cuda) append(text, taeda_text_transpose);
  append(text, taeda_text_random);
  if (!is_cuda) append(text, taeda_text_random_rows);
  if (is_cuda) append(text, taeda_text_grid);
  append(text, taeda_text_reduce_tree);
  append(text, taeda_text_reduce_cascade);
  if (!is_cuda) append(text, taeda_text_reduce_places);
  return text + "using namespace taeda::kernel;\n";
}

// The texts of called functions, each after those that it includes.
struct CalledText {
  const char* name;
  const char* text;
};
constexpr CalledText kCalledTexts[] = {{"lanes", taeda_text_called_lanes},
                                       {"bessel", taeda_text_called_bessel},
                                       {"gamma", taeda_text_called_gamma},
                                       {"normal", taeda_text_called_normal},
                                       {"high_degrees", taeda_text_called_high_degrees},
                                       {"polynomials", taeda_text_called_polynomials},
                                       {"integers", taeda_text_called_integers},
                                       {"float_parts", taeda_text_called_float_parts}};

// A source has a text once, whatever number of its functions were printed with it.
void append_called(std::string& text, std::string_view name) {
  constexpr std::string_view kInclude = "#include \"taeda/kernel/called/";
  for (const CalledText& one : kCalledTexts) {
    if (one.name != name) continue;
    const std::string_view header = one.text;
    for (size_t at = header.find(kInclude); at != header.npos; at = header.find(kInclude, at)) {
      at += kInclude.size();
      append_called(text, header.substr(at, header.find(".h\"", at) - at));
    }
    text += str("#if !defined(TAEDA_TEXT_", name, ")\n#define TAEDA_TEXT_", name, "\n");
    append(text, one.text);
    text += "#endif\n";
    return;
  }
  TAEDA_INTERNAL_CHECK(false, "no text of called functions is named ", name);
}

// The text of a called function; null for other operations.
const char* text_of_call(Op op) {
  switch (op) {
#define TAEDA_CALL_TEXT(id, name, arity, kinds, text) \
  case Op::id: return #text;
    TAEDA_CALLED_FUNCTIONS(TAEDA_CALL_TEXT)
#undef TAEDA_CALL_TEXT
    default: return nullptr;
  }
}

}  // namespace

std::string called_text(const ExprGraph& graph, const std::vector<NodeId>& roots) {
  std::set<std::string_view> names;
  for (NodeId id : graph.reachable(roots))
    if (const char* name = text_of_call(graph.node(id).op)) names.insert(name);
  std::string text;
  for (std::string_view name : names) append_called(text, name);
  return text;
}

std::string called_text(const Kernel& kernel) {
  return called_text(kernel.values, roots_under(kernel, kernel.steps));
}

std::string cpu_prelude() { return prelude(false); }
std::string cuda_prelude() { return prelude(true); }

}  // namespace taeda::kernel
