// Kernels written by hand in the text of the IR, for tests of its verifier, printers and schedules.
#pragma once

namespace taeda::kernel::test {

// z[i, j] = x[i, j] < bias[i] ? x[i, j] : w[j, i]: broadcast and transposed operands.
inline constexpr const char* kMixed = R"(kernel mixed(rows, columns)
  buffer z float32[rows*columns]
  buffer x float32[rows*columns]
  buffer bias float32[rows]
  buffer w float32[rows*columns]
  value %0 = load x[columns*i + j] : f32
  value %1 = load bias[i] : f32
  value %2 = lt %0 %1 : mask
  value %3 = load w[rows*j + i] : f32
  value %4 = where %2 %0 %3 : f32
  loop i < rows parallel, j < columns vector
    store z[columns*i + j] = %4
)";

inline constexpr const char* kRowSum = R"(kernel row_sum(rows, columns)
  buffer y float32[rows]
  buffer x float32[rows*columns]
  value %0 = load x[columns*i + j] : f32
  value %1 = state 0 : f32
  loop i < rows parallel
    loop j < columns reduced vector
      reduce sum(%0) over j -> 0
    store y[i] = %1
)";

inline constexpr const char* kColumnSum = R"(kernel column_sum(rows, columns)
  buffer y float32[columns]
  buffer x float32[rows*columns]
  value %0 = load x[columns*i + j] : f32
  value %1 = state 0 : f32
  loop j < columns vector
    loop i < rows reduced
      reduce sum(%0) over i -> 0
    store y[j] = %1
)";

inline constexpr const char* kSoftmax = R"(kernel softmax(rows, columns)
  buffer y float32[rows*columns]
  buffer x float32[rows*columns]
  value %0 = load x[columns*i + j] : f32
  value %1 = state 0 : f32
  value %2 = sub %0 %1 : f32
  value %3 = exp %2 : f32
  value %4 = state 1 : f32
  value %5 = div %3 %4 : f32
  loop i < rows parallel
    loop j < columns reduced vector
      reduce max(%0) over j -> 0
    loop j < columns reduced vector
      reduce sum(%3) over j -> 1
    loop j < columns vector
      store y[columns*i + j] = %5
)";

inline constexpr const char* kLayerNorm = R"(kernel layer_norm(rows, columns)
  buffer y bfloat16[rows*columns]
  buffer x bfloat16[rows*columns]
  buffer weight bfloat16[columns]
  value %0 = load x[columns*i + j] : f32
  value %1 = state 1 : f32
  value %2 = sub %0 %1 : f32
  value %3 = state 2 : f32
  value %4 = state 0 : f32
  value %5 = div %3 %4 : f32
  value %6 = uniform 0 : f32
  value %7 = add %5 %6 : f32
  value %8 = rsqrt %7 : f32
  value %9 = mul %2 %8 : f32
  value %10 = round_to bfloat16 %9 : f32
  value %11 = load weight[j] : f32
  value %12 = mul %10 %11 : f32
  loop i < rows parallel
    loop j < columns reduced vector
      reduce moments(%0) over j -> 0
    loop j < columns vector
      store y[columns*i + j] = %12
)";

