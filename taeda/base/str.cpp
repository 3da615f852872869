// Prints the pieces that messages are made of.
#include "taeda/base/str.h"

#include <charconv>
#include <cstdio>

namespace taeda {

namespace {

template <class T>
void append_number(std::string& out, T value) {
  char digits[24];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

}  // namespace

void append(std::string& out, double value) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%g", value);
  out.append(buffer);
}

void append(std::string& out, const void* p) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%p", p);
  out.append(buffer);
}

void append_int(std::string& out, int64_t value) { append_number(out, value); }
void append_uint(std::string& out, uint64_t value) { append_number(out, value); }

void Piece::print_text(std::string& out, const Piece& piece) { out.append(piece.text_); }
void Piece::print_char(std::string& out, const Piece& piece) {
  out.push_back(static_cast<char>(piece.int_));
}
void Piece::print_int(std::string& out, const Piece& piece) { append_int(out, piece.int_); }
void Piece::print_uint(std::string& out, const Piece& piece) {
  append_uint(out, static_cast<uint64_t>(piece.int_));
}
void Piece::print_double(std::string& out, const Piece& piece) { append(out, piece.double_); }
void Piece::print_pointer(std::string& out, const Piece& piece) { append(out, piece.object_); }

std::string join(std::initializer_list<Piece> pieces) {
  std::string out;
  for (const Piece& piece : pieces) piece.append_to(out);
  return out;
}

}  // namespace taeda
