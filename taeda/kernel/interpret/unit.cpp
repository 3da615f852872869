// Computes the tiles of a unit.
#include "taeda/kernel/interpret/unit.h"

#include <algorithm>
#include <cstring>
#include <utility>

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
  for (int v : position_)
    std::memset(walk.scratch.get() + values_[v].offset, 0, kMaxLines * values_[v].size);
  for (int v : launch_) compute(walk, values_[v], kMaxLines);
  for (int v : spread_launch_) spread(walk, v, {0, kTile});
}

// ---- one element per line ----
void Unit::enter(Walk& walk, int64_t longest, int64_t lines) const {
  for (int v : position_) compute(walk, values_[v], lines);
  if (line_ < 0)
    for (int v : spread_position_) spread(walk, v, {0, std::min(longest, kTile)});
}

namespace {

// The first of n elements into all others, by doubling copies.
void repeat_first(char* to, size_t size, int64_t n) {
  for (int64_t done = 1; done < n; done *= 2)
    std::memcpy(to + done * size, to, std::min(done, n - done) * size);
}

// Whole registers, of which the last elements are not used.
int64_t padded(int64_t lines) { return (lines + 15) / 16 * 16; }

void write_index(Type type, const int64_t* at, int64_t n, char* out) {
  if (type == Type::I32)
    for (int64_t k = 0; k < n; ++k)
      reinterpret_cast<int32_t*>(out)[k] = static_cast<int32_t>(at[k]);
  else
    std::memcpy(out, at, n * 8);
}

}  // namespace

void Unit::spread(Walk& walk, int v, const TileRange& range) const {
  const ValuePlan& value = values_[v];
  const Tile to{walk.scratch.get() + value.spread_offset,
                range.n * static_cast<int64_t>(value.size)};
  const char* from = walk.scratch.get() + value.offset + range.line * value.size;
  for (int64_t l = 0; l < range.lines; ++l) {
    copy_element(to.at(l), from + l * value.size, value.size);
    repeat_first(to.at(l), value.size, range.n);
  }
  tiles(walk)[v] = to;
}

void Unit::compute(Walk& walk, const ValuePlan& value, int64_t lines) const {
  char* out = walk.scratch.get() + value.offset;
  char* operands[4] = {out};
  for (int i = 0; i < value.num_args(); ++i)
    operands[i + 1] = walk.scratch.get() + values_[value.args[i]].offset;
  switch (value.op) {
    case Op::Constant:
      write_constant(value.type, value.bits, out);
      repeat_first(out, value.size, lines);
      break;
    case Op::Uniform:
      copy_element(out, static_cast<const char*>(walk.arguments.scalars) + 16 * value.index,
                   value.size);
      repeat_first(out, value.size, lines);
      break;
    case Op::State:
      std::memcpy(out, walk.state(value.index), (value.is_lined ? lines : 1) * value.size);
      if (!value.is_lined) repeat_first(out, value.size, lines);
      break;
    case Op::Index:
      write_index(value.type, index_lines(walk, value.access, lines), lines, out);
      break;
    case Op::Random:
      draw_tile(static_cast<Draw>(value.index), operands + 1,
                index_lines(walk, value.access, lines), lines, out);
      break;
    case Op::Load: {
      const int64_t* at = index_lines(walk, value.access, lines);
      const char* memory = walk.buffers[value.index];
      if (value.args[0] >= 0)
        load_masked(value, memory, at, lines, operands, out);
      else
        value.access.storage->gather(memory, at, lines, out);
      break;
    }
    default: value.run(operands, value.is_padded ? padded(lines) : lines, nullptr);
  }
  for (int k : value.indirects) check(walk, indirects_[k], out, lines);
}

const int64_t* Unit::index_lines(Walk& walk, const AccessPlan& access, int64_t lines) const {
  int64_t* to = indices(walk);
  to[0] = access.at(walk.symbols.data());
  const int64_t stride = lines > 1 && line_ >= 0 ? access.line_stride(walk.symbols.data()) : 0;
  for (int64_t l = 1; l < lines; ++l) to[l] = to[l - 1] + stride;
  return to;
}

