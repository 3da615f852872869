// oneDNN's matmul behind dlopen, for the major version (2 or 3) whose header was found.
#include "taeda/backends/cpu/gemm/library.h"

// The build may set TAEDA_HAS_ONEDNN to 0 or 1; otherwise the header's presence decides.
#if !defined(TAEDA_HAS_ONEDNN)
#  if defined(__x86_64__) && __has_include(<oneapi/dnnl/dnnl.h>)
#    define TAEDA_HAS_ONEDNN 1
#  else
#    define TAEDA_HAS_ONEDNN 0
#  endif
#endif

#if !TAEDA_HAS_ONEDNN

namespace taeda::cpu::gemm_kernels {

bool library_product(const Product<BFloat16>&) { return false; }

}  // namespace taeda::cpu::gemm_kernels

#else

#  include <dlfcn.h>
#  include <oneapi/dnnl/dnnl.h>
#  include <pthread.h>

#  include <array>
#  include <atomic>
#  include <memory>

#  include "taeda/base/parallel.h"

namespace taeda::cpu::gemm_kernels {
namespace {

std::atomic<bool> is_forked_child{false};

bool has_bfloat16_instructions() {
#  if defined(__x86_64__)
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx512bf16");
#  else
  return false;
#  endif
}

// The functions of the library, its engine and its stream; `is_ready` is false where one is
// missing.
struct OneDnn {
  bool is_ready = false;
  void* handle = nullptr;
  dnnl_engine_t engine = nullptr;
#  define TAEDA_DNNL(name) decltype(&::dnnl_##name) name = nullptr
  TAEDA_DNNL(engine_create);
  TAEDA_DNNL(stream_create);
  TAEDA_DNNL(stream_destroy);
  TAEDA_DNNL(stream_wait);
  TAEDA_DNNL(memory_create);
  TAEDA_DNNL(memory_destroy);
  TAEDA_DNNL(memory_set_data_handle);
  TAEDA_DNNL(primitive_create);
  TAEDA_DNNL(primitive_destroy);
  TAEDA_DNNL(primitive_desc_destroy);
  TAEDA_DNNL(primitive_execute);
#  if DNNL_VERSION_MAJOR >= 3
  TAEDA_DNNL(memory_desc_create_with_strides);
  TAEDA_DNNL(memory_desc_destroy);
  TAEDA_DNNL(matmul_primitive_desc_create);
#  else
  TAEDA_DNNL(memory_desc_init_by_strides);
  TAEDA_DNNL(matmul_desc_init);
  TAEDA_DNNL(primitive_desc_create);
#  endif
#  undef TAEDA_DNNL
  void (*set_threads)(int) = nullptr;  // of the OpenMP runtime that the library runs on
  int (*get_threads)() = nullptr;

  OneDnn() {
    handle = dlopen(DNNL_VERSION_MAJOR >= 3 ? "libdnnl.so.3" : "libdnnl.so.2", RTLD_NOW);
    if (!handle) return;
    bool has_all = true;
    const auto find = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(handle, name));
      has_all = has_all && function;
    };
#  define TAEDA_DNNL(name) find(name, "dnnl_" #name)
    TAEDA_DNNL(engine_create);
    TAEDA_DNNL(stream_create);
    TAEDA_DNNL(stream_destroy);
    TAEDA_DNNL(stream_wait);
    TAEDA_DNNL(memory_create);
    TAEDA_DNNL(memory_destroy);
    TAEDA_DNNL(memory_set_data_handle);
    TAEDA_DNNL(primitive_create);
    TAEDA_DNNL(primitive_destroy);
    TAEDA_DNNL(primitive_desc_destroy);
    TAEDA_DNNL(primitive_execute);
#  if DNNL_VERSION_MAJOR >= 3
    TAEDA_DNNL(memory_desc_create_with_strides);
    TAEDA_DNNL(memory_desc_destroy);
    TAEDA_DNNL(matmul_primitive_desc_create);
#  else
    TAEDA_DNNL(memory_desc_init_by_strides);
    TAEDA_DNNL(matmul_desc_init);
    TAEDA_DNNL(primitive_desc_create);
#  endif
#  undef TAEDA_DNNL
    find(set_threads, "omp_set_num_threads");
    find(get_threads, "omp_get_max_threads");
    if (!has_all || engine_create(&engine, dnnl_cpu, 0) != dnnl_success) return;
    pthread_atfork(nullptr, nullptr, [] { is_forked_child.store(true); });
    is_ready = true;
  }
};

