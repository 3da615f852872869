// Schedules: each rewrite's text before and after, its refusals, and equal results when printed.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "taeda/base/error.h"
#include "taeda/base/function_ref.h"
#include "taeda/kernel/ir/text.h"
#include "taeda/kernel/print.h"
#include "taeda/kernel/schedule/schedule.h"
#include "tests/kernel/compile.h"
#include "tests/kernel/kernels.h"

namespace taeda::kernel::test {
namespace {

constexpr const char* kCopy = R"(kernel copy(rows, columns)
  buffer y float32[rows*columns]
  buffer x float32[rows*columns]
  value %0 = load x[columns*i + j] : f32
  loop i < rows parallel, j < columns vector
    store y[columns*i + j] = %0
)";

TEST(Schedule, MergeGivesPlainStrides) {
  Kernel kernel = parse_kernel(kCopy);
  Loop& loop = loop_of(kernel, "i");
  EXPECT_TRUE(can_merge_plainly(kernel, loop, 0, 1));
  merge_axes(kernel, loop, 0);
  verify(kernel);
  EXPECT_EQ(dump(kernel), R"(kernel copy(rows, columns)
  buffer y float32[rows*columns]
  buffer x float32[rows*columns]
  value %0 = load x[ij] : f32
  loop ij < rows*columns vector
    store y[ij] = %0
)");
}

TEST(Schedule, MergeOfATransposedOperandDivides) {
  Kernel kernel = parse_kernel(kMixed);
  Loop& loop = loop_of(kernel, "i");
  EXPECT_FALSE(can_merge_plainly(kernel, loop, 0, 1));
  merge_axes(kernel, loop, 0);
  verify(kernel);
  EXPECT_EQ(dump(kernel), R"(kernel mixed(rows, columns)
  buffer z float32[rows*columns]
  buffer x float32[rows*columns]
  buffer bias float32[rows]
  buffer w float32[rows*columns]
  value %0 = load x[ij] : f32
  value %1 = load bias[(ij//columns)] : f32
  value %2 = lt %0 %1 : mask
  value %3 = load w[rows*Mod(ij, columns) + (ij//columns)] : f32
  value %4 = where %2 %0 %3 : f32
  loop ij < rows*columns vector
    store z[ij] = %4
)");
}

TEST(Schedule, SplitShortensTheLastBlock) {
  Kernel kernel = parse_kernel(kCopy);
  split_axis(kernel, loop_of(kernel, "i"), 1, 64);
  verify(kernel);
  EXPECT_EQ(dump(kernel), R"(kernel copy(rows, columns)
  buffer y float32[rows*columns]
  buffer x float32[rows*columns]
  value %0 = load x[columns*i + 64*j_outer + j_inner] : f32
  loop i < rows parallel, j_outer < ((columns + 63)//64), j_inner < Min(64, columns - 64*j_outer) vector
    store y[columns*i + 64*j_outer + j_inner] = %0
)");
}

// Two tensors behind each other: elements of each are read without a mask.
TEST(Schedule, LoopsAreCutWhereMasksChange) {
  Kernel kernel = parse_kernel(R"(kernel joined(rows, m, n)
  buffer y float32[m*rows + n*rows]
  buffer a float32[m*rows]
  buffer b float32[n*rows]
  value %0 = index [j] : i64
  value %1 = index [m] : i64
  value %2 = lt %0 %1 : mask
  value %3 = constant 0 : f32
  value %4 = load a[i*m + j] if %2 else %3 : f32
  value %5 = ge %0 %1 : mask
  value %6 = load b[i*n + j - m] if %5 else %3 : f32
  value %7 = where %2 %4 %6 : f32
  loop i < rows, j < m + n
    store y[i*m + i*n + j] = %7
)");
  cut_at_masks(kernel);
  verify(kernel);
  EXPECT_EQ(dump(kernel), R"(kernel joined(rows, m, n)
  buffer y float32[rows*m + rows*n]
  buffer a float32[rows*m]
  buffer b float32[rows*n]
  value %0 = load a[m*i + j] : f32
  value %1 = load b[n*i + j] : f32
  loop i < rows, j < m
    store y[m*i + n*i + j] = %0
  barrier
  loop i < rows, j < n
    store y[m*i + n*i + m + j] = %1
)");
}

// Where a mask changes at a place that may lie beyond the axis, both loops stay inside.
TEST(Schedule, CutsStayInsideOfTheAxis) {
  Kernel kernel = parse_kernel(R"(kernel padded(n)
  buffer y float32[25]
  buffer a float32[n]
  value %0 = index [j] : i64
  value %1 = index [n] : i64
  value %2 = lt %0 %1 : mask
  value %3 = constant 0 : f32
  value %4 = load a[j] if %2 else %3 : f32
  loop j < 25
    store y[j] = %4
)");
  cut_at_masks(kernel);
  verify(kernel);
  EXPECT_EQ(dump(kernel), R"(kernel padded(n)
  buffer y float32[25]
  buffer a float32[n]
  value %0 = load a[j] : f32
  value %1 = constant 0 : f32
  loop j < Min(25, n)
    store y[j] = %0
  barrier
  loop j < 25 - Min(25, n)
    store y[j + Min(25, n)] = %1
)");
}

TEST(Schedule, ReorderKeepsBindingsWhereTheyFit) {
  Kernel kernel = parse_kernel(kCopy);
  Loop& loop = loop_of(kernel, "j");
  reorder_axes(kernel, loop, {1, 0});
  verify(kernel);
  EXPECT_EQ(loop.axes[0].var->name, "j");
  EXPECT_EQ(loop.axes[0].binding, Binding::Serial);
  bind_axis(kernel, loop, 0, Binding::Parallel);
  bind_axis(kernel, loop, 1, Binding::Vector);
}

// The loops alone: everything from the first of them on.
std::string loops(const char* text) {
  Kernel kernel = parse_kernel(text);
  schedule_for_cpu(kernel);
  const std::string all = dump(kernel);
  return all.substr(all.find("  loop"));
}

TEST(Schedule, TheUsualOneOnTheCpu) {
  EXPECT_EQ(loops(kCopy), R"(  loop ij < rows*columns vector
    store y[ij] = %0
)");
  // A tile of the transposed operand, then blocks of rows.
  EXPECT_EQ(
      loops(kMixed),
      R"(  loop i_outer < ((rows + 63)//64) parallel, j_outer < ((columns + 255)//256) parallel
    loop j_inner < Min(256, columns - 256*j_outer), i_inner < Min(64, rows - 64*i_outer)
      store w_tile[j_inner + 256*i_inner] = %0
    loop i_inner < Min(64, rows - 64*i_outer), j_inner < Min(256, columns - 256*j_outer) vector
      store z[64*columns*i_outer + columns*i_inner + 256*j_outer + j_inner] = %5
)");
  EXPECT_EQ(loops(kRowSum), R"(  loop i < rows parallel
    loop j < columns reduced vector
      reduce sum(%0) over j -> 0
    store y[i] = %1
)");
  EXPECT_EQ(
      loops(kColumnSum),
      R"(  loop j_outer < ((columns + 63)//64) parallel, j_inner < Min(64, columns - 64*j_outer) vector
    loop i < rows reduced
      reduce sum(%0) over i -> 0
    store y[64*j_outer + j_inner] = %1
)");
  // The exponential is computed once and kept.
  EXPECT_EQ(loops(kSoftmax), R"(  loop i < rows parallel
    loop j < columns reduced vector
      reduce max(%0) over j -> 0
    loop j < columns reduced vector
      store row[j] = %3
      reduce sum(%3) over j -> 1
    loop j < columns vector
      store y[columns*i + j] = %6
)");
}

TEST(Schedule, AxesInsideOfRowsAreMerged) {
  EXPECT_EQ(loops(R"(kernel shares(rows, m, n)
  buffer y float32[m*n*rows]
  buffer x float32[m*n*rows]
  value %0 = load x[k + n*j + m*n*i] : f32
  value %1 = state 0 : f32
  value %2 = div %0 %1 : f32
  loop i < rows parallel
    loop j < m reduced, k < n reduced
      reduce sum(%0) over j, k -> 0
    loop j < m, k < n
      store y[k + n*j + m*n*i] = %2
)"),
            R"(  loop i < rows parallel
    loop jk < m*n reduced vector
      reduce sum(%0) over jk -> 0
    loop jk2 < m*n vector
      store y[m*n*i + jk2] = %3
)");
}

TEST(Schedule, RowsOfATransposedOperandComeThroughATile) {
  std::string text = kSoftmax;
  text.replace(text.find("load x[columns*i + j]"), 21, "load x[rows*j + i]");
  Kernel kernel = parse_kernel(text);
  schedule_for_cpu(kernel);
  const std::string all = dump(kernel);
  EXPECT_NE(all.find("buffer x_tile float32[columns*Min(16, rows)] local"), all.npos) << all;
  EXPECT_EQ(all.substr(all.find("  loop")),
            R"(  loop i_outer < ((rows + 15)//16) parallel
    loop j < columns, i_inner < Min(16, rows - 16*i_outer)
      store x_tile[columns*i_inner + j] = %0
    loop i_inner < Min(16, rows - 16*i_outer)
      loop j < columns reduced vector
        reduce max(%1) over j -> 0
      loop j < columns reduced vector
        store row[j] = %4
        reduce sum(%4) over j -> 1
      loop j < columns vector
        store y[16*columns*i_outer + columns*i_inner + j] = %7
)");
}

TEST(Schedule, BindUnrollsAConstantAxis) {
  Kernel kernel = parse_kernel(R"(kernel pairs(n)
  buffer y float32[2*n]
  buffer x float32[n]
  value %0 = load x[i] : f32
  value %1 = neg %0 : f32
  loop i < n parallel, j < 2
    store y[2*i + j] = %1
)");
  bind_axis(kernel, loop_of(kernel, "i"), 1, Binding::Unroll);
  const std::string text = dump(kernel);
  EXPECT_EQ(text.substr(text.find("  loop")), R"(  loop i < n parallel, j < 2 unroll
    store y[2*i + j] = %1
)");
  EXPECT_NE(print_cpu_kernel(kernel).find("#pragma GCC unroll 2"), std::string::npos);
}

TEST(Schedule, NestCutsALoop) {
  Kernel kernel = parse_kernel(kCopy);
  nest_axes(kernel, loop_of(kernel, "i"), 1);
  verify(kernel);
  EXPECT_EQ(dump(kernel), R"(kernel copy(rows, columns)
  buffer y float32[rows*columns]
  buffer x float32[rows*columns]
  value %0 = load x[columns*i + j] : f32
  loop i < rows parallel
    loop j < columns vector
      store y[columns*i + j] = %0
)");
}

TEST(Schedule, StageReadsATileFirst) {
  Kernel kernel = parse_kernel(kCopy);
  Loop& loop = loop_of(kernel, "i");
  nest_axes(kernel, loop, 1);
  const auto& inner = std::get<Loop>(loop.steps[0]);
  const NodeId load = std::get<Store>(inner.steps[0]).value;
  stage_load(kernel, loop, 0, load, {{inner.axes[0], inner.axes[0].extent}});
  verify(kernel);
  EXPECT_EQ(dump(kernel), R"(kernel copy(rows, columns)
  buffer y float32[rows*columns]
  buffer x float32[rows*columns]
  buffer x_tile float32[columns] local
  value %0 = load x[columns*i + j] : f32
  value %1 = load x_tile[j] : f32
  loop i < rows parallel
    loop j < columns
      store x_tile[j] = %0
    loop j < columns vector
      store y[columns*i + j] = %1
)");
}

TEST(Schedule, SplitReductionCombinesBlocks) {
  Kernel kernel = parse_kernel(kRowSum);
  split_reduction(kernel, 0, 8192);
  verify(kernel);
  EXPECT_EQ(dump(kernel),
            R"(kernel row_sum(rows, columns)
  buffer y float32[rows]
  buffer x float32[rows*columns]
  buffer sum_part float32[rows*((columns + 8191)//8192)]
  value %0 = load x[columns*i + 8192*j_outer + j_inner] : f32
  value %1 = state 1 : f32
  value %2 = load sum_part[i*((columns + 8191)//8192) + j_outer] : f32
  value %3 = state 0 : f32
  loop j_outer < ((columns + 8191)//8192) parallel, i < rows
    loop j_inner < Min(8192, columns - 8192*j_outer) reduced vector
      reduce sum(%0) over j_inner -> 1 partial
    store sum_part[i*((columns + 8191)//8192) + j_outer] = %1
  barrier
  loop i < rows parallel
    loop j_outer < ((columns + 8191)//8192) reduced
      reduce sum(%2) over j_outer -> 0 combining
    store y[i] = %3
)");
}

TEST(Schedule, KeptValuesAreStoredByTheirFirstLoop) {
  Kernel kernel = parse_kernel(kSoftmax);
  Loop& rows = loop_of(kernel, "i");
  const NodeId dear = std::get<Reduce>(std::get<Loop>(rows.steps[1]).steps[0]).values[0];
  keep_value(kernel, rows, 1, dear);
  verify(kernel);
  EXPECT_EQ(dump(kernel), R"(kernel softmax(rows, columns)
  buffer y float32[rows*columns]
  buffer x float32[rows*columns]
  buffer row float32[columns] local
  value %0 = load x[columns*i + j] : f32
  value %1 = state 0 : f32
  value %2 = sub %0 %1 : f32
  value %3 = exp %2 : f32
  value %4 = load row[j] : f32
  value %5 = state 1 : f32
  value %6 = div %4 %5 : f32
  loop i < rows parallel
    loop j < columns reduced vector
      reduce max(%0) over j -> 0
    loop j < columns reduced vector
      store row[j] = %3
      reduce sum(%3) over j -> 1
    loop j < columns vector
      store y[columns*i + j] = %6
)");
}

std::string error_of(FunctionRef<void()> call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Schedule, RefusalsLeaveTheKernelAsItWas) {
  Kernel kernel = parse_kernel(kRowSum);
  const std::string before = dump(kernel);
  Loop &rows = loop_of(kernel, "i"), &columns = loop_of(kernel, "j");
  EXPECT_EQ(error_of([&] { loop_of(kernel, "k"); }), "[kernel] row_sum has no axis k");
  EXPECT_EQ(error_of([&] { split_axis(kernel, columns, 0, 8); }),
            "[kernel] axis j is reduced: only kept axes are split");
  EXPECT_EQ(error_of([&] { split_axis(kernel, rows, 0, 0); }),
            "[kernel] an axis is split into blocks of 0");
  EXPECT_EQ(error_of([&] { merge_axes(kernel, rows, 0); }),
            "[kernel] no axis follows axis 0 of a loop with 1");
  EXPECT_EQ(error_of([&] { reorder_axes(kernel, columns, {0}); }),
            "[kernel] axis j is reduced: its order belongs to the result");
  EXPECT_EQ(error_of([&] { reorder_axes(kernel, rows, {0, 0}); }),
            "[kernel] 2 places are no order of 1 axes");
  EXPECT_EQ(error_of([&] { bind_axis(kernel, columns, 0, Binding::Parallel); }),
            "[kernel] axis j is parallel inside of another axis");
  EXPECT_EQ(error_of([&] { bind_axis(kernel, columns, 0, Binding::Unroll); }),
            "[kernel] axis j is unrolled, but has no constant extent");
  EXPECT_EQ(error_of([&] { nest_axes(kernel, rows, 1); }),
            "[kernel] a loop with 1 axes is not cut before axis 1");
  EXPECT_EQ(error_of([&] { stage_load(kernel, rows, 1, 0, {}); }),
            "[kernel] step 1 of a loop with 2 steps is no loop");
  EXPECT_EQ(error_of([&] { stage_load(kernel, rows, 0, 1, {}); }),
            "[kernel] value 1 is no load without a mask");
  EXPECT_EQ(error_of([&] { keep_value(kernel, rows, 0, 1); }),
            "[kernel] value 1 is not computed along one axis by step 0");
  EXPECT_EQ(error_of([&] { split_reduction(kernel, 0, 5000); }),
            "[kernel] a reduction is split into blocks of 5000: its tree needs a power of two from "
            "4096 on");
  EXPECT_EQ(dump(kernel), before);
}

// The mixed kernel under several schedules, each printed under a name of its own.
TEST(Schedule, ScheduledKernelsComputeTheSame) {
  using StageFn = void (*)(char* const*, const int64_t*, const void*, int64_t*, int64_t, int64_t);
  using Rewrite = void (*)(Kernel&);
  const Rewrite rewrites[] = {
      [](Kernel&) {},
      [](Kernel& k) { merge_axes(k, loop_of(k, "i"), 0); },
      [](Kernel& k) { split_axis(k, loop_of(k, "i"), 1, 7); },
      [](Kernel& k) { split_axis(k, loop_of(k, "i"), 0, 3); },
      [](Kernel& k) { reorder_axes(k, loop_of(k, "i"), {1, 0}); },
      [](Kernel& k) {
        // Tiles for the transposed operand.
        split_axis(k, loop_of(k, "i"), 0, 4);
        split_axis(k, loop_of(k, "i_outer"), 2, 4);
        reorder_axes(k, loop_of(k, "i_outer"), {0, 2, 1, 3});
      },
      &schedule_for_cpu,
  };
  const int64_t rows = 10, columns = 23;
  std::string unit = cpu_prelude();
  std::vector<int64_t> extents;
  int number = 0;
  for (Rewrite rewrite : rewrites) {
    Kernel kernel = parse_kernel(kMixed);
    kernel.name = "mixed" + std::to_string(number++);
    rewrite(kernel);
    unit += print_cpu_kernel(kernel);
    const Expr* extent = launch_extent(kernel, std::get<Loop>(kernel.steps[0]));
    extents.push_back(
        symbolic::evaluate(extent, {{kernel.params[0], symbolic::ExprValue::of(rows)},
                                    {kernel.params[1], symbolic::ExprValue::of(columns)}})
            ->integer);
  }
  const auto module = compile(unit);
  std::vector<float> x(rows * columns), bias(rows), w(rows * columns), first;
  for (int64_t i = 0; i < rows * columns; ++i) x[i] = static_cast<float>(i % 17), w[i] = -x[i] - 1;
  for (int64_t i = 0; i < rows; ++i) bias[i] = static_cast<float>(i);
  for (size_t i = 0; i < extents.size(); ++i) {
    auto run = module->function<StageFn>("mixed" + std::to_string(i) + "_0");
    std::vector<float> z(rows * columns, -100.0f);
    char* ptrs[] = {reinterpret_cast<char*>(z.data()), reinterpret_cast<char*>(x.data()),
                    reinterpret_cast<char*>(bias.data()), reinterpret_cast<char*>(w.data())};
    const int64_t params[] = {rows, columns};
    int64_t error[2] = {};
    run(ptrs, params, nullptr, error, 0, extents[i]);
    if (i == 0) first = z;
    EXPECT_EQ(z, first) << "schedule " << i;
  }
}

}  // namespace
}  // namespace taeda::kernel::test
