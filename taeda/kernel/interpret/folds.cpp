// Chooses folds, dense conversions and transpositions for this machine.
#include "taeda/kernel/interpret/folds.h"

#include "taeda/kernel/interpret/isa_tables.h"

namespace taeda::kernel {

TAEDA_ISA_TABLE(FoldTable, kFolds, folds)

namespace {

const FoldRow* find_row(const ReduceBody& body) {
  for (const FoldRow& row : folds().rows)
    if (body.name == row.name) return &row;
  return nullptr;
}

}  // namespace

FoldPrimitive find_fold(const ReduceBody& body) {
  const FoldRow* row = find_row(body);
  return row ? row->fold[static_cast<int>(body.type)] : nullptr;
}

ClosePrimitive find_close(const ReduceBody& body) {
  const FoldRow* row = find_row(body);
  return row ? row->close[static_cast<int>(body.type)] : nullptr;
}

ScanPrimitive find_scan(const ReduceBody& body) {
  const FoldRow* row = find_row(body);
  return row ? row->scan[static_cast<int>(body.type)] : nullptr;
}

TransposePrimitive find_transpose(int item) {
  return folds().transpose[item == 1 ? 0 : item == 2 ? 1 : item == 4 ? 2 : 3];
}

TileLoad find_dense_load(DType dtype, Type type) {
  return dtype == DType::BFloat16 ? folds().load_bfloat16 : find_storage(dtype, type).load;
}

TileStore find_dense_store(DType dtype, Type type) {
  return dtype == DType::BFloat16 ? folds().store_bfloat16 : find_storage(dtype, type).store;
}

}  // namespace taeda::kernel
