// Talks to callgrind from inside of a program that it runs: taeda._C._valgrind_toggle and others.
//
// A request is a sequence of instructions that does nothing on a processor and that valgrind knows
// ("Client Requests" in its manual): the address of six words, the number of the request first, is
// in one register, and valgrind puts its answer into another.
#include "python/src/valgrind_requests.h"

#include <array>
#include <cstdint>

namespace taeda::python {
namespace {

#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))
constexpr bool kIsSupported = true;
#else
constexpr bool kIsSupported = false;
#endif

enum class CallgrindRequest : uint64_t {
  DumpStats = 0x43540000,  // "CT"
  ToggleCollect = 0x43540002,
};

void send(CallgrindRequest request) {
  const std::array<uint64_t, 6> words{static_cast<uint64_t>(request)};
#if defined(__linux__) && defined(__x86_64__)
  uint64_t answer = 0;
  asm volatile(
      "rolq $3, %%rdi; rolq $13, %%rdi; rolq $61, %%rdi; rolq $51, %%rdi\n\t"
      "xchgq %%rbx, %%rbx"
      : "=d"(answer)
      : "a"(&words), "0"(answer)
      : "cc", "memory");
#elif defined(__linux__) && defined(__aarch64__)
  register uint64_t answer asm("x3") = 0;
  register const void* place asm("x4") = &words;
  asm volatile(
      "ror x12, x12, #3; ror x12, x12, #13; ror x12, x12, #51; ror x12, x12, #61\n\t"
      "orr x10, x10, x10"
      : "+r"(answer)
      : "r"(place)
      : "cc", "memory", "x12");
#endif
}

PyObject* is_supported(PyObject*, PyObject*) { return PyBool_FromLong(kIsSupported); }

PyObject* toggle(PyObject*, PyObject*) {
  send(CallgrindRequest::ToggleCollect);
  Py_RETURN_NONE;
}

PyObject* toggle_and_dump_stats(PyObject*, PyObject*) {
  send(CallgrindRequest::ToggleCollect);
  send(CallgrindRequest::DumpStats);
  Py_RETURN_NONE;
}

}  // namespace

PyMethodDef valgrind_table[] = {
    {"_valgrind_supported_platform", is_supported, METH_NOARGS, nullptr},
    {"_valgrind_toggle", toggle, METH_NOARGS, nullptr},
    {"_valgrind_toggle_and_dump_stats", toggle_and_dump_stats, METH_NOARGS, nullptr},
    {},
};

}  // namespace taeda::python