// ---- tiles ----
void Unit::evaluate(Walk& walk, const TileRange& range) const {
  for (int v : spread_launch_)
    tiles(walk)[v].pitch = range.n * static_cast<int64_t>(values_[v].size);
  if (line_ >= 0)
    for (int v : spread_position_) spread(walk, v, range);
  for (const IndirectPlan& plan : indirects_)
    if (!values_[plan.value].is_moving()) report(walk, plan, range);
  for (const TileStep& step : steps_) run_step(walk, step, range);
}

void Unit::store(Walk& walk, const TileRange& range) const {
  for (const StorePlan& plan : stores_)
    if (!plan.is_direct) store_one(walk, plan, range);
}

void Unit::run_step(Walk& walk, const TileStep& step, const TileRange& range) const {
  const ValuePlan& value = values_[step.value];
  Tile out{walk.scratch.get() + value.offset, range.n * static_cast<int64_t>(value.size)};
  if (!step.is_stored) return run_chain(walk, step, range, out);
  if (value.store >= 0) out = address(walk, stores_[value.store].access, range);
  if (step.chain)
    run_chain(walk, step, range, out);
  else if (value.op == Op::Load)
    out = load(walk, value, range, out);
  else if (value.op == Op::State)
    out.data = walk.state_tiles[value.index];
  else if (value.op == Op::Index)
    write_index(value.type, index_tile(walk, value.access, range), range.n * range.lines, out.data);
  else
    run_primitive(walk, value, range, out);
  tiles(walk)[step.value] = out;
  for (int k : value.indirects) check(walk, indirects_[k], out.data, range.n);
}

// All lines at once where each of them ends where the next one begins.
void Unit::run_primitive(Walk& walk, const ValuePlan& value, const TileRange& range,
                         Tile out) const {
  Tile operands[4] = {out};
  const int count = value.num_args() + 1;
  bool is_flat = out.pitch == range.n * static_cast<int64_t>(value.size);
  for (int i = 1; i < count; ++i) {
    operands[i] = tiles(walk)[value.args[i - 1]];
    is_flat &= operands[i].pitch == range.n * static_cast<int64_t>(values_[value.args[i - 1]].size);
  }
  const int64_t lines = is_flat ? 1 : range.lines, n = range.n * range.lines / lines;
  const int64_t* at = value.op == Op::Random ? index_tile(walk, value.access, range) : nullptr;
  for (int64_t l = 0; l < lines; ++l) {
    char* ptrs[4];
    for (int i = 0; i < count; ++i) ptrs[i] = operands[i].at(l);
    if (at)
      draw_tile(static_cast<Draw>(value.index), ptrs + 1, at + l * n, n, ptrs[0]);
    else
      value.run(ptrs, n, nullptr);
  }
}

void Unit::run_chain(Walk& walk, const TileStep& step, const TileRange& range, Tile out) const {
  ChainStep steps[kMaxChainSteps];
  int count = 0;
  auto add = [&](const ChainPart& part) {
    Tile operand{nullptr, 0};
    if (part.kind == ChainOperand::Lanes) {
      TreeRun& run = *walk.runs[part.operand];
      operand = {run.open(range.line, range.n), run.line_bytes()};
    } else if (part.kind == ChainOperand::BFloat16) {
      operand = address(walk, values_[part.operand].access, range);
    } else if (part.operand >= 0 && part.kind == ChainOperand::Uniform) {
      const ValuePlan& value = values_[part.operand];
      const int64_t size = static_cast<int64_t>(value.size);
      operand = {walk.scratch.get() + value.offset + range.line * size, size};
    } else if (part.operand >= 0) {
      operand = tiles(walk)[part.operand];
    }
    steps[count++] = {part.op, part.kind, operand.data, operand.pitch};
  };
  for (const ChainPart& part : step.parts) add(part);
  if (step.is_stored) {
    const int store = values_[step.value].store;
    const bool is_short = store >= 0 && !stores_[store].access.is_plain;
    steps[count++] = {is_short ? ChainOp::StoreBFloat16 : ChainOp::Store, ChainOperand::Tile,
                      out.data, out.pitch};
  }
  for (const ChainPart& part : step.folds) add(part);
  step.chain(steps, count, range.n, range.lines);
}

