// Memory that several processes see at once: storages over a file without a name, whose descriptor
// is passed on, or over a file in /dev/shm, whose name is.
#pragma once

#include <cstdint>
#include <string>

#include "taeda/core/storage.h"

namespace taeda {

// Note [Shared storages]: the memory of a shared storage is lent by an object of this class, known
// again by the storage's deleter. It is never resized, and it lives as long as any process maps it.
// A file without a name cannot be left behind. A name stays until the last reference to it goes:
// one per storage and one per message under way, counted in the memory itself; names of a process
// that died are removed by its guard (shared_names.h). A forked child sees the memory but holds no
// reference, so what it drops does not count.
class TAEDA_API SharedMemory {
 public:
  enum class Handle : uint8_t { Descriptor, Name };

  virtual ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  // What lends the memory of a storage; null where it is no shared memory.
  static SharedMemory* of(const StorageImpl& storage);

  void* data() const { return data_; }
  size_t nbytes() const { return nbytes_; }
  // Memory into which others point (NumPy), though these bytes took its place.
  void keep(Storage replaced) { replaced_ = std::move(replaced); }

 protected:
  SharedMemory(void* data, size_t nbytes);
  // Whether the process that made this object runs, and not a forked child of it.
  bool is_own_process() const;

  void* data_;
  size_t nbytes_;

 private:
  uint32_t process_;
  Storage replaced_;
};

// A storage over the memory, which it owns from now on.
TAEDA_API Storage shared_storage(std::unique_ptr<SharedMemory> memory);

// Fresh zeros on the CPU.
TAEDA_API Storage new_shared_storage(size_t nbytes, SharedMemory::Handle handle);
// Moves the bytes of a CPU storage into shared memory of this handle, for every tensor over it;
// nothing is done where they lie there already.
TAEDA_API void share_memory(StorageImpl& storage, SharedMemory::Handle handle);

// The descriptor of a storage shared by one; it stays the storage's.
TAEDA_API int shared_descriptor(const StorageImpl& storage);
// The storage that another process shares; the descriptor stays the caller's.
TAEDA_API Storage open_shared_storage(int descriptor, size_t nbytes);

// The name of a storage shared by one, with one more reference for the message that carries it.
TAEDA_API std::string send_shared_name(const StorageImpl& storage);
// The storage that another process shares; the reference of the message becomes the storage's.
TAEDA_API Storage open_shared_storage(const std::string& name, size_t nbytes);
// Drops the reference of a message whose storage is here already.
TAEDA_API void drop_shared_name(const StorageImpl& storage);

}  // namespace taeda