// Gradient of layer norm with respect to its input, given the mean and the scale of each row:
// dx = (g - sum(g) / n - xhat * sum(g * xhat) / n) * scale with g = dy * weight.
inline constexpr const char* kLayerNormBackward = R"(kernel layer_norm_backward(rows, columns)
  buffer dx float32[rows*columns]
  buffer dy float32[rows*columns]
  buffer x float32[rows*columns]
  buffer weight float32[columns]
  buffer mean float32[rows]
  buffer scale float32[rows]
  value %0 = load dy[columns*i + j] : f32
  value %1 = load weight[j] : f32
  value %2 = mul %0 %1 : f32
  value %3 = load x[columns*i + j] : f32
  value %4 = load mean[i] : f32
  value %5 = sub %3 %4 : f32
  value %6 = load scale[i] : f32
  value %7 = mul %5 %6 : f32
  value %8 = mul %2 %7 : f32
  value %9 = state 0 : f32
  value %10 = index [columns] : i64
  value %11 = cast %10 : f32
  value %12 = div %9 %11 : f32
  value %13 = sub %2 %12 : f32
  value %14 = state 1 : f32
  value %15 = div %14 %11 : f32
  value %16 = mul %7 %15 : f32
  value %17 = sub %13 %16 : f32
  value %18 = mul %17 %6 : f32
  loop i < rows parallel
    loop j < columns reduced vector
      reduce sum(%2) over j -> 0
      reduce sum(%8) over j -> 1
    loop j < columns vector
      store dx[columns*i + j] = %18
)";

// The position of the largest element, over two axes of which the outer one jumps.
inline constexpr const char* kArgMax = R"(kernel argmax(rows, columns)
  buffer y int64[rows]
  buffer x float32[2*rows*columns]
  value %0 = load x[rows*columns*k + columns*i + j] : f32
  value %1 = index [columns*k + j] : i64
  value %2 = state 1 : i64
  loop i < rows parallel
    loop k < 2 reduced, j < columns reduced
      reduce argmax(%0, %1) over k, j -> 0
    store y[i] = %2
)";

inline constexpr const char* kCumsum = R"(kernel cumsum(rows, columns)
  buffer y float64[rows*columns]
  buffer x float64[rows*columns]
  value %0 = load x[columns*i + j] : f64
  value %1 = state 0 : f64
  loop i < rows parallel
    loop j < columns scanned
      scan sum(%0) along j -> 0
      store y[columns*i + j] = %1
)";

inline constexpr const char* kLogCumsumExp = R"(kernel logcumsumexp(rows, columns)
  buffer y float32[rows*columns]
  buffer x float32[rows*columns]
  value %0 = load x[columns*i + j] : f32
  value %1 = state 0 : f32
  loop i < rows parallel
    loop j < columns scanned
      scan logsumexp(%0) along j -> 0
      store y[columns*i + j] = %1
)";

// y[index[i], j] += x[i, j]: colliding rows add up.
inline constexpr const char* kIndexAdd = R"(kernel index_add(rows, columns, n)
  buffer y float32[columns*n]
  buffer x float32[rows*columns]
  buffer index int64[rows]
  value %0 = load index[i] : i64
  index t = %0 < n wraps
  value %1 = load x[columns*i + j] : f32
  loop i < rows
    check t
  barrier
  loop i < rows, j < columns vector
    atomic_add y[columns*t + j] = %1
)";

// Each operation rounds to bfloat16, as a chain of eager operators does.
inline constexpr const char* kCastChain = R"(kernel cast_chain(n)
  buffer y float32[n]
  buffer x bfloat16[n]
  value %0 = load x[i] : f32
  value %1 = constant 1.25 : f32
  value %2 = mul %0 %1 : f32
  value %3 = round_to bfloat16 %2 : f32
  value %4 = exp %3 : f32
  value %5 = round_to bfloat16 %4 : f32
  value %6 = add %5 %0 : f32
  value %7 = round_to bfloat16 %6 : f32
  loop i < n vector
    store y[i] = %7
)";

inline constexpr const char* kTranspose = R"(kernel transpose(rows, columns)
  buffer y int16[rows*columns]
  buffer x int16[rows*columns]
  value %0 = load x[columns*i + j] : i64
  loop i < rows parallel, j < columns
    store y[rows*j + i] = %0
)";

