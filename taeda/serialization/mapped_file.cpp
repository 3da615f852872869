// Maps files with mmap; the mapping goes with the storage.
#include "taeda/serialization/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "taeda/base/error.h"

namespace taeda::serialization {
namespace {

[[noreturn]] void fail_mapping(const char* what, const std::string& path) {
  const int reason = errno;
  fail(ErrorKind::Runtime, "unable to ", what, " file <", path, ">: ", std::strerror(reason));
}

class OpenFile {
 public:
  OpenFile(const std::string& path, bool is_shared) : path_(path) {
    file_ = ::open(path.c_str(), (is_shared ? O_RDWR | O_CREAT : O_RDONLY) | O_CLOEXEC, 0666);
    if (file_ < 0) fail_mapping("open", path);
  }
  ~OpenFile() { ::close(file_); }
  OpenFile(const OpenFile&) = delete;

  int descriptor() const { return file_; }
  uint64_t size() const {
    struct stat info;
    if (::fstat(file_, &info) != 0) fail_mapping("stat the", path_);
    TAEDA_CHECK(S_ISREG(info.st_mode), "unable to mmap file <", path_, ">: it is no regular file");
    return static_cast<uint64_t>(info.st_size);
  }
  void grow(uint64_t size) const {
    if (::ftruncate(file_, static_cast<off_t>(size)) != 0) fail_mapping("resize", path_);
  }

 private:
  const std::string& path_;
  int file_ = -1;
};

struct Mapping {
  void* data;
  size_t size;
};

void unmap(void* context) {
  auto* mapping = static_cast<Mapping*>(context);
  if (mapping->size > 0) ::munmap(mapping->data, mapping->size);
  delete mapping;
}

Storage map_open(const OpenFile& file, const std::string& path, bool is_shared, uint64_t size) {
  void* data = nullptr;
  if (size > 0) {
    data = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, is_shared ? MAP_SHARED : MAP_PRIVATE,
                  file.descriptor(), 0);
    if (data == MAP_FAILED) fail_mapping("mmap", path);
  }
  return make_intrusive<StorageImpl>(data, size, Device(DeviceType::CPU), &unmap,
                                     new Mapping{data, size});
}

class StorageSource final : public Source {
 public:
  StorageSource(Storage storage, std::string name)
      : storage_(std::move(storage)), name_(std::move(name)) {}
  uint64_t size() const override { return storage_->nbytes(); }
  const std::string& name() const override { return name_; }
  void read(uint64_t offset, void* into, size_t size) override {
    TAEDA_CHECK(offset <= this->size() && size <= this->size() - offset, name_,
                " is truncated: ", size, " bytes at byte ", offset, " lie beyond its end at ",
                this->size());
    if (size > 0) std::memcpy(into, static_cast<const char*>(storage_->data()) + offset, size);
  }

 private:
  Storage storage_;
  std::string name_;
};

}  // namespace

Storage map_file(const std::string& path, bool is_shared, uint64_t size) {
  const OpenFile file(path, is_shared);
  const uint64_t there = file.size();
  if (size > there) {
    TAEDA_CHECK(is_shared, "file <", path, "> has size ", there, ", less than the ", size,
                " bytes to map");
    file.grow(size);
  }
  return map_open(file, path, is_shared, size);
}

Storage map_file(const std::string& path) {
  const OpenFile file(path, /*is_shared=*/false);
  return map_open(file, path, /*is_shared=*/false, file.size());
}

std::unique_ptr<Source> open_storage_source(Storage storage, std::string name) {
  return std::make_unique<StorageSource>(std::move(storage), std::move(name));
}

}  // namespace taeda::serialization
