// Files without a name (memfd) and files in /dev/shm, mapped into storages.
#include "taeda/core/shared_memory.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include "taeda/base/error.h"
#include "taeda/core/shared_names.h"

namespace taeda {
namespace {

std::atomic<uint32_t> process_count{0};

// How many forks lie between the first process and this one.
uint32_t this_process() {
  static const int registered =
      pthread_atfork(nullptr, nullptr, [] { process_count.fetch_add(1); });
  (void)registered;
  return process_count.load(std::memory_order_relaxed);
}

void release(void* context) { delete static_cast<SharedMemory*>(context); }

class OpenFile {
 public:
  explicit OpenFile(int descriptor) : descriptor_(descriptor) {}
  ~OpenFile() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  int get() const { return descriptor_; }
  int take() { return std::exchange(descriptor_, -1); }

 private:
  int descriptor_;
};

size_t file_bytes(int descriptor) {
  struct stat status = {};
  TAEDA_CHECK(fstat(descriptor, &status) == 0,
              "unable to read the size of shared memory: ", std::strerror(errno));
  return static_cast<size_t>(status.st_size);
}

// The whole file of this size, or null for no bytes.
void* map_file(int descriptor, size_t nbytes) {
  if (nbytes == 0) return nullptr;
  void* data = mmap(nullptr, nbytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  TAEDA_CHECK(data != MAP_FAILED, "unable to mmap ", nbytes,
              " bytes of shared memory: ", std::strerror(errno), " (", errno, ")");
  return data;
}

class NamelessMemory final : public SharedMemory {
 public:
  // Takes the descriptor over.
  NamelessMemory(void* data, size_t nbytes, int descriptor)
      : SharedMemory(data, nbytes), descriptor_(descriptor) {}
  ~NamelessMemory() override {
    if (data_) munmap(data_, nbytes_);
    close(descriptor_);
  }
  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

// What lies before the bytes of named memory.
struct alignas(64) NameHeader {
  std::atomic<int64_t> references;
};
static_assert(std::atomic<int64_t>::is_always_lock_free);

class NamedMemory final : public SharedMemory {
 public:
  NamedMemory(NameHeader* header, size_t nbytes, std::string name)
      : SharedMemory(header + 1, nbytes), header_(header), name_(std::move(name)) {}
  ~NamedMemory() override {
    if (is_own_process()) drop();
    munmap(header_, nbytes_ + sizeof(NameHeader));
  }
  const std::string& name() const { return name_; }
  void add() { header_->references.fetch_add(1); }
  void drop() {
    if (header_->references.fetch_sub(1) == 1) shm_unlink(name_.c_str());
  }

 private:
  NameHeader* header_;
  std::string name_;
};

Storage new_nameless(size_t nbytes) {
  OpenFile file(memfd_create("taeda", MFD_CLOEXEC));
  TAEDA_CHECK(file.get() >= 0, "unable to open shared memory: ", std::strerror(errno), " (", errno,
              "); where too many files are open, raise `ulimit -n` or call "
              "taeda.multiprocessing.set_sharing_strategy('file_system')");
  TAEDA_CHECK(ftruncate(file.get(), static_cast<off_t>(nbytes)) == 0, "unable to allocate ", nbytes,
              " bytes of shared memory: ", std::strerror(errno), " (", errno, ")");
  void* data = map_file(file.get(), nbytes);
  return shared_storage(std::make_unique<NamelessMemory>(data, nbytes, file.take()));
}

Storage new_named(size_t nbytes) {
  const std::string name = new_shared_name();
  const OpenFile file(shm_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600));
  TAEDA_CHECK(file.get() >= 0, "unable to open shared memory object <", name,
              "> in read-write mode: ", std::strerror(errno), " (", errno, ")");
  const size_t total = nbytes + sizeof(NameHeader);
  // Pages are taken now: a full /dev/shm is an error here, and no bus error later.
  const int error = posix_fallocate(file.get(), 0, static_cast<off_t>(total));
  if (error != 0) shm_unlink(name.c_str());
  TAEDA_CHECK(error == 0, "unable to allocate shared memory(shm) for file <", name,
              ">: ", std::strerror(error), " (", error, "); ", total,
              " bytes of /dev/shm are asked for");
  auto* header = static_cast<NameHeader*>(map_file(file.get(), total));
  header->references.store(1);
  return shared_storage(std::make_unique<NamedMemory>(header, nbytes, name));
}

NamedMemory& named(const StorageImpl& storage) {
  auto* memory = dynamic_cast<NamedMemory*>(SharedMemory::of(storage));
  TAEDA_CHECK(memory, "the storage is not shared by a name");
  return *memory;
}

bool is_shared_by(const StorageImpl& storage, SharedMemory::Handle handle) {
  const SharedMemory* memory = SharedMemory::of(storage);
  if (handle == SharedMemory::Handle::Name) return dynamic_cast<const NamedMemory*>(memory);
  return dynamic_cast<const NamelessMemory*>(memory);
}

}  // namespace

SharedMemory::SharedMemory(void* data, size_t nbytes)
    : data_(data), nbytes_(nbytes), process_(this_process()) {}
SharedMemory::~SharedMemory() = default;

bool SharedMemory::is_own_process() const { return process_ == this_process(); }

SharedMemory* SharedMemory::of(const StorageImpl& storage) {
  return storage.deleter() == release ? static_cast<SharedMemory*>(storage.context()) : nullptr;
}

Storage shared_storage(std::unique_ptr<SharedMemory> memory) {
  auto storage = make_intrusive<StorageImpl>(memory->data(), memory->nbytes(),
                                             Device(DeviceType::CPU), release, memory.get());
  memory.release();
  return storage;
}

Storage new_shared_storage(size_t nbytes, SharedMemory::Handle handle) {
  return handle == SharedMemory::Handle::Name ? new_named(nbytes) : new_nameless(nbytes);
}

void share_memory(StorageImpl& storage, SharedMemory::Handle handle) {
  TAEDA_CHECK(storage.device().is_cpu(),
              "only storages on the CPU can be moved to shared memory: got ",
              storage.device().text());
  if (is_shared_by(storage, handle)) return;
  const Storage moved = new_shared_storage(storage.nbytes(), handle);
  if (storage.nbytes() > 0) std::memcpy(moved->data(), storage.data(), storage.nbytes());
  const bool has_onlookers = !storage.is_resizable();
  storage.swap_memory(*moved);
  if (has_onlookers) SharedMemory::of(storage)->keep(moved);
}

int shared_descriptor(const StorageImpl& storage) {
  const auto* memory = dynamic_cast<NamelessMemory*>(SharedMemory::of(storage));
  TAEDA_CHECK(memory, "the storage is not shared by a descriptor");
  return memory->descriptor();
}

Storage open_shared_storage(int descriptor, size_t nbytes) {
  OpenFile file(fcntl(descriptor, F_DUPFD_CLOEXEC, 0));
  TAEDA_CHECK(file.get() >= 0,
              "could not duplicate a shared memory file descriptor: ", std::strerror(errno), " (",
              errno, ")");
  const size_t there = file_bytes(file.get());
  TAEDA_CHECK(there >= nbytes, "shared memory has ", there, " bytes, expected ", nbytes);
  void* data = map_file(file.get(), nbytes);
  return shared_storage(std::make_unique<NamelessMemory>(data, nbytes, file.take()));
}

std::string send_shared_name(const StorageImpl& storage) {
  NamedMemory& memory = named(storage);
  memory.add();
  return memory.name();
}

Storage open_shared_storage(const std::string& name, size_t nbytes) {
  const OpenFile file(shm_open(name.c_str(), O_RDWR, 0600));
  TAEDA_CHECK(file.get() >= 0, "unable to open shared memory object <", name,
              "> in read-write mode: ", std::strerror(errno), " (", errno,
              "); the process that made it must live until it is received");
  const size_t total = nbytes + sizeof(NameHeader);
  const size_t there = file_bytes(file.get());
  TAEDA_CHECK(there >= total, "shared memory object <", name, "> has ", there, " bytes, expected ",
              total);
  auto* header = static_cast<NameHeader*>(map_file(file.get(), total));
  return shared_storage(std::make_unique<NamedMemory>(header, nbytes, name));
}

void drop_shared_name(const StorageImpl& storage) { named(storage).drop(); }

}  // namespace taeda