// Softmax down the columns: all of memory is dense across the reduction.
inline constexpr const char* kColumnSoftmax = R"(kernel column_softmax(rows, columns)
  buffer y float32[rows*columns]
  buffer x float32[rows*columns]
  value %0 = load x[columns*i + j] : f32
  value %1 = state 0 : f32
  value %2 = sub %0 %1 : f32
  value %3 = exp %2 : f32
  value %4 = state 1 : f32
  value %5 = div %3 %4 : f32
  loop j < columns vector
    loop i < rows reduced
      reduce max(%0) over i -> 0
    loop i < rows reduced
      reduce sum(%3) over i -> 1
    loop i < rows
      store y[columns*i + j] = %5
)";

// y[i, j] = x[index[i], j], indices from -n to n - 1; an index out of range writes nothing.
inline constexpr const char* kGather = R"(kernel gather(rows, columns, n)
  buffer y int32[rows*columns]
  buffer x int32[columns*n]
  buffer index int64[rows]
  value %0 = load index[i] : i64
  index t = %0 < n wraps
  value %1 = load x[columns*t + j] : i64
  loop i < rows
    check t
  barrier
  loop i < rows parallel, j < columns vector
    store y[columns*i + j] = %1
)";

// x, y = y, x: both are read before either is written.
inline constexpr const char* kSwap = R"(kernel swap(n)
  buffer x float32[n]
  buffer y float32[n]
  value %0 = load y[i] : f32
  value %1 = load x[i] : f32
  loop i < n vector
    store x[i] = %0
    store y[i] = %1
)";

// Two reductions of a row, a number per row of them, and a masked store that reads it.
inline constexpr const char* kRowRange = R"(kernel row_range(rows, columns)
  buffer y float32[rows*columns]
  buffer range float64[rows]
  buffer x bfloat16[rows*columns]
  buffer bias float32[rows]
  value %0 = load x[columns*i + j] : f32
  value %1 = state 0 : f32
  value %2 = state 1 : f32
  value %3 = sub %1 %2 : f32
  value %4 = load bias[i] : f32
  value %5 = add %3 %4 : f32
  value %6 = cast %5 : f64
  value %7 = sub %0 %5 : f32
  value %8 = lt %0 %5 : mask
  loop i < rows
    loop j < columns reduced vector
      reduce max(%0) over j -> 0
      reduce min(%0) over j -> 1
    store range[i] = %6
    loop j < columns vector
      store y[columns*i + j] = %7 if %8
)";

// A sum over two axes that do not follow each other in memory, and what is stored on the way.
inline constexpr const char* kChannelSums = R"(kernel channel_sums(rows, columns)
  buffer y float32[3*rows*columns]
  buffer sums float32[3]
  buffer x float32[3*rows*columns]
  value %0 = load x[3*columns*i + columns*c + j] : f32
  value %1 = mul %0 %0 : f32
  value %2 = state 0 : f32
  loop c < 3 parallel
    loop i < rows reduced, j < columns reduced vector
      store y[3*columns*i + columns*c + j] = %1
      reduce sum(%1) over i, j -> 0
    store sums[c] = %2
)";

// One state for all rows.
inline constexpr const char* kCenterAll = R"(kernel center_all(rows, columns)
  buffer y float32[rows*columns]
  buffer x float32[rows*columns]
  value %0 = load x[columns*i + j] : f32
  value %1 = state 0 : f32
  value %2 = sub %0 %1 : f32
  loop o < 1
    loop i < rows reduced, j < columns reduced
      reduce max(%0) over i, j -> 0
    loop i < rows, j < columns vector
      store y[columns*i + j] = %2
)";

// Masks, floor-division and remainder in an index: pairs of neighbours swapped, a last one
// alone.
inline constexpr const char* kSwapPairs = R"(kernel swap_pairs(n)
  buffer y float16[n]
  buffer x float16[n]
  buffer keep bool[n]
  value %0 = load keep[i] : mask
  value %1 = constant -1 : f32
  value %2 = load x[Min(n - 1, 2*(i//2) - Mod(i, 2) + 1)] if %0 else %1 : f32
  loop i < n vector
    store y[i] = %2 if %0
)";

}  // namespace taeda::kernel::test