Tile Unit::address(Walk& walk, const AccessPlan& access, const TileRange& range) const {
  if (along_ >= 0) walk.symbols[along_] = range.start;
  const int64_t* symbols = walk.symbols.data();
  char* memory = walk.buffers[access.buffer];
  if (line_ < 0) return {memory + access.at(symbols) * access.item, 0};
  // The symbol stands at the first line of the tile, of which the block has some before it.
  const int64_t pitch = access.line_stride(symbols) * access.item;
  const int64_t before = access.is_private ? range.line * pitch : 0;
  return {memory + access.at(symbols) * access.item + before, pitch};
}

const int64_t* Unit::index_tile(Walk& walk, const AccessPlan& access, const TileRange& range,
                                int64_t* start) const {
  int64_t* to = indices(walk);
  if (line_ < 0) {
    if (const int64_t* given = index_in_memory(walk, access, range, start)) return given;
    write_line(walk, access, range, to);
    return to;
  }
  const int64_t first = walk.symbols[line_];
  for (int64_t l = 0; l < range.lines; ++l) {
    walk.symbols[line_] = first + l;
    write_line(walk, access, range, to + l * range.n);
    if (!access.is_private) continue;
    const int64_t before = (range.line + l) * access.line_stride(walk.symbols.data());
    for (int64_t k = 0; k < range.n; ++k) to[l * range.n + k] += before;
  }
  walk.symbols[line_] = first;
  return to;
}

// An index that is one from memory behind `start` lies there already; null for others.
const int64_t* Unit::index_in_memory(Walk& walk, const AccessPlan& access, const TileRange& range,
                                     int64_t* start) const {
  if (!access.is_sum || access.parts.size() != 1) return nullptr;
  const AccessPlan::Part& part = access.parts[0];
  const IndirectPlan& indirect = indirects_[part.indirect];
  if (along_ >= 0) walk.symbols[along_] = range.start;
  walk.symbols[indirect.place] = 0;
  const int64_t* symbols = walk.symbols.data();
  const int64_t before = access.at(symbols);
  if (access.stride(symbols) != 0 || part.factor(symbols) != 1 || (before != 0 && !start))
    return nullptr;
  if (start) *start = before;
  return reinterpret_cast<const int64_t*>(walk.scratch.get() + indirect.offset);
}

void Unit::write_line(Walk& walk, const AccessPlan& access, const TileRange& range,
                      int64_t* to) const {
  if (along_ >= 0) walk.symbols[along_] = range.start;
  if (access.is_even) {
    const int64_t first = access.at(walk.symbols.data());
    const int64_t stride = access.stride(walk.symbols.data());
    for (int64_t k = 0; k < range.n; ++k) to[k] = first + k * stride;
    return;
  }
  if (access.is_sum) {
    for (const AccessPlan::Part& part : access.parts)
      walk.symbols[indirects_[part.indirect].place] = 0;
    const int64_t first = access.at(walk.symbols.data());
    const int64_t stride = access.stride(walk.symbols.data());
    bool is_first = true;
    for (const AccessPlan::Part& part : access.parts) {
      const char* given = walk.scratch.get() + indirects_[part.indirect].offset;
      const auto* at = reinterpret_cast<const int64_t*>(given);
      const int64_t factor = part.factor(walk.symbols.data());
      if (std::exchange(is_first, false))
        for (int64_t k = 0; k < range.n; ++k) to[k] = first + k * stride + factor * at[k];
      else
        for (int64_t k = 0; k < range.n; ++k) to[k] += factor * at[k];
    }
    return;
  }
  for (int64_t k = 0; k < range.n; ++k) {
    if (along_ >= 0) walk.symbols[along_] = range.start + k;
    for (const IndirectPlan& one : indirects_)
      if (values_[one.value].is_moving())
        walk.symbols[one.place] =
            reinterpret_cast<const int64_t*>(walk.scratch.get() + one.offset)[k];
    to[k] = access.at(walk.symbols.data());
  }
}

