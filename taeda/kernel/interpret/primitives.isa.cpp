// Operations on tiles of floats and doubles, and folds, once per instruction set.
#include "taeda/kernel/interpret/primitives.h"
#include "taeda/kernel/interpret/primitive_bodies.h"

namespace taeda::kernel {
namespace TAEDA_ISA {

namespace {

template <Op op, class T>
void fold(char* lanes, const char* tile, int64_t rows, int64_t count) {
  using V = Vec<T>;
  T* into = reinterpret_cast<T*>(lanes);
  const T* from = reinterpret_cast<const T*>(tile);
  // A lane of the reduction tree is 64 bytes wide in all; a register holds a part of it.
  for (int64_t l = 0; l < count; l += V::kWidth) {
    V value = V::load(into + l);
    for (int64_t row = 0; row < rows; ++row)
      value = Primitive<op>::apply(value, V::load(from + row * count + l));
    value.store(into + l);
  }
}

template <Op op>
constexpr void add_fold(PrimitiveTable& table) {
  FoldPrimitive* row = table.folds[static_cast<int>(op)];
  row[static_cast<int>(Type::F32)] = &fold<op, float>;
  row[static_cast<int>(Type::F64)] = &fold<op, double>;
  row[static_cast<int>(Type::I64)] = &fold<op, int64_t>;
  row[static_cast<int>(Type::U64)] = &fold<op, uint64_t>;
}

template <Op op>
constexpr void add(PrimitiveTable& table) {
  TilePrimitive* row = table.operations[static_cast<int>(op)];
  row[static_cast<int>(Type::F32)] = tile_primitive<op, float>();
  row[static_cast<int>(Type::F64)] = tile_primitive<op, double>();
}

constexpr PrimitiveTable make_table() {
  PrimitiveTable table{};
#define TAEDA_ADD(id, name, arity, result, form) add<Op::id>(table);
  TAEDA_EXPR_OPS(TAEDA_ADD)
#undef TAEDA_ADD
  add_fold<Op::Add>(table);
  add_fold<Op::Mul>(table);
  add_fold<Op::Maximum>(table);
  add_fold<Op::Minimum>(table);
  return table;
}

}  // namespace

extern constinit const PrimitiveTable kPrimitives = make_table();

}  // namespace TAEDA_ISA
}  // namespace taeda::kernel
