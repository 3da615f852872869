// Which products go to oneDNN, and the primitives kept for them.
#include "taeda/backends/cpu/gemm/library.h"

#include <algorithm>
#include <array>
#include <limits>
#include <memory>

#include "taeda/backends/cpu/gemm/onednn_post_ops.h"
#include "taeda/base/parallel.h"

namespace taeda::cpu::gemm_kernels {
namespace {

using onednn::DataType;
using onednn::Handle;
using onednn::MatrixDesc;

template <class T>
constexpr DataType kDataType = std::is_same_v<T, float>  ? onednn::kFloat
                               : std::is_same_v<T, Half> ? onednn::kHalf
                                                         : onednn::kBFloat16;

constexpr double kNever = std::numeric_limits<double>::infinity();

// Multiply-adds from which oneDNN is faster than the kernels here. A call costs about 1.7 us even
// with its primitive kept. The half types gain where the processor multiplies them, which the
// kernels here cannot ask for.
template <class T>
double least_work() {
  if (onednn::request().is_refused) return kNever;
  if (onednn::request().path) return 32.0 * 32 * 32;
#if defined(__x86_64__)
  __builtin_cpu_init();
  if constexpr (std::is_same_v<T, BFloat16>)
    return __builtin_cpu_supports("avx512bf16") ? 64.0 * 64 * 64 : kNever;
  else if constexpr (std::is_same_v<T, Half>)
    return __builtin_cpu_supports("avx512fp16") ? 64.0 * 64 * 64 : kNever;
  else
    return 128.0 * 128 * 64;
#else
  return kNever;
#endif
}

// Whether the kernels here are known to be faster than oneDNN: large float products, whose packing
// hides behind their tiles. README.md has the figures.
template <class T>
bool is_better_here([[maybe_unused]] double work, [[maybe_unused]] int64_t least_side) {
#if defined(__x86_64__)
  return std::is_same_v<T, float> && work >= 1024.0 * 1024 * 1024 && least_side >= 512;
#else
  return false;
#endif
}

// Whether oneDNN is the faster one for this product, or was asked for and not known to be slower.
template <class T>
bool is_gainful(int64_t m, int64_t n, int64_t k) {
  static const double least = least_work<T>();
  const double work = static_cast<double>(m) * n * k;
  return work >= least && !is_better_here<T>(work, std::min({m, n, k}));
}

// Everything a primitive is made for.
struct Key {
  int64_t m, n, k, a_row, a_col, b_row, b_col, c_row;
  DataType type;
  int threads;
  bool has_bias;
  onednn::PostOpWords post_ops;
  bool operator==(const Key&) const = default;

  size_t hash() const {
    size_t h = (static_cast<size_t>(threads) * 4 + type) * 2 + has_bias;
    for (int64_t x : {m, n, k, a_row, a_col, b_row, b_col, c_row})
      h = (h ^ static_cast<size_t>(x)) * 0x9e3779b97f4a7c15u;
    for (int64_t x : post_ops) h = (h ^ static_cast<size_t>(x)) * 0x9e3779b97f4a7c15u;
    return h >> 32;
  }
};

// A matmul primitive with the memory objects of its arguments, whose pointers each call sets.
class Matmul {
 public:
  Matmul(const Key& key, const PostOps& post_ops)
      : key_(key), attributes_(post_ops, {key.m, key.n}) {
    const onednn::Library& dnn = onednn::library();
    const MatrixDesc a(key.type, key.m, key.k, key.a_row, key.a_col);
    const MatrixDesc b(key.type, key.k, key.n, key.b_row, key.b_col);
    const MatrixDesc c(key.type, key.m, key.n, key.c_row, 1);
    const MatrixDesc bias(key.type, 1, key.n, key.n, 1);
    primitive_ = onednn::make_matmul(a, b, key.has_bias ? &bias : nullptr, c,
                                     post_ops.empty() ? nullptr : &attributes_);
    const auto make = [&](Handle& memory, const MatrixDesc& desc) {
      return dnn.memory_create(&memory, desc.get(), dnn.engine, nullptr) == onednn::kSuccess;
    };
    is_ready_ = primitive_ && make(a_, a) && make(b_, b) && make(c_, c) &&
                (!key.has_bias || make(bias_, bias)) &&
                dnn.stream_create(&stream_, dnn.engine, onednn::kInOrderStream) == onednn::kSuccess;
  }

  ~Matmul() {
    const onednn::Library& dnn = onednn::library();
    for (Handle memory : {a_, b_, c_, bias_})
      if (memory) dnn.memory_destroy(memory);
    if (primitive_) dnn.primitive_destroy(primitive_);
    if (stream_) dnn.stream_destroy(stream_);
  }

