// Computes the tiles of a unit.
#include "taeda/kernel/interpret/unit.h"

#include <algorithm>
#include <cstring>

#include "taeda/kernel/math_storage.h"

namespace taeda::kernel {

char* Walk::tile_state(int number) {
  if (results.empty()) results.resize(state_tiles.size());
  if (results[number].empty()) results[number].resize(16 * kTile);
  return state_tiles[number] = results[number].data();
}

void Unit::prepare(Walk& walk) const {
  for (const auto* plans : {&reductions_, &scans_})
    for (const ReducePlan& plan : *plans) {
      plan.lift.prepare(walk.scratch.get() + plan.lift_offset);
      plan.finish.prepare(walk.scratch.get() + plan.finish_offset);
    }
  compute(walk, launch_, kTile);
}

// ---- single elements ----
void Unit::compute(Walk& walk, const std::vector<int>& values, int64_t longest) const {
  const int64_t n = std::min(longest, kTile);
  for (int v : values) {
    const ValuePlan& value = values_[v];
    compute_one(walk, value);
    if (!value.is_spread) continue;
    char* to = tiles(walk)[v] = walk.scratch.get() + value.spread_offset;
    // One element, then doubling copies.
    std::memcpy(to, walk.scratch.get() + value.offset, value.size);
    for (int64_t done = 1; done < n; done *= 2)
      std::memcpy(to + done * value.size, to, std::min(done, n - done) * value.size);
  }
}

void Unit::compute_one(Walk& walk, const ValuePlan& value) const {
  char* out = walk.scratch.get() + value.offset;
  char* operands[4] = {out};
  for (int i = 0; i < value.num_args(); ++i)
    operands[i + 1] = walk.scratch.get() + values_[value.args[i]].offset;
  switch (value.op) {
    case Op::Constant: write_constant(value.type, value.bits, out); break;
    case Op::Uniform:
      copy_element(out, static_cast<const char*>(walk.arguments.scalars) + 16 * value.index,
                   value.size);
      break;
    case Op::State: copy_element(out, walk.state(value.index), value.size); break;
    case Op::Index: write_index(walk, value, 0, 1, out); break;
    case Op::Random:
      draw_tile(static_cast<Draw>(value.index), operands + 1, index_tile(walk, value.access, 0, 1),
                1, out);
      break;
    case Op::Load: {
      const int64_t at = value.access.at(walk.symbols.data());
      const char* memory = walk.buffers[value.index];
      if (value.args[0] >= 0)
        load_masked(value, memory, &at, 1, operands, out);
      else
        value.access.storage->gather(memory, &at, 1, out);
      break;
    }
    default: value.run(operands, 1, nullptr);
  }
  for (int k : value.indirects) check(walk, indirects_[k], out, 1);
}

// ---- tiles ----
void Unit::evaluate(Walk& walk, int64_t start, int64_t n) const {
  for (const TileStep& step : steps_) run_step(walk, step, start, n);
}

void Unit::store(Walk& walk, int64_t start, int64_t n) const {
  for (const StorePlan& plan : stores_)
    if (!plan.is_direct) store_one(walk, plan, start, n);
}

void Unit::run_step(Walk& walk, const TileStep& step, int64_t start, int64_t n) const {
  const ValuePlan& value = values_[step.value];
  char** tile = tiles(walk);
  char* out = walk.scratch.get() + value.offset;
  if (value.store >= 0) out = address(walk, stores_[value.store].access, start);
  if (step.chain) {
    run_chain(walk, step, start, n, out);
  } else if (value.op == Op::Load) {
    out = load(walk, value, start, n, out);
  } else if (value.op == Op::State) {
    out = walk.state_tiles[value.index];
  } else if (value.op == Op::Index) {
    write_index(walk, value, start, n, out);
  } else {
    char* operands[4] = {out};
    for (int i = 0; i < value.num_args(); ++i) operands[i + 1] = tile[value.args[i]];
    if (value.op == Op::Random)
      draw_tile(static_cast<Draw>(value.index), operands + 1,
                index_tile(walk, value.access, start, n), n, out);
    else
      value.run(operands, n, nullptr);
  }
  tile[step.value] = out;
  for (int k : value.indirects) check(walk, indirects_[k], out, n);
}

void Unit::run_chain(Walk& walk, const TileStep& step, int64_t start, int64_t n, char* out) const {
  ChainStep steps[64];
  int count = 0;
  for (const ChainPart& part : step.parts) {
    char* operand = nullptr;
    if (part.kind == ChainOperand::BFloat16)
      operand = address(walk, values_[part.operand].access, start);
    else if (part.operand >= 0)
      operand = part.kind == ChainOperand::Uniform
                    ? walk.scratch.get() + values_[part.operand].offset
                    : tiles(walk)[part.operand];
    steps[count++] = {part.op, part.kind, operand};
  }
  const int store = values_[step.value].store;
  const bool is_short = store >= 0 && !stores_[store].access.is_plain;
  steps[count++] = {is_short ? ChainOp::StoreBFloat16 : ChainOp::Store, ChainOperand::Tile, out};
  step.chain(steps, count, n);
}

char* Unit::address(Walk& walk, const AccessPlan& access, int64_t start) const {
  if (along_ >= 0) walk.symbols[along_] = start;
  return walk.buffers[access.buffer] + access.at(walk.symbols.data()) * access.item;
}

const int64_t* Unit::index_tile(Walk& walk, const AccessPlan& access, int64_t start,
                                int64_t n) const {
  int64_t* to = indices(walk);
  if (along_ >= 0) walk.symbols[along_] = start;
  if (access.is_even) {
    const int64_t first = access.at(walk.symbols.data());
    const int64_t stride = access.stride(walk.symbols.data());
    for (int64_t k = 0; k < n; ++k) to[k] = first + k * stride;
    return to;
  }
  for (int64_t k = 0; k < n; ++k) {
    if (along_ >= 0) walk.symbols[along_] = start + k;
    for (const IndirectPlan& one : indirects_)
      if (values_[one.value].is_moving())
        walk.symbols[one.place] =
            reinterpret_cast<const int64_t*>(walk.scratch.get() + one.offset)[k];
    to[k] = access.at(walk.symbols.data());
  }
  return to;
}

void Unit::write_index(Walk& walk, const ValuePlan& value, int64_t start, int64_t n,
                       char* out) const {
  const int64_t* at = index_tile(walk, value.access, start, n);
  if (value.type == Type::I32)
    for (int64_t k = 0; k < n; ++k)
      reinterpret_cast<int32_t*>(out)[k] = static_cast<int32_t>(at[k]);
  else
    std::memcpy(out, at, n * 8);
}

char* Unit::load(Walk& walk, const ValuePlan& value, int64_t start, int64_t n, char* out) const {
  const AccessPlan& access = value.access;
  if (value.args[0] < 0 && access.is_even) {
    char* memory = address(walk, access, start);
    const int64_t stride = access.is_dense ? 1 : access.stride(walk.symbols.data());
    if (access.is_plain && (stride == 1 || n == 1) && !value.is_copied) return memory;
    (stride == 1 ? value.dense_load : access.storage->load)(memory, stride, n, out);
    return out;
  }
  const int64_t* at = index_tile(walk, access, start, n);
  const char* memory = walk.buffers[access.buffer];
  if (value.args[0] < 0) {
    access.storage->gather(memory, at, n, out);
    return out;
  }
  char* operands[] = {out, tiles(walk)[value.args[0]], tiles(walk)[value.args[1]]};
  load_masked(value, memory, at, n, operands, out);
  return out;
}

void Unit::load_masked(const ValuePlan& value, const char* memory, const int64_t* at, int64_t n,
                       char* const* operands, char* out) const {
  const char *mask = operands[1], *other = operands[2];
  for (int64_t k = 0; k < n; ++k) {
    if (mask[k])
      value.access.storage->gather(memory, at + k, 1, out + k * value.size);
    else
      copy_element(out + k * value.size, other + k * value.size, value.size);
  }
}

void Unit::check(Walk& walk, const IndirectPlan& plan, const char* values, int64_t n) const {
  const int64_t extent = plan.extent(walk.symbols.data());
  const auto* from = reinterpret_cast<const int64_t*>(values);
  auto* to = reinterpret_cast<int64_t*>(walk.scratch.get() + plan.offset);
  for (int64_t k = 0; k < n; ++k)
    to[k] = td_checked_index(from[k], extent, plan.wraps, walk.arguments.error, plan.number);
  if (!values_[plan.value].is_moving()) walk.symbols[plan.place] = to[0];
}

// ---- stores ----
void Unit::store_one(Walk& walk, const StorePlan& plan, int64_t start, int64_t n) const {
  const AccessPlan& access = plan.access;
  if (plan.mask >= 0 || plan.mode != StoreMode::Write || !access.is_even)
    return store_each(walk, plan, index_tile(walk, access, start, n), n);
  const char* tile = tiles(walk)[plan.value];
  char* to = address(walk, access, start);
  const int64_t stride = access.is_dense || along_ < 0 ? 1 : access.stride(walk.symbols.data());
  if (access.is_plain && (stride == 1 || n == 1))
    std::memmove(to, tile, n * access.item);
  else
    (stride == 1 ? plan.dense_store : access.storage->store)(tile, stride, n, to);
}

void Unit::store_each(Walk& walk, const StorePlan& plan, const int64_t* at, int64_t n) const {
  const char* tile = tiles(walk)[plan.value];
  const char* mask = plan.mask >= 0 ? tiles(walk)[plan.mask] : nullptr;
  const size_t size = values_[plan.value].size;
  char* memory = walk.buffers[plan.access.buffer];
  for (int64_t k = 0; k < n; ++k) {
    if (mask && !mask[k]) continue;
    const char* element = tile + k * size;
    alignas(16) char old[16], combined[16];
    if (plan.combine) {
      plan.access.storage->gather(memory, at + k, 1, old);
      char* operands[] = {combined, old, const_cast<char*>(element)};
      plan.combine(operands, 1, nullptr);
      element = combined;
    }
    plan.access.storage->scatter(element, at + k, 1, memory);
  }
}

void Unit::lift(Walk& walk, const ReducePlan& plan, int64_t n, char** states) const {
  char* values[8];
  for (size_t i = 0; i < plan.values.size(); ++i) values[i] = tiles(walk)[plan.values[i]];
  if (plan.part == Part::Combining)
    std::copy(values, values + plan.values.size(), states);
  else
    plan.lift.run(values, n, walk.scratch.get() + plan.lift_offset, states);
}

}  // namespace taeda::kernel
