// First fit over blocks that are kept in order of place; neighbours that are free become one.
#include "taeda/core/shared_arena.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <iterator>

#include "taeda/base/error.h"
#include "taeda/core/os_memory.h"

namespace taeda {

namespace {

constexpr size_t kGranule = 64;                // blocks and their bytes begin at multiples of it
constexpr size_t kSmallest = size_t{1} << 26;  // bytes that an arena must have
constexpr int kLookedAt = 8;                   // blocks per allocation: more than are made

}  // namespace

struct alignas(kGranule) SharedArena::Header {
  std::atomic<int64_t> references;
};

// What lends a block to a storage.
class SharedArena::Memory final : public SharedMemory {
 public:
  Memory(IntrusivePtr<SharedArena> arena, Header* header, size_t nbytes)
      : SharedMemory(header + 1, nbytes), arena_(std::move(arena)) {}
  ~Memory() override {
    if (is_own_process()) header()->references.fetch_sub(1, std::memory_order_release);
  }
  Header* header() const { return static_cast<Header*>(data_) - 1; }
  const SharedArena* arena() const { return arena_.get(); }

 private:
  IntrusivePtr<SharedArena> arena_;
};

SharedArena::SharedArena(int descriptor, char* base, size_t capacity)
    : descriptor_(descriptor), base_(base), capacity_(capacity) {}

SharedArena::~SharedArena() {
  munmap(base_, capacity_);
  close(descriptor_);
}

IntrusivePtr<SharedArena> SharedArena::create() {
  const int descriptor = memfd_create("taeda_arena", MFD_CLOEXEC);
  TAEDA_CHECK(descriptor >= 0, "unable to open shared memory: ", std::strerror(errno), " (", errno,
              "); where too many files are open, raise `ulimit -n`");
  // Limits on addresses or file sizes (`ulimit -v`, `ulimit -f`) make it smaller.
  for (size_t nbytes = round_up(os_physical_bytes(), os_page_bytes()); nbytes >= kSmallest;
       nbytes = round_up(nbytes / 2, os_page_bytes())) {
    if (ftruncate(descriptor, static_cast<off_t>(nbytes)) != 0) continue;
    void* base =
        mmap(nullptr, nbytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, descriptor, 0);
    if (base == MAP_FAILED) continue;
    return IntrusivePtr<SharedArena>::steal(
        new SharedArena(descriptor, static_cast<char*>(base), nbytes));
  }
  const int error = errno;
  close(descriptor);
  fail(ErrorKind::Runtime, "unable to mmap shared memory of ", kSmallest,
       " bytes: ", std::strerror(error), " (", error, ")");
}

IntrusivePtr<SharedArena> SharedArena::open(int descriptor) {
  struct stat status = {};
  const int own = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
  TAEDA_CHECK(own >= 0,
              "could not duplicate a shared memory file descriptor: ", std::strerror(errno), " (",
              errno, ")");
  void* base = MAP_FAILED;
  if (fstat(own, &status) == 0)
    base = mmap(nullptr, static_cast<size_t>(status.st_size), PROT_READ | PROT_WRITE,
                MAP_SHARED | MAP_NORESERVE, own, 0);
  if (base == MAP_FAILED) {
    const int error = errno;
    close(own);
    fail(ErrorKind::Runtime, "unable to mmap ", static_cast<int64_t>(status.st_size),
         " bytes of shared memory: ", std::strerror(error), " (", error, ")");
  }
  return IntrusivePtr<SharedArena>::steal(
      new SharedArena(own, static_cast<char*>(base), static_cast<size_t>(status.st_size)));
}

SharedArena::Header* SharedArena::header_at(size_t place) const {
  return reinterpret_cast<Header*>(base_ + place);
}

SharedArena::Blocks::iterator SharedArena::free(Blocks::iterator block) {
  free_bytes_ += block->second.nbytes;
  block->second.is_free = true;
  const auto next = std::next(block);
  if (next != blocks_.end() && next->second.is_free) {
    block->second.nbytes += next->second.nbytes;
    blocks_.erase(next);
  }
  if (block != blocks_.begin()) {
    const auto before = std::prev(block);
    if (before->second.is_free) {
      before->second.nbytes += block->second.nbytes;
      blocks_.erase(block);
      return before;
    }
  }
  return block;
}

// A few blocks per call, in turn: what is held for long costs no more than what is dropped at once.
void SharedArena::collect_some() {
  for (int i = 0; i < kLookedAt && !blocks_.empty(); ++i) {
    auto block = blocks_.lower_bound(cursor_);
    if (block == blocks_.end()) block = blocks_.begin();
    if (!block->second.is_free &&
        header_at(block->first)->references.load(std::memory_order_acquire) == 0)
      block = free(block);
    cursor_ = block->first + block->second.nbytes;
  }
}

void SharedArena::collect_all() {
  for (auto block = blocks_.begin(); block != blocks_.end(); ++block)
    if (!block->second.is_free &&
        header_at(block->first)->references.load(std::memory_order_acquire) == 0)
      block = free(block);
}

SharedArena::Blocks::iterator SharedArena::find_room(size_t nbytes) {
  if (free_bytes_ < nbytes) return blocks_.end();
  auto block = blocks_.begin();
  while (block != blocks_.end() && !(block->second.is_free && block->second.nbytes >= nbytes))
    ++block;
  return block;
}

Storage SharedArena::allocate(size_t nbytes) {
  TAEDA_CHECK(nbytes <= os_largest_allocation(), "shared memory of ", nbytes,
              " bytes is too large");
  const size_t needed = sizeof(Header) + round_up(nbytes, kGranule);
  const std::lock_guard lock(mutex_);
  collect_some();
  auto block = find_room(needed);
  if (block == blocks_.end() && end_ + needed > capacity_) {
    collect_all();
    block = find_room(needed);
    if (block == blocks_.end()) return nullptr;
  }
  if (block == blocks_.end()) {
    block = blocks_.emplace_hint(blocks_.end(), end_, Block{needed, false});
    end_ += needed;
  } else {
    const size_t rest = block->second.nbytes - needed;
    if (rest > 0) blocks_.emplace(block->first + needed, Block{rest, true});
    block->second = Block{needed, false};
    free_bytes_ -= needed;
  }
  Header* header = header_at(block->first);
  header->references.store(1, std::memory_order_relaxed);
  return shared_storage(
      std::make_unique<Memory>(IntrusivePtr<SharedArena>::share(this), header, nbytes));
}

int64_t SharedArena::send(const Storage& storage) {
  auto* memory = dynamic_cast<Memory*>(SharedMemory::of(*storage));
  if (!memory || memory->arena() != this) {
    auto found = std::find_if(copied_.begin(), copied_.end(),
                              [&](const auto& pair) { return pair.first == storage; });
    if (found == copied_.end()) {
      TAEDA_CHECK(storage->device().is_cpu(), "only storages on the CPU can be copied to an arena");
      Storage block = allocate(storage->nbytes());
      if (!block) return -1;
      if (storage->nbytes() > 0) std::memcpy(block->data(), storage->data(), storage->nbytes());
      found = copied_.emplace(copied_.end(), storage, std::move(block));
    }
    memory = static_cast<Memory*>(SharedMemory::of(*found->second));
  }
  memory->header()->references.fetch_add(1, std::memory_order_relaxed);
  return reinterpret_cast<char*>(memory->header()) - base_;
}

Storage SharedArena::receive(int64_t place, size_t nbytes) {
  TAEDA_CHECK(place >= 0 && place % kGranule == 0 && nbytes <= capacity_ &&
                  static_cast<size_t>(place) + sizeof(Header) + nbytes <= capacity_,
              "no block of shared memory: place ", place, ", ", nbytes, " bytes");
  Header* header = header_at(static_cast<size_t>(place));
  const std::lock_guard lock(mutex_);
  if (const auto known = received_.find(place); known != received_.end()) {
    if (Storage storage = known->second.lock()) {
      header->references.fetch_sub(1, std::memory_order_relaxed);  // the storage has one already
      return storage;
    }
  }
  Storage storage = shared_storage(
      std::make_unique<Memory>(IntrusivePtr<SharedArena>::share(this), header, nbytes));
  received_[place] = WeakPtr<StorageImpl>(storage);
  if (received_.size() > most_received_) {
    std::erase_if(received_, [](const auto& item) { return !item.second.lock(); });
    most_received_ = std::max<size_t>(64, 2 * received_.size());
  }
  return storage;
}

std::vector<int64_t> SharedArena::lend() {
  const std::lock_guard lock(mutex_);
  std::vector<int64_t> places;
  for (const auto& [place, storage] : received_) {
    if (!storage.lock()) continue;
    header_at(static_cast<size_t>(place))->references.fetch_add(1, std::memory_order_relaxed);
    places.push_back(place);
  }
  return places;
}

void SharedArena::take_back(const std::vector<int64_t>& places) {
  for (const int64_t place : places) {
    TAEDA_CHECK(place >= 0 && place % kGranule == 0 && static_cast<size_t>(place) < capacity_,
                "no block of shared memory: place ", place);
    header_at(static_cast<size_t>(place))->references.fetch_sub(1, std::memory_order_release);
  }
}

void SharedArena::trim() {
  const std::lock_guard lock(mutex_);
  collect_all();
  const size_t page = os_page_bytes();
  for (const auto& [place, block] : blocks_) {
    if (!block.is_free) continue;
    const size_t begin = round_up(place, page), end = (place + block.nbytes) / page * page;
    if (begin < end)
      fallocate(descriptor_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(begin),
                static_cast<off_t>(end - begin));
  }
}

size_t SharedArena::used_bytes() {
  const std::lock_guard lock(mutex_);
  collect_all();
  return end_ - free_bytes_;
}

}  // namespace taeda