Tile Unit::load(Walk& walk, const ValuePlan& value, const TileRange& range, Tile out) const {
  const AccessPlan& access = value.access;
  if (value.args[0] < 0 && access.is_even) {
    const Tile memory = address(walk, access, range);
    const int64_t stride = access.is_dense ? 1 : access.stride(walk.symbols.data());
    if (access.is_plain && (stride == 1 || range.n == 1) && !value.is_copied) return memory;
    const TileLoad load = stride == 1 ? value.dense_load : access.storage->load;
    if (stride == 1 && memory.pitch == range.n * access.item)
      load(memory.data, 1, range.n * range.lines, out.data);
    else
      for (int64_t l = 0; l < range.lines; ++l) load(memory.at(l), stride, range.n, out.at(l));
    return out;
  }
  int64_t start = 0;
  const int64_t* at = index_tile(walk, access, range, &start);
  const char* memory = walk.buffers[access.buffer] + start * access.item;
  const int64_t n = range.n * range.lines;
  if (value.args[0] < 0) {
    access.storage->gather(memory, at, n, out.data);
    return out;
  }
  for (int64_t l = 0; l < range.lines; ++l) {
    char* operands[] = {out.at(l), tiles(walk)[value.args[0]].at(l),
                        tiles(walk)[value.args[1]].at(l)};
    load_masked(value, memory, at + l * range.n, range.n, operands, out.at(l));
  }
  return out;
}

void Unit::load_masked(const ValuePlan& value, const char* memory, const int64_t* at, int64_t n,
                       char* const* operands, char* out) const {
  const char *mask = operands[1], *other = operands[2];
  // Masks of joined, padded and shifted tensors have few runs.
  for (int64_t k = 0, end; k < n; k = end) {
    const void* change = std::memchr(mask + k, mask[k] ? 0 : 1, static_cast<size_t>(n - k));
    end = change ? static_cast<const char*>(change) - mask : n;
    char* to = out + k * value.size;
    if (mask[k])
      value.access.storage->gather(memory, at + k, end - k, to);
    else
      std::memmove(to, other + k * value.size, (end - k) * value.size);
  }
}

void Unit::check(Walk& walk, const IndirectPlan& plan, const char* values, int64_t n) const {
  const int64_t extent = plan.extent(walk.symbols.data());
  const auto* from = reinterpret_cast<const int64_t*>(values);
  auto* to = reinterpret_cast<int64_t*>(walk.scratch.get() + plan.offset);
  // An index that does not move along tiles is wrong only if there is a tile.
  const bool is_moving = values_[plan.value].is_moving();
  // Nearly all are fine: they are looked at together, and one after the other where some are not.
  const int64_t turn = plan.wraps ? extent : 0;
  uint64_t highest = 0;
  for (int64_t k = 0; k < n; ++k) {
    to[k] = from[k] + (from[k] < 0 ? turn : 0);
    highest = std::max(highest, static_cast<uint64_t>(to[k]));
  }
  if (n > 0 && highest >= static_cast<uint64_t>(extent)) {
    int64_t unread[2] = {};
    int64_t* error = is_moving ? walk.arguments.error : unread;
    for (int64_t k = 0; k < n; ++k)
      to[k] = td_checked_index(from[k], extent, plan.wraps, error, plan.number);
  }
  if (!is_moving) walk.symbols[plan.place] = to[0];
}

