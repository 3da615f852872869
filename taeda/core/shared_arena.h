// A stretch of shared memory in which one process lays out blocks and another reads them in place.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "taeda/core/shared_memory.h"

namespace taeda {

// Note [Arenas]: an arena is one file without a name, as long as physical memory and without pages
// until they are written, so that it never grows and its descriptor is passed on once. One process
// writes: it allocates blocks, and it alone knows where they lie. Both count the references to a
// block in the block's header: one per storage over it and one per message under way. A block
// without references is used again by the writer, warm, when it looks for room. Storages over
// blocks are shared memory (Note [Shared storages]).
class TAEDA_API SharedArena final : public RefCounted {
 public:
  static IntrusivePtr<SharedArena> create();
  // The arena of another process; the descriptor stays the caller's.
  static IntrusivePtr<SharedArena> open(int descriptor);
  ~SharedArena() override;

  int descriptor() const { return descriptor_; }
  size_t capacity() const { return capacity_; }

  // The writer: a storage of this size whose bytes are whatever was there; null where the arena is
  // full. Any thread may call it.
  Storage allocate(size_t nbytes);
  // The place of a storage for a message, with one more reference to its block. The bytes of other
  // memory on the CPU are copied to a block, once per message; -1 where there is no room.
  int64_t send(const Storage& storage);
  // What is sent from now on belongs to another message.
  void end_message() { copied_.clear(); }
  // The reader: the storage of a block, the same one as long as it lives; the reference of the
  // message becomes the storage's.
  Storage receive(int64_t place, size_t nbytes);
  // The reader, before it forks: one more reference to each block that a storage here has, for the
  // child, which sees the same memory. Their places, for the end of the child.
  std::vector<int64_t> lend();
  void take_back(const std::vector<int64_t>& places);
  // Gives the pages of blocks that nobody uses back to the system.
  void trim();
  // Bytes of blocks that are in use, headers included; looks at every block.
  size_t used_bytes();

 private:
  struct Header;
  struct Block {
    size_t nbytes;  // header included
    bool is_free;
  };
  using Blocks = std::map<size_t, Block>;  // by place; they cover [0, end_)
  class Memory;
  friend class Memory;

  SharedArena(int descriptor, char* base, size_t capacity);
  Header* header_at(size_t place) const;
  Blocks::iterator free(Blocks::iterator block);
  void collect_some();
  void collect_all();
  Blocks::iterator find_room(size_t nbytes);

  int descriptor_;
  char* base_;
  size_t capacity_;
  std::mutex mutex_;
  Blocks blocks_;
  size_t end_ = 0;     // where untouched memory begins
  size_t cursor_ = 0;  // the place that is looked at next
  size_t free_bytes_ = 0;
  std::vector<std::pair<Storage, Storage>> copied_;  // storages of other memory, and their blocks
  std::unordered_map<int64_t, WeakPtr<StorageImpl>> received_;
  size_t most_received_ = 64;  // places that are kept before those of storages gone are dropped
};

}  // namespace taeda