  const Key& key() const { return key_; }

  template <class T>
  bool run(const Product<T>& p, const PostOps& post_ops) {
    if (!is_ready_) return false;
    const onednn::Library& dnn = onednn::library();
    const auto set = [&](Handle memory, const T* data) {
      return dnn.memory_set_data_handle(memory, const_cast<T*>(data)) == onednn::kSuccess;
    };
    if (!set(a_, p.a.data) || !set(b_, p.b.data) || !set(c_, p.c.data)) return false;
    if (bias_ && !set(bias_, p.bias)) return false;
    SmallVector<onednn::Bound, 12> args = {
        {onednn::kSource, a_}, {onednn::kWeights, b_}, {onednn::kDestination, c_}};
    if (bias_) args.push_back({onednn::kBias, bias_});
    if (!attributes_.bind(post_ops, args)) return false;
    return dnn.primitive_execute(primitive_, stream_, static_cast<int>(args.size()), args.data()) ==
               onednn::kSuccess &&
           dnn.stream_wait(stream_) == onednn::kSuccess;
  }

 private:
  Key key_;
  onednn::PostOpAttributes attributes_;
  bool is_ready_ = false;
  Handle stream_ = nullptr, primitive_ = nullptr;
  Handle a_ = nullptr, b_ = nullptr, c_ = nullptr, bias_ = nullptr;
};

// Each thread keeps the primitives of the shapes it met, the latest of each slot.
Matmul& kept_matmul(const Key& key, const PostOps& post_ops) {
  using Kept = std::array<std::unique_ptr<Matmul>, 128>;
  // Behind a pointer: the library's thread-local memory is static and must stay small.
  thread_local const std::unique_ptr<Kept> kept = std::make_unique<Kept>();
  std::unique_ptr<Matmul>& slot = (*kept)[key.hash() % kept->size()];
  if (!slot || !(slot->key() == key)) slot = std::make_unique<Matmul>(key, post_ops);
  return *slot;
}

// Row- or column-major with room for every line, the layouts that oneDNN is fast for.
template <class T>
bool is_plain(Matrix<const T> m, int64_t rows, int64_t cols) {
  return (m.col_stride == 1 && m.row_stride >= cols) || (m.row_stride == 1 && m.col_stride >= rows);
}

}  // namespace

template <class T>
LibraryWork library_product(const Product<T>& p) {
  if (!is_gainful<T>(p.m, p.n, p.k)) return LibraryWork::Nothing;
  if (p.alpha != 1 || p.beta != 0 || p.c.col_stride != 1 || p.c.row_stride < p.n ||
      !is_plain(p.a, p.m, p.k) || !is_plain(p.b, p.k, p.n))
    return LibraryWork::Nothing;
  if (!onednn::is_usable()) return LibraryWork::Nothing;
  const onednn::Library& dnn = onednn::library();
  const int threads = in_parallel_region() ? 1 : num_threads(), before = dnn.get_threads();
  dnn.set_threads(threads);
  const auto run = [&](const PostOps& post_ops) {
    const Key key{p.m,
                  p.n,
                  p.k,
                  p.a.row_stride,
                  p.a.col_stride,
                  p.b.row_stride,
                  p.b.col_stride,
                  p.c.row_stride,
                  kDataType<T>,
                  threads,
                  p.bias != nullptr,
                  onednn::words_of(post_ops)};
    return kept_matmul(key, post_ops).run(p, post_ops);
  };
  LibraryWork done = LibraryWork::Nothing;
  if (p.post_ops && onednn::computes_as_eager(*p.post_ops) && run(*p.post_ops))
    done = LibraryWork::Finished;
  else if (run({}))
    done = LibraryWork::Computed;
  dnn.set_threads(before);
  return done;
}

template <class T>
bool library_is_gainful(int64_t m, int64_t n, int64_t k) {
  return is_gainful<T>(m, n, k) && onednn::is_usable();
}

#define TAEDA_LIBRARY_INSTANTIATE(T)                       \
  template LibraryWork library_product(const Product<T>&); \
  template bool library_is_gainful<T>(int64_t, int64_t, int64_t);
TAEDA_LIBRARY_INSTANTIATE(float)
TAEDA_LIBRARY_INSTANTIATE(Half)
TAEDA_LIBRARY_INSTANTIATE(BFloat16)
#undef TAEDA_LIBRARY_INSTANTIATE

}  // namespace taeda::cpu::gemm_kernels
