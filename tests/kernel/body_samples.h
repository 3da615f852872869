// Inputs for comparing a body in two forms: special values first, then random numbers of mixed
// scale.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "taeda/kernel/expr.h"

namespace taeda::testing {

// `count` elements of `type` in memory. `which` numbers the input, so that inputs differ.
inline std::vector<char> body_samples(kernel::Type type, int64_t count, int which) {
  std::mt19937_64 random(20240917 + 31 * which + static_cast<int>(type));
  std::vector<char> bytes(count * kernel::type_size(type));
  const double inf = std::numeric_limits<double>::infinity(),
               nan = std::numeric_limits<double>::quiet_NaN();
  const double special[] = {0.0,    -0.0,   1.0,    -1.0,   0.5,   -0.5, 2.0,  -2.0, 3.0,
                            1e-30,  -1e-30, 1e30,   -1e30,  1e-42, inf,  -inf, nan,  88.7,
                            -103.0, 709.0,  -745.0, 1e-310, 0.25,  1e6,  1e10, 7.0};
  const int n_special = sizeof special / sizeof special[0];
  auto real = [&](int64_t i) {
    if (i < n_special * n_special) return special[which % 2 ? i / n_special : i % n_special];
    const double unit = std::uniform_real_distribution<double>(-1, 1)(random);
    const int scale = static_cast<int>(random() % 4);
    return scale == 0   ? unit
           : scale == 1 ? unit * 10
           : scale == 2 ? unit * 1000
                        : std::ldexp(unit, static_cast<int>(random() % 80) - 40);
  };
  auto integer = [&](int64_t i) -> int64_t {
    const int64_t specials[] = {0,   1,    -1,        2,         -2,        3,        7,
                                255, -128, 1LL << 31, INT64_MAX, INT64_MIN, 1LL << 62};
    const int n = sizeof specials / sizeof specials[0];
    if (i < n * n) return specials[which % 2 ? i / n : i % n];
    return static_cast<int64_t>(random()) >> (random() % 60);
  };
  for (int64_t i = 0; i < count; ++i) {
    char* p = bytes.data() + i * kernel::type_size(type);
    auto put = [&](auto v) { std::memcpy(p, &v, sizeof v); };
    switch (type) {
      case kernel::Type::F32: put(static_cast<float>(real(i))); break;
      case kernel::Type::F64: put(real(i)); break;
      case kernel::Type::I64: put(integer(i)); break;
      case kernel::Type::U64: put(static_cast<uint64_t>(integer(i))); break;
      case kernel::Type::Mask: put(static_cast<uint8_t>(random() & 1)); break;
      case kernel::Type::C64: {
        const float v[2] = {static_cast<float>(real(i)), static_cast<float>(real(i + 5))};
        std::memcpy(p, v, sizeof v);
        break;
      }
      default: {
        const double v[2] = {real(i), real(i + 5)};
        std::memcpy(p, v, sizeof v);
      }
    }
  }
  return bytes;
}

// Uniform arguments of a body: a few ordinary numbers in the compute type.
inline std::vector<char> uniform_samples(kernel::Type type, int count) {
  std::vector<char> bytes(16 * (count + 1));
  char* p = bytes.data();
  for (int i = 0; i < count; ++i) {
    const double v = i == 0 ? 2.0 : 3.0 + i;
    auto put = [&](auto x) {
      std::memcpy(p, &x, sizeof x);
      p += sizeof x;
    };
    switch (type) {
      case kernel::Type::F32: put(static_cast<float>(v)); break;
      case kernel::Type::F64: put(v); break;
      case kernel::Type::I64: put(static_cast<int64_t>(v)); break;
      case kernel::Type::U64: put(static_cast<uint64_t>(v)); break;
      case kernel::Type::C64:
        put(static_cast<float>(v));
        put(0.5f);
        break;
      default:
        put(v);
        put(0.5);
        break;
    }
  }
  return bytes;
}

// Equal bits, or NaN in both: NaN payloads are not part of the promise.
inline bool same_value(kernel::Type type, const char* a, const char* b) {
  auto same = [](auto x, auto y) {
    return std::memcmp(&x, &y, sizeof x) == 0 || (x != x && y != y);
  };
  auto at = [](const char* p, int i, auto tag) {
    std::memcpy(&tag, p + i * sizeof tag, sizeof tag);
    return tag;
  };
  switch (type) {
    case kernel::Type::F32: return same(at(a, 0, 0.0f), at(b, 0, 0.0f));
    case kernel::Type::F64: return same(at(a, 0, 0.0), at(b, 0, 0.0));
    case kernel::Type::C64:
      return same(at(a, 0, 0.0f), at(b, 0, 0.0f)) && same(at(a, 1, 0.0f), at(b, 1, 0.0f));
    case kernel::Type::C128:
      return same(at(a, 0, 0.0), at(b, 0, 0.0)) && same(at(a, 1, 0.0), at(b, 1, 0.0));
    default: return std::memcmp(a, b, kernel::type_size(type)) == 0;
  }
}

}  // namespace taeda::testing
