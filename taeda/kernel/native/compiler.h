// Compiles printed C++ with the system's compiler.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "taeda/base/error.h"
#include "taeda/base/export.h"
#include "taeda/base/isa.h"
#include "taeda/kernel/native/disk_cache.h"

namespace taeda::kernel {

struct CompileOptions {
  int isa = isa_level();                    // the instruction set, as in base/isa.h
  std::vector<std::string> flags = {};      // after those that every kernel gets
  DiskCache* cache = &DiskCache::shared();  // nullptr: neither read nor written
  const std::atomic<bool>* stop = nullptr;  // kills the compiler where it becomes true
  // The compiler has what others leave of the cores, as long as that is enough for it.
  bool is_patient = false;
  // The compiler's variables; nothing: those of this process.
  std::shared_ptr<const std::vector<std::string>> environment = nullptr;
};

// What a compiler that was stopped because it took too long is reported with.
class TAEDA_API CompileTimeout final : public Error {
 public:
  using Error::Error;
};

// The bytes of a shared object made from a translation unit, for NativeModule::load. They come from
// the cache where the same compiler made them from the same source with the same flags; else the
// compiler runs, which takes tenths of a second. Any number of threads may compile.
//
// The compiler is TAEDA_CXX, else CXX (each may hold arguments too: "ccache g++"), else c++, g++ or
// clang++ in PATH. It works in a private folder of TMPDIR and is killed after TAEDA_COMPILE_TIMEOUT
// seconds (120). TAEDA_KEEP_SOURCES names a folder where every source that is compiled is kept.
//
// Throws a RuntimeError where there is no compiler, where it fails, is killed, hangs (a
// CompileTimeout) or makes no object for this machine, and where the temporary folder is missing or
// full.
TAEDA_API std::string compile_native(const std::string& source, const CompileOptions& options = {});

// The same where the cache has it, in a millisecond; nothing where the compiler would have to run.
// Throws where there is no compiler.
TAEDA_API std::optional<std::string> find_native(const std::string& source,
                                                 const CompileOptions& options = {});
// Has the compiler say its version, which find_native needs and which takes as long as starting a
// process does; later calls know it. Does nothing where there is no cache or no compiler.
TAEDA_API void ask_for_version();

}  // namespace taeda::kernel
