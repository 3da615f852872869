// Checks what the loader takes for granted: it maps a cut-off object, and the process dies.
#include <elf.h>

#include <cstring>

#include "taeda/base/str.h"
#include "taeda/kernel/native/module.h"

namespace taeda::kernel {
namespace {

#if defined(__x86_64__)
constexpr uint16_t kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr uint16_t kMachine = EM_AARCH64;
#endif

template <class T>
T read_at(std::string_view bytes, uint64_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

bool is_inside(std::string_view bytes, uint64_t offset, uint64_t size) {
  return offset <= bytes.size() && size <= bytes.size() - offset;
}

}  // namespace

std::string object_problem(std::string_view bytes) {
  if (bytes.size() < sizeof(Elf64_Ehdr)) return str("it has only ", bytes.size(), " bytes");
  const auto header = read_at<Elf64_Ehdr>(bytes, 0);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return "it is no ELF file";
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB)
    return "it is not of 64 bits, little-endian";
  if (header.e_machine != kMachine)
    return str("its machine is ", header.e_machine, ", expected ", kMachine, " (numbers of ELF)");
  if (header.e_type != ET_DYN)
    return str("its type is ", header.e_type, ", expected ", ET_DYN, " (a shared object)");
  if (header.e_phentsize != sizeof(Elf64_Phdr) ||
      !is_inside(bytes, header.e_phoff, uint64_t{header.e_phnum} * sizeof(Elf64_Phdr)))
    return "it is cut off";
  for (uint64_t i = 0; i < header.e_phnum; ++i) {
    const auto segment = read_at<Elf64_Phdr>(bytes, header.e_phoff + i * sizeof(Elf64_Phdr));
    if (segment.p_type != PT_NULL && !is_inside(bytes, segment.p_offset, segment.p_filesz))
      return "it is cut off";
  }
  return "";
}

}  // namespace taeda::kernel
