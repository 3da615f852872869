#include "taeda/dynamo/evaluator/code.h"

#include <opcode.h>

#include <memory>
#include <utility>

#include "taeda/dynamo/evaluator/owned.h"
#include "taeda/dynamo/frames/frames.h"

namespace taeda::dynamo {

namespace {

// The caches behind an instruction: units of opcode CACHE follow it in plain code.
int caches_behind(const uint8_t* bytes, int unit, int count) {
  int end = unit + 1;
  while (end < count && bytes[2 * end] == CACHE) ++end;
  return end;
}

enum class Jump { None, Forward, Backward };

Jump jump_of(std::string_view name) {
  if (name.find("BACKWARD") != name.npos) return Jump::Backward;
  const bool jumps = name.find("JUMP") != name.npos || name == "FOR_ITER" || name == "SEND";
  return jumps ? Jump::Forward : Jump::None;
}

void decode_instructions(Code& code, const uint8_t* bytes, int count) {
  code.index_of_unit.assign(count + 1, -1);
  int start = 0;
  unsigned prefix = 0;
  for (int unit = 0; unit < count;) {
    const int opcode = bytes[2 * unit];
    const unsigned argument = prefix << 8 | bytes[2 * unit + 1];
    code.index_of_unit[unit] = static_cast<int>(code.instructions.size());
    if (opcode == EXTENDED_ARG) {
      prefix = argument;
      ++unit;
      continue;
    }
    const int after = caches_behind(bytes, unit, count);
    code.instructions.push_back({.handler = opcodes()[opcode].handler,
                                 .opcode = opcode,
                                 .argument = static_cast<int>(argument),
                                 .start = start,
                                 .unit = unit,
                                 .after = after});
    prefix = 0;
    start = unit = after;
  }
}

void resolve_jumps(Code& code) {
  for (Instruction& instruction : code.instructions) {
    const Jump jump = jump_of(opcodes()[instruction.opcode].name);
    if (jump == Jump::None) continue;
    const int distance = jump == Jump::Forward ? instruction.argument : -instruction.argument;
    instruction.target = code.index_of_unit[instruction.after + distance];
  }
}

// The exception table is a sequence of numbers in six-bit groups, most significant first; bit 6
// says that a group follows, bit 7 that an entry begins.
struct TableReader {
  const uint8_t* next;

  int number() {
    int value = *next & 63;
    while (*next++ & 64) value = value << 6 | (*next & 63);
    return value;
  }
};

void decode_exceptions(Code& code) {
  PyObject* table = code.object->co_exceptiontable;
  TableReader reader{reinterpret_cast<const uint8_t*>(PyBytes_AS_STRING(table))};
  const uint8_t* end = reader.next + PyBytes_GET_SIZE(table);
  while (reader.next < end) {
    ExceptionEntry entry{};
    entry.start = reader.number();
    entry.end = entry.start + reader.number();
    entry.handler = code.index_of_unit[reader.number()];
    const int depth = reader.number();
    entry.depth = depth >> 1;
    entry.has_instruction = depth & 1;
    code.exceptions.push_back(entry);
  }
}

// Ranges of bytes with their lines, (start, end, line or None), in the order of the table.
bool decode_lines(const Code& code) {
  std::vector<int> lines(code.index_of_unit.size(), -1);
  const Owned ranges(
      PyObject_CallMethod(reinterpret_cast<PyObject*>(code.object), "co_lines", nullptr));
  if (!ranges) return false;
  while (const Owned range{PyIter_Next(ranges.get())}) {
    int start = 0, end = 0;
    PyObject* line = nullptr;
    if (!PyArg_ParseTuple(range.get(), "iiO", &start, &end, &line)) return false;
    const int number = line == Py_None ? -1 : static_cast<int>(PyLong_AsLong(line));
    for (int unit = start / 2; unit < end / 2; ++unit) lines[unit] = number;
  }
  if (PyErr_Occurred()) return false;
  code.lines = std::move(lines);
  return true;
}

void release(void* extra) { delete static_cast<Code*>(extra); }

Py_ssize_t extra_index() {
  static const Py_ssize_t index = taeda_code_extra_index(release);
  return index;
}

}  // namespace

const ExceptionEntry* Code::handler_of(int unit) const {
  for (const ExceptionEntry& entry : exceptions) {
    if (entry.start > unit) break;
    if (unit < entry.end) return &entry;
  }
  return nullptr;
}

int Code::line_of(int unit) const {
  if (!lines.empty() || decode_lines(*this)) return lines[unit];
  PyErr_Clear();  // no memory for the table
  return PyCode_Addr2Line(object, 2 * unit);
}

const Code* decoded(PyCodeObject* object) {
  if (void* made = taeda_code_extra(object, extra_index())) return static_cast<Code*>(made);
  PyObject* plain = PyCode_GetCode(object);
  if (plain == nullptr) return nullptr;
  auto code = std::make_unique<Code>();
  code->object = object;
  decode_instructions(*code, reinterpret_cast<const uint8_t*>(PyBytes_AS_STRING(plain)),
                      static_cast<int>(PyBytes_GET_SIZE(plain) / 2));
  Py_DECREF(plain);
  resolve_jumps(*code);
  decode_exceptions(*code);
  if (taeda_set_code_extra(object, extra_index(), code.get()) < 0) return nullptr;
  return code.release();
}

}  // namespace taeda::dynamo
