// Loads objects through descriptors of memory, or through files.
#include "taeda/kernel/native/module.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <mutex>

#include "taeda/base/error.h"
#include "taeda/kernel/native/descriptor.h"
#include "taeda/kernel/native/temporary_folder.h"

namespace taeda::kernel {
namespace {

// The loader has a lock that a child keeps for ever if another thread holds it while this one
// forks. So forks wait for what is done with the loader here.
constinit std::mutex loader;
[[maybe_unused]] const int has_fork_handlers =
    pthread_atfork([] { loader.lock(); }, [] { loader.unlock(); }, [] { loader.unlock(); });

// A path of the descriptor that was never used before: the loader takes two objects of one path for
// the same, and numbers of descriptors come back. "/." and "//." add nothing to a path.
std::string unique_path(int fd) {
  static std::atomic<uint64_t> loads{0};
  std::string path = "/proc/self/fd";
  for (uint64_t rest = loads.fetch_add(1); rest; rest >>= 1) path += rest & 1 ? "//." : "/.";
  return str(path, "/", fd);
}

void* open_object(const std::string& path, std::string& problem) {
  const std::lock_guard lock(loader);
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) problem = dlerror();
  return handle;
}

void* open_memory(std::string_view bytes) {
  const Descriptor memory(memfd_create("taeda_kernel", MFD_CLOEXEC));
  if (!memory || write_all(memory.get(), bytes) != 0) return nullptr;
  const std::string path = unique_path(memory.get());
  std::string ignored;  // a file is tried then, and fails for the same reason if it is the object's
  return access(path.c_str(), R_OK) == 0 ? open_object(path, ignored) : nullptr;
}

}  // namespace

std::shared_ptr<NativeModule> NativeModule::load(std::string_view bytes) {
  std::string problem = object_problem(bytes);
  TAEDA_CHECK(problem.empty(),
              "[NativeModule] this is no shared object for this machine: ", problem);
  void* handle = open_memory(bytes);
  if (!handle) {
    const TemporaryFolder folder;
    handle = open_object(folder.write("kernel.so", bytes), problem);
  }
  TAEDA_CHECK(handle, "[NativeModule] the object cannot be loaded: ", problem);
  return std::shared_ptr<NativeModule>(new NativeModule(handle));
}

NativeModule::~NativeModule() {
  const std::lock_guard lock(loader);
  dlclose(handle_);
}

void* NativeModule::symbol(const std::string& name) const {
  const std::lock_guard lock(loader);
  void* found = dlsym(handle_, name.c_str());
  TAEDA_CHECK(found, "[NativeModule] the object has no symbol '", name,
              "'; functions of generated code are declared extern \"C\"");
  return found;
}

}  // namespace taeda::kernel