// Never destroyed: threads that end late still hand their primitives back.
const OneDnn& library() {
  static const OneDnn& instance = *new OneDnn;
  return instance;
}

// Everything a primitive is made for.
struct Key {
  int64_t m, n, k, a_row, a_col, b_row, b_col, c_row;
  int threads;
  bool has_bias;
  bool operator==(const Key&) const = default;

  size_t hash() const {
    size_t h = static_cast<size_t>(threads) * 2 + has_bias;
    for (int64_t x : {m, n, k, a_row, a_col, b_row, b_col, c_row})
      h = (h ^ static_cast<size_t>(x)) * 0x9e3779b97f4a7c15u;
    return h >> 32;
  }
};

// A matmul primitive with the memory objects of its arguments, whose pointers each call sets.
class Matmul {
 public:
  explicit Matmul(const Key& key) : key_(key) {
    const OneDnn& dnn = library();
    is_ready_ = dnn.stream_create(&stream_, dnn.engine, dnnl_stream_default_flags) == dnnl_success;
#  if DNNL_VERSION_MAJOR >= 3
    dnnl_memory_desc_t a = describe(key.m, key.k, key.a_row, key.a_col, &a_);
    dnnl_memory_desc_t b = describe(key.k, key.n, key.b_row, key.b_col, &b_);
    dnnl_memory_desc_t c = describe(key.m, key.n, key.c_row, 1, &c_);
    dnnl_memory_desc_t bias = key.has_bias ? describe(1, key.n, key.n, 1, &bias_) : nullptr;
    dnnl_primitive_desc_t desc = nullptr;
    is_ready_ = is_ready_ && dnn.matmul_primitive_desc_create(&desc, dnn.engine, a, b, bias, c,
                                                              nullptr) == dnnl_success;
    for (dnnl_memory_desc_t d : {a, b, c, bias})
      if (d) dnn.memory_desc_destroy(d);
#  else
    dnnl_memory_desc_t a = describe(key.m, key.k, key.a_row, key.a_col, &a_);
    dnnl_memory_desc_t b = describe(key.k, key.n, key.b_row, key.b_col, &b_);
    dnnl_memory_desc_t c = describe(key.m, key.n, key.c_row, 1, &c_);
    dnnl_memory_desc_t bias{};
    if (key.has_bias) bias = describe(1, key.n, key.n, 1, &bias_);
    dnnl_matmul_desc_t op;
    dnnl_primitive_desc_t desc = nullptr;
    is_ready_ =
        is_ready_ &&
        dnn.matmul_desc_init(&op, &a, &b, key.has_bias ? &bias : nullptr, &c) == dnnl_success &&
        dnn.primitive_desc_create(&desc, &op, nullptr, dnn.engine, nullptr) == dnnl_success;
#  endif
    is_ready_ = is_ready_ && dnn.primitive_create(&primitive_, desc) == dnnl_success;
    if (desc) dnn.primitive_desc_destroy(desc);
  }

  ~Matmul() {
    const OneDnn& dnn = library();
    for (dnnl_memory_t memory : {a_, b_, c_, bias_})
      if (memory) dnn.memory_destroy(memory);
    if (primitive_) dnn.primitive_destroy(primitive_);
    if (stream_) dnn.stream_destroy(stream_);
  }

  const Key& key() const { return key_; }

