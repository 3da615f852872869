// From the files of /proc.
#include "taeda/kernel/native/group_times.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <cctype>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>

#include "taeda/kernel/native/descriptor.h"

namespace taeda::kernel {
namespace {

// Ticks of a process and of its children that ended, where it is one of the group.
unsigned long long ticks_of(const char* number, pid_t group) {
  const std::string path = std::string("/proc/") + number + "/stat";
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  char text[1024];
  const ssize_t size = file ? read(file.get(), text, sizeof text - 1) : 0;
  if (size <= 0) return 0;
  text[size] = '\0';
  const char* rest = std::strrchr(text, ')');  // the end of the name
  int own_group = 0;
  unsigned long long user = 0, system = 0, children_user = 0, children_system = 0;
  if (!rest || std::sscanf(rest, ") %*c %*d %d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %llu %llu",
                           &own_group, &user, &system, &children_user, &children_system) != 5)
    return 0;
  return own_group == group ? user + system + children_user + children_system : 0;
}

}  // namespace

double group_seconds(pid_t group) {
  struct Close {
    void operator()(DIR* one) const { closedir(one); }
  };
  const std::unique_ptr<DIR, Close> all(opendir("/proc"));
  unsigned long long ticks = 0;
  if (!all) return 0;
  while (const dirent* one = readdir(all.get()))
    if (std::isdigit(static_cast<unsigned char>(one->d_name[0])))
      ticks += ticks_of(one->d_name, group);
  return static_cast<double>(ticks) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

}  // namespace taeda::kernel
