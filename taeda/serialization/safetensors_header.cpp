// A reader of just the JSON that such headers are made of.
#include "taeda/serialization/safetensors_header.h"

#include <charconv>
#include <cstdio>
#include <unordered_set>

#include "taeda/base/error.h"
#include "taeda/serialization/utf8.h"

namespace taeda::serialization {
namespace {

constexpr std::string_view kMetadata = "__metadata__";
constexpr size_t kLargestRank = 64;

struct SafetensorsType {
  std::string_view name;
  DType dtype;
};
constexpr SafetensorsType kSafetensorsTypes[] = {
    {"BOOL", DType::Bool},          {"U8", DType::UInt8},           {"I8", DType::Int8},
    {"F8_E5M2", DType::Float8E5M2}, {"F8_E4M3", DType::Float8E4M3}, {"I16", DType::Int16},
    {"U16", DType::UInt16},         {"F16", DType::Half},           {"BF16", DType::BFloat16},
    {"I32", DType::Int32},          {"U32", DType::UInt32},         {"F32", DType::Float},
    {"C64", DType::ComplexFloat},   {"F64", DType::Double},         {"I64", DType::Int64},
    {"U64", DType::UInt64},
};

class HeaderParser {
 public:
  HeaderParser(std::string_view json, const std::string& file, uint64_t start)
      : json_(json), file_(file), start_(start) {}

  SafetensorsHeader run() {
    check(is_utf8(json_), "it is no UTF-8 text");
    SafetensorsHeader header;
    std::unordered_set<std::string> names;
    each_member([&](std::string name) {
      check(names.insert(name).second, "the name ", name, " is there twice");
      if (name == kMetadata)
        header.metadata = metadata();
      else
        header.entries.push_back(entry(std::move(name)));
    });
    check(at_ == json_.size(), "something follows its end");
    return header;
  }

 private:
  template <class... Args>
  void check(bool condition, const Args&... args) const {
    if (!condition)
      fail(ErrorKind::Runtime, "Error while deserializing header: the header of ", file_,
           " is damaged at byte ", start_ + at_, ": ", args...);
  }

  void skip_space() {
    while (at_ < json_.size() && std::string_view(" \t\r\n").find(json_[at_]) != json_.npos) ++at_;
  }
  char peek() {
    check(at_ < json_.size(), "it has no end");
    return json_[at_];
  }
  bool accept(char c) {
    if (peek() != c) return false;
    ++at_;
    skip_space();
    return true;
  }
  void expect(char c) { check(accept(c), "expected '", c, "'"); }

  // Calls f with the key of each member of an object; f reads the value.
  template <class F>
  void each_member(F&& f) {
    skip_space();
    expect('{');
    bool is_last = accept('}');
    while (!is_last) {
      std::string key = text();
      expect(':');
      f(std::move(key));
      is_last = !accept(',');
      if (is_last) expect_end('}');
    }
  }
  // The last bracket of all has nothing after it.
  void expect_end(char c) {
    check(peek() == c, "expected '", c, "'");
    ++at_;
    skip_space();
  }
  template <class F>
  void each_item(F&& f) {
    expect('[');
    if (accept(']')) return;
    do {
      f();
    } while (accept(','));
    expect(']');
  }

  uint64_t number() {
    uint64_t value = 0;
    const char* first = json_.data() + at_;
    const auto r = std::from_chars(first, json_.data() + json_.size(), value);
    check(r.ec == std::errc() && value <= INT64_MAX, "expected a natural number below 2^63");
    check(*first != '0' || r.ptr == first + 1, "a number starts with 0");
    at_ += static_cast<size_t>(r.ptr - first);
    skip_space();
    return value;
  }