  bool run(const Product<BFloat16>& p) {
    if (!is_ready_) return false;
    const OneDnn& dnn = library();
    const auto set = [&](dnnl_memory_t memory, const BFloat16* data) {
      return dnn.memory_set_data_handle(memory, const_cast<BFloat16*>(data)) == dnnl_success;
    };
    if (!set(a_, p.a.data) || !set(b_, p.b.data) || !set(c_, p.c.data)) return false;
    if (bias_ && !set(bias_, p.bias)) return false;
    const dnnl_exec_arg_t args[] = {
        {DNNL_ARG_SRC, a_}, {DNNL_ARG_WEIGHTS, b_}, {DNNL_ARG_DST, c_}, {DNNL_ARG_BIAS, bias_}};
    return dnn.primitive_execute(primitive_, stream_, bias_ ? 4 : 3, args) == dnnl_success &&
           dnn.stream_wait(stream_) == dnnl_success;
  }

 private:
  // The description of a matrix, and a memory object for it.
  dnnl_memory_desc_t describe(int64_t rows, int64_t cols, int64_t row_stride, int64_t col_stride,
                              dnnl_memory_t* memory) {
    const OneDnn& dnn = library();
    const dnnl_dims_t dims = {rows, cols}, strides = {row_stride, col_stride};
    dnnl_memory_desc_t desc{};
#  if DNNL_VERSION_MAJOR >= 3
    is_ready_ =
        is_ready_ &&
        dnn.memory_desc_create_with_strides(&desc, 2, dims, dnnl_bf16, strides) == dnnl_success &&
        dnn.memory_create(memory, desc, dnn.engine, DNNL_MEMORY_NONE) == dnnl_success;
#  else
    is_ready_ =
        is_ready_ &&
        dnn.memory_desc_init_by_strides(&desc, 2, dims, dnnl_bf16, strides) == dnnl_success &&
        dnn.memory_create(memory, &desc, dnn.engine, DNNL_MEMORY_NONE) == dnnl_success;
#  endif
    return desc;
  }

  Key key_;
  bool is_ready_ = false;
  dnnl_stream_t stream_ = nullptr;
  dnnl_primitive_t primitive_ = nullptr;
  dnnl_memory_t a_ = nullptr, b_ = nullptr, c_ = nullptr, bias_ = nullptr;
};

// Each thread keeps the primitives of the shapes it met, the latest of each slot.
Matmul& kept_matmul(const Key& key) {
  thread_local std::array<std::unique_ptr<Matmul>, 128> kept;
  std::unique_ptr<Matmul>& slot = kept[key.hash() % kept.size()];
  if (!slot || !(slot->key() == key)) slot = std::make_unique<Matmul>(key);
  return *slot;
}

// Row- or column-major with room for every line, the layouts that oneDNN is fast for.
bool is_plain(Matrix<const BFloat16> m, int64_t rows, int64_t cols) {
  return (m.col_stride == 1 && m.row_stride >= cols) || (m.row_stride == 1 && m.col_stride >= rows);
}

}  // namespace

bool library_product(const Product<BFloat16>& p) {
  static const bool has_instructions = has_bfloat16_instructions();
  if (!has_instructions || static_cast<double>(p.m) * p.n * p.k < kLibraryWork) return false;
  if (p.alpha != 1 || p.beta != 0 || p.c.col_stride != 1 || p.c.row_stride < p.n ||
      !is_plain(p.a, p.m, p.k) || !is_plain(p.b, p.k, p.n))
    return false;
  const OneDnn& dnn = library();
  if (!dnn.is_ready || is_forked_child.load(std::memory_order_relaxed)) return false;
  const int threads = in_parallel_region() ? 1 : num_threads(), before = dnn.get_threads();
  dnn.set_threads(threads);
  Matmul& matmul = kept_matmul({p.m, p.n, p.k, p.a.row_stride, p.a.col_stride, p.b.row_stride,
                                p.b.col_stride, p.c.row_stride, threads, p.bias != nullptr});
  const bool is_done = matmul.run(p);
  dnn.set_threads(before);
  return is_done;
}

}  // namespace taeda::cpu::gemm_kernels

#endif
