// Random numbers for tiles.
#include "taeda/kernel/interpret/primitives.h"
#include "taeda/kernel/math_random.h"

namespace taeda::kernel {

namespace {

template <class T, class F>
void draw_each(const char* const* operands, const int64_t* elements, int64_t n, char* tile,
               F&& draw) {
  const auto* seed = reinterpret_cast<const uint64_t*>(operands[0]);
  const auto* offset = reinterpret_cast<const uint64_t*>(operands[1]);
  T* to = reinterpret_cast<T*>(tile);
  td_kept_block kept = {0};
  for (int64_t i = 0; i < n; ++i) {
    if (kept.seed != seed[i]) kept = {seed[i]};
    to[i] = static_cast<T>(draw(kept, offset[i], elements[i], i));
  }
}

}  // namespace

void draw_tile(Draw draw, const char* const* operands, const int64_t* elements, int64_t n,
               char* tile) {
  const auto* limit = reinterpret_cast<const uint64_t*>(operands[2]);
  const int bits = uniform_bits(draw);
  switch (draw) {
    case Draw::Word:
      return draw_each<int64_t>(operands, elements, n, tile, [](auto& s, auto o, auto e, int64_t) {
        return td_draw_word(s, o, e);
      });
    case Draw::Integer:
      return draw_each<uint64_t>(
          operands, elements, n, tile,
          [=](auto& s, auto o, auto e, int64_t i) { return td_draw_integer(s, o, e, limit[i]); });
    case Draw::Uniform53:
      return draw_each<double>(operands, elements, n, tile, [](auto& s, auto o, auto e, int64_t) {
        return td_draw_uniform53(s, o, e);
      });
    case Draw::Normal:
      return draw_each<float>(operands, elements, n, tile, [](auto& s, auto o, auto e, int64_t) {
        return td_draw_normal<float>(s, o, e);
      });
    case Draw::Normal64:
      return draw_each<double>(operands, elements, n, tile, [](auto& s, auto o, auto e, int64_t) {
        return td_draw_normal<double>(s, o, e);
      });
    default:
      return draw_each<float>(operands, elements, n, tile, [=](auto& s, auto o, auto e, int64_t) {
        return td_draw_uniform(s, o, e, bits);
      });
  }
}

}  // namespace taeda::kernel
