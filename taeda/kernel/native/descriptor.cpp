// Calls of the system that may be interrupted or do a part of the work.
#include "taeda/kernel/native/descriptor.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace taeda::kernel {

int Descriptor::close() {
  const int fd = release();
  // An interrupted close has closed: a second one could hit a descriptor of another thread.
  return fd >= 0 && ::close(fd) != 0 && errno != EINTR ? errno : 0;
}

int write_all(int fd, std::string_view bytes) {
  rlimit limit;
  const off_t position = lseek(fd, 0, SEEK_CUR);
  if (position >= 0 && getrlimit(RLIMIT_FSIZE, &limit) == 0 &&
      static_cast<rlim_t>(position) + bytes.size() > limit.rlim_cur)
    return EFBIG;
  while (!bytes.empty()) {
    const ssize_t count = ::write(fd, bytes.data(), bytes.size());
    if (count > 0)
      bytes.remove_prefix(static_cast<size_t>(count));
    else if (count == 0 || errno != EINTR)
      return count == 0 ? ENOSPC : errno;
  }
  return 0;
}

int write_file(const std::string& path, std::string_view bytes) {
  Descriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) return errno;
  const int error = write_all(file.get(), bytes);
  return error ? error : file.close();
}

int read_all(int fd, char* out, size_t size) {
  while (size > 0) {
    const ssize_t count = ::read(fd, out, size);
    if (count == 0) return EIO;
    if (count < 0 && errno != EINTR) return errno;
    if (count < 0) continue;
    out += count;
    size -= static_cast<size_t>(count);
  }
  return 0;
}

std::string error_text(int error) { return std::system_category().message(error); }

}  // namespace taeda::kernel
