// Operations on tiles of floats and doubles, once per instruction set.
#include "taeda/kernel/interpret/primitives.h"
#include "taeda/kernel/interpret/primitive_bodies.h"

namespace taeda::kernel {
namespace TAEDA_ISA {

namespace {

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
  TAEDA_CALLED_FUNCTIONS(TAEDA_ADD)
#undef TAEDA_ADD
  return table;
}

}  // namespace

extern constinit const PrimitiveTable kPrimitives = make_table();

}  // namespace TAEDA_ISA
}  // namespace taeda::kernel