void Unit::report(Walk& walk, const IndirectPlan& plan, const TileRange& range) const {
  const int64_t extent = plan.extent(walk.symbols.data());
  const auto* from =
      reinterpret_cast<const int64_t*>(walk.scratch.get() + values_[plan.value].offset);
  for (int64_t l = range.line; l < range.line + range.lines; ++l)
    td_checked_index(from[l], extent, plan.wraps, walk.arguments.error, plan.number);
}

// ---- stores ----
void Unit::store_one(Walk& walk, const StorePlan& plan, const TileRange& range) const {
  const AccessPlan& access = plan.access;
  if (plan.mask >= 0 || plan.mode != StoreMode::Write || !access.is_even)
    return store_each(walk, plan, range);
  const Tile tile = tiles(walk)[plan.value], to = address(walk, access, range);
  const int64_t stride = access.is_dense || along_ < 0 ? 1 : access.stride(walk.symbols.data());
  for (int64_t l = 0; l < range.lines; ++l) {
    if (access.is_plain && (stride == 1 || range.n == 1))
      std::memmove(to.at(l), tile.at(l), range.n * access.item);
    else
      (stride == 1 ? plan.dense_store : access.storage->store)(tile.at(l), stride, range.n,
                                                               to.at(l));
  }
}

// Elements beside each other do not meet: some at a time.
void Unit::combine_dense(const StorePlan& plan, const int64_t* at, const char* tile, size_t size,
                         int64_t n, char* memory) {
  constexpr int64_t kSome = 64;
  alignas(64) char old[kSome * 16], combined[kSome * 16];
  for (int64_t k = 0; k < n; k += kSome) {
    const int64_t some = std::min(kSome, n - k);
    plan.access.storage->gather(memory, at + k, some, old);
    char* operands[] = {combined, old, const_cast<char*>(tile + k * size)};
    plan.combine(operands, some, nullptr);
    plan.access.storage->scatter(combined, at + k, some, memory);
  }
}

void Unit::store_each(Walk& walk, const StorePlan& plan, const TileRange& range) const {
  if (plan.combine && plan.mask < 0 && plan.access.is_plain && plan.access.is_dense) {
    const Tile tile = tiles(walk)[plan.value], to = address(walk, plan.access, range);
    for (int64_t l = 0; l < range.lines; ++l) {
      char* operands[] = {to.at(l), to.at(l), tile.at(l)};
      plan.combine(operands, range.n, nullptr);
    }
    return;
  }
  int64_t start = 0;
  const int64_t* at = index_tile(walk, plan.access, range, &start);
  const size_t size = values_[plan.value].size;
  char* memory = walk.buffers[plan.access.buffer] + start * plan.access.item;
  const bool adds = plan.mode == StoreMode::Add || plan.mode == StoreMode::AtomicAdd;
  for (int64_t l = 0; l < range.lines; ++l, at += range.n) {
    const char* tile = tiles(walk)[plan.value].at(l);
    const char* mask = plan.mask >= 0 ? tiles(walk)[plan.mask].at(l) : nullptr;
    if (plan.combine && !mask && plan.access.is_even && plan.access.is_dense) {
      combine_dense(plan, at, tile, size, range.n, memory);
      continue;
    }
    if (adds && !mask && plan.access.storage->scatter_add) {
      plan.access.storage->scatter_add(tile, at, range.n, memory);
      continue;
    }
    for (int64_t k = 0; k < range.n; ++k) {
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
}

void Unit::lift(Walk& walk, const ReducePlan& plan, int64_t line, int64_t n, char** states) const {
  char* values[8];
  value_tiles(walk, plan, line, values);
  if (plan.part == Part::Combining)
    std::copy(values, values + plan.values.size(), states);
  else
    plan.lift.run(values, n, walk.scratch.get() + plan.lift_offset, states);
}

}  // namespace taeda::kernel