  uint32_t four_digits() {
    check(json_.size() - at_ >= 4, "it has no end");
    uint32_t value = 0;
    const char* first = json_.data() + at_;
    const auto r = std::from_chars(first, first + 4, value, 16);
    check(r.ec == std::errc() && r.ptr == first + 4, "expected four hexadecimal digits");
    at_ += 4;
    return value;
  }
  void append_code(std::string& out) {
    uint32_t code = four_digits();
    if (code >= 0xD800 && code < 0xE000) {
      const bool has_second = code < 0xDC00 && json_.substr(at_, 2) == "\\u";
      check(has_second, "half of a character");
      at_ += 2;
      const uint32_t low = four_digits();
      check(low >= 0xDC00 && low < 0xE000, "half of a character");
      code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    }
    const auto byte = [&](uint32_t b) { out += static_cast<char>(b); };
    if (code < 0x80) return byte(code);
    if (code < 0x800) return byte(0xC0 | code >> 6), byte(0x80 | (code & 0x3F));
    if (code < 0x10000)
      byte(0xE0 | code >> 12);
    else
      byte(0xF0 | code >> 18), byte(0x80 | (code >> 12 & 0x3F));
    byte(0x80 | (code >> 6 & 0x3F));
    byte(0x80 | (code & 0x3F));
  }
  std::string text() {
    check(peek() == '"', "expected a text");
    ++at_;
    std::string out;
    while (peek() != '"') {
      const char c = json_[at_++];
      check(static_cast<unsigned char>(c) >= 0x20, "a control character in a text");
      if (c != '\\') {
        out += c;
        continue;
      }
      const char escape = peek();
      ++at_;
      constexpr std::string_view kEscapes = "\"\\/bfnrt", kMeaning = "\"\\/\b\f\n\r\t";
      const size_t which = kEscapes.find(escape);
      check(escape == 'u' || which != kEscapes.npos, "an unknown escape in a text");
      if (escape == 'u')
        append_code(out);
      else
        out += kMeaning[which];
    }
    ++at_;
    skip_space();
    return out;
  }

  SafetensorsMetadata metadata() {
    SafetensorsMetadata out;
    each_member([&](std::string key) {
      check(out.emplace(key, text()).second, "the key ", key, " is there twice");
    });
    return out;
  }

  SafetensorsEntry entry(std::string name) {
    SafetensorsEntry out;
    out.name = std::move(name);
    int seen = 0;
    each_member([&](const std::string& key) {
      const int bit = key == "dtype" ? 1 : key == "shape" ? 2 : key == "data_offsets" ? 4 : 0;
      check(bit != 0 && !(seen & bit), "the key ", key, " of ", out.name, " is not expected");
      seen |= bit;
      if (bit == 1) out.dtype = dtype(text());
      if (bit == 2) out.shape = shape();
      if (bit == 4) read_range(out);
    });
    check(seen == 7, out.name, " lacks its dtype, shape or data_offsets");
    return out;
  }
  DType dtype(const std::string& name) const {
    for (const SafetensorsType& type : kSafetensorsTypes)
      if (type.name == name) return type.dtype;
    check(false, "the dtype ", name, " is not known");
    return DType::Undefined;
  }
  std::vector<int64_t> shape() {
    std::vector<int64_t> out;
    each_item([&] {
      check(out.size() < kLargestRank, "more than ", kLargestRank, " dimensions");
      out.push_back(static_cast<int64_t>(number()));
    });
    return out;
  }
  void read_range(SafetensorsEntry& out) {
    std::vector<uint64_t> range;
    each_item([&] {
      check(range.size() < 2, "more than two offsets");
      range.push_back(number());
    });
    check(range.size() == 2 && range[0] <= range[1], "two offsets in order are expected");
    out.begin = range[0];
    out.end = range[1];
  }

  std::string_view json_;
  const std::string& file_;
  uint64_t start_;
  size_t at_ = 0;
};

void append_text(std::string& out, std::string_view text) {
  out += '"';
  for (const char c : text) {
    char escaped[8];
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      std::snprintf(escaped, sizeof escaped, "\\u%04x", c);
      out += escaped;
    } else {
      out += c;
    }
  }
  out += '"';
}

}  // namespace

SafetensorsHeader parse_safetensors_header(std::string_view json, const std::string& file,
                                           uint64_t start) {
  return HeaderParser(json, file, start).run();
}

std::string safetensors_header_text(const SafetensorsHeader& header) {
  std::string out = "{";
  const auto separate = [&] {
    if (out.back() != '{') out += ',';
  };
  if (!header.metadata.empty()) {
    append_text(out, kMetadata);
    out += ":{";
    for (const auto& [key, value] : header.metadata) {
      separate();
      append_text(out, key);
      out += ':';
      append_text(out, value);
    }
    out += '}';
  }
  for (const SafetensorsEntry& e : header.entries) {
    separate();
    append_text(out, e.name);
    out += str(":{\"dtype\":\"", safetensors_dtype_name(e.dtype), "\",\"shape\":[");
    for (size_t i = 0; i < e.shape.size(); ++i) out += str(i ? "," : "", e.shape[i]);
    out += str("],\"data_offsets\":[", e.begin, ",", e.end, "]}");
  }
  out += '}';
  out.append((8 - out.size() % 8) % 8, ' ');
  return out;
}

std::string_view safetensors_dtype_name(DType dtype) {
  for (const SafetensorsType& type : kSafetensorsTypes)
    if (type.dtype == dtype) return type.name;
  return "";
}

}  // namespace taeda::serialization
