// Uses the installed headers and library from outside the tree: values, errors, threads, and an
// exported program that it writes to the path it is given, and as a package to the second one.
#include <atomic>
#include <cstdio>
#include <cstring>

#include "taeda/base/error.h"
#include "taeda/base/parallel.h"
#include "taeda/export/exported_program.h"
#include "taeda/export/size_symbols.h"
#include "taeda/fx/text.h"
#include "taeda/inductor/package.h"
#include "taeda/ops/functions.h"

// An exception thrown inside and caught outside needs the class's type information exported.
static bool error_is_caught() {
  try {
    TAEDA_CHECK_VALUE(false, "[package] got ", 3, ", expected ", 4);
  } catch (const taeda::Error& error) {
    return error.kind() == taeda::ErrorKind::Value && std::strstr(error.what(), "got 3") != nullptr;
  }
  return false;
}

static bool threads_visit_every_index() {
  std::atomic<int64_t> sum = 0;
  taeda::parallel_for(0, 100000, 1000, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) sum += i;
  });
  return sum == 100000LL * 99999 / 2;
}

static bool program_is_written(const char* path, const char* package) {
  namespace exported = taeda::exported;
  exported::SizeSymbols symbols;
  exported::ProgramParts parts;
  parts.graph = taeda::fx::parse_graph(
      "graph(x: f32[s0, 3]) {\n  mul = aten::mul.Tensor(x, 2)\n  return (mul,)\n}\n", symbols);
  parts.signature.inputs.emplace_back().name = "x";
  parts.signature.outputs.emplace_back().name = "mul";
  const exported::ExportedProgram program(std::move(parts));
  program.save(path);
  taeda::inductor::save_package(program, {taeda::ones({4, 3})}, package);
  return true;
}

int main(int argc, char** argv) {
  const bool is_good = error_is_caught() && threads_visit_every_index() && argc == 3 &&
                       program_is_written(argv[1], argv[2]);
  std::puts(is_good ? "package: good" : "package: FAILED");
  return is_good ? 0 : 1;
}
