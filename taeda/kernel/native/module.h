// Compiled code that is loaded into this process.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "taeda/base/export.h"

namespace taeda::kernel {

// A loaded shared object; its functions may be called, from any thread, as long as it lives.
class TAEDA_API NativeModule {
 public:
  // Each call loads its own copy, from memory where the system lets it and else from a file that is
  // removed at once. Throws where the bytes are no shared object for this machine, are cut off, or
  // need symbols that the process lacks.
  static std::shared_ptr<NativeModule> load(std::string_view bytes);

  NativeModule(const NativeModule&) = delete;
  ~NativeModule();

  // Throws where there is none of this name.
  void* symbol(const std::string& name) const;
  // The same as a pointer to a function: function<int (*)(int)>("name").
  template <class Pointer>
  Pointer function(const std::string& name) const {
    return reinterpret_cast<Pointer>(symbol(name));
  }

 private:
  explicit NativeModule(void* handle) : handle_(handle) {}
  void* handle_;
};

// Why these bytes are no shared object that this machine could load, or an empty text. Says nothing
// of symbols.
TAEDA_API std::string object_problem(std::string_view bytes);

}  // namespace taeda::kernel
