// Post-ops in oneDNN's numbers.
#include "taeda/backends/cpu/gemm/onednn_post_ops.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace taeda::cpu::onednn {
namespace {

using Kind = PostOp::Kind;

// The library's number of an operation; they differ between its majors.
int algorithm_of(Kind kind) {
  const bool is_3 = library().major == 3;
  switch (kind) {
    case Kind::Relu: return is_3 ? 0x20 : 0x1f;
    case Kind::Tanh: return is_3 ? 0x21 : 0x2f;
    case Kind::Sigmoid: return is_3 ? 0x29 : 0xaf;
    case Kind::Silu: return is_3 ? 0x2c : 0xdf;
    case Kind::Gelu: return is_3 ? 0x31 : 0x30;
    case Kind::GeluTanh: return is_3 ? 0x2b : 0xcf;
    case Kind::Linear: return is_3 ? 0x26 : 0x7f;
    case Kind::Add: return 0x1fff0;
    case Kind::Mul: return 0x1fff1;
    case Kind::Div: return 0x1fff4;
    case Kind::Sub: return 0x1fff5;
  }
  return 0;
}

DataType data_type(DType dtype) {
  return dtype == DType::Float ? kFloat : dtype == DType::Half ? kHalf : kBFloat16;
}

// A leaky relu of slope 0, and a swish of factor 1.
float alpha_of(const PostOp& op) {
  if (op.kind == Kind::Linear) return op.alpha;
  return op.kind == Kind::Silu ? 1.0f : 0.0f;
}

float applied(const PostOp& op, float x) {
  switch (op.kind) {
    case Kind::Linear: return op.alpha * x + op.beta;
    case Kind::Relu: return std::isnan(x) ? x : std::max(x, 0.0f);
    case Kind::Tanh: return std::tanh(x);
    case Kind::Sigmoid: return 1 / (1 + std::exp(-x));
    case Kind::Silu: return x / (1 + std::exp(-x));
    case Kind::Gelu: return 0.5f * x * (1 + std::erf(x * 0.70710678f));
    default: return 0.5f * x * (1 + std::tanh(0.79788456f * (x + 0.044715f * x * x * x)));
  }
}

// A product of one column and one row, so that elements of the column reach the operations.
bool is_right_when_tried(const PostOps& ops) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr std::array<float, 16> kTried = {
      std::numeric_limits<float>::quiet_NaN(), kInfinity, -kInfinity, 0, 1, -1, 100, -100};
  constexpr int64_t kRows = kTried.size(), kCols = 16;
  std::array<float, kCols> row;
  row.fill(1);
  std::array<float, kRows * kCols> got{};
  const int64_t sizes[] = {kRows, kCols};
  PostOpAttributes attributes(ops, sizes);
  const MatrixDesc a(kFloat, kRows, 1, 1, 1), b(kFloat, 1, kCols, kCols, 1),
      c(kFloat, kRows, kCols, kCols, 1);
  const Library& dnn = library();
  const Handle primitive = make_matmul(a, b, nullptr, c, &attributes);
  Handle stream = nullptr;
  std::array<Handle, 3> memories{};
  const auto make = [&](int i, const MatrixDesc& desc, const float* data) {
    return dnn.memory_create(&memories[i], desc.get(), dnn.engine, const_cast<float*>(data)) ==
           kSuccess;
  };
  bool is_done = primitive && make(0, a, kTried.data()) && make(1, b, row.data()) &&
                 make(2, c, got.data()) &&
                 dnn.stream_create(&stream, dnn.engine, kInOrderStream) == kSuccess;
  const Bound arguments[] = {
      {kSource, memories[0]}, {kWeights, memories[1]}, {kDestination, memories[2]}};
  is_done = is_done && dnn.primitive_execute(primitive, stream, 3, arguments) == kSuccess &&
            dnn.stream_wait(stream) == kSuccess;
  for (const Handle memory : memories)
    if (memory) dnn.memory_destroy(memory);
  if (primitive) dnn.primitive_destroy(primitive);
  if (stream) dnn.stream_destroy(stream);
  for (int64_t i = 0; is_done && i < kRows * kCols; ++i) {
    float want = kTried[i / kCols];
    for (const PostOp& op : ops) want = applied(op, want);
    const bool is_near = std::abs(got[i] - want) <= 1e-4f * std::abs(want) + 1e-6f;
    is_done = (std::isnan(want) && std::isnan(got[i])) || got[i] == want || is_near;
  }
  return is_done;
}

}  // namespace

PostOpWords words_of(const PostOps& ops) {
  PostOpWords words;
  for (const PostOp& op : ops) {
    words.push_back(static_cast<int64_t>(op.kind) * 256 + static_cast<int64_t>(op.dtype));
    words.push_back(static_cast<int64_t>((uint64_t{std::bit_cast<uint32_t>(op.alpha)} << 32) |
                                         std::bit_cast<uint32_t>(op.beta)));
    for (const int64_t stride : op.strides) words.push_back(stride);
  }
  return words;
}

bool computes_as_eager(const PostOps& ops) {
  constexpr int8_t kUnknown = 0, kYes = 1, kNo = 2;
  const auto is_right = [](std::atomic<int8_t>& answer, const PostOps& tried) {
    if (answer == kUnknown) answer = is_right_when_tried(tried) ? kYes : kNo;
    return answer == kYes;
  };
  static std::array<std::atomic<int8_t>, static_cast<size_t>(Kind::Linear)> activations{};
  static std::atomic<int8_t> two_lines{};
  const auto is_line = [](const PostOp& op) { return op.kind == Kind::Linear; };
  for (const PostOp& op : ops)
    if (op.kind < Kind::Linear && !is_right(activations[static_cast<size_t>(op.kind)], {{op.kind}}))
      return false;
  // oneDNN 2.6 takes the numbers of the first one for both on AVX-512.
  return std::count_if(ops.begin(), ops.end(), is_line) < 2 ||
         is_right(two_lines, {{Kind::Linear, 3, 2}, {Kind::Linear, 0.5f, 1}});
}

PostOpAttributes::PostOpAttributes(const PostOps& ops, Span<int64_t> sizes) {
  if (ops.empty()) return;
  const Library& dnn = library();
  is_good_ = dnn.primitive_attr_create(&attributes_) == kSuccess &&
             dnn.post_ops_create(&list_) == kSuccess;
  for (size_t i = 0; is_good_ && i < ops.size(); ++i)
    is_good_ = add(ops[i], static_cast<int>(i), sizes);
  is_good_ = is_good_ && dnn.primitive_attr_set_post_ops(attributes_, list_) == kSuccess;
}

PostOpAttributes::~PostOpAttributes() {
  const Library& dnn = library();
  for (const Operand& operand : operands_) dnn.memory_destroy(operand.memory);
  if (list_) dnn.post_ops_destroy(list_);
  if (attributes_) dnn.primitive_attr_destroy(attributes_);
}

bool PostOpAttributes::add(const PostOp& op, int place, Span<int64_t> sizes) {
  const Library& dnn = library();
  const int algorithm = algorithm_of(op.kind);
  if (!op.has_operand()) {
    const float alpha = alpha_of(op), beta = op.kind == Kind::Linear ? op.beta : 0.0f;
    const int status = dnn.major == 3 ? dnn.append_eltwise_3(list_, algorithm, alpha, beta)
                                      : dnn.append_eltwise_2(list_, 1.0f, algorithm, alpha, beta);
    return status == kSuccess;
  }
  SmallVector<int64_t, kMaxDims> own_sizes, strides;
  for (size_t d = 0; d < sizes.size(); ++d) own_sizes.push_back(op.strides[d] ? sizes[d] : 1);
  // The stride of a dimension of one element counts nothing: it is that of dense memory.
  strides.resize(sizes.size(), 1);
  int64_t step = 1;
  for (size_t d = sizes.size(); d-- > 0;) {
    strides[d] = op.strides[d] ? op.strides[d] : step;
    if (op.strides[d]) step = std::max(step, op.strides[d] * sizes[d]);
  }
  const ArrayDesc desc(data_type(op.dtype), static_cast<int>(sizes.size()), own_sizes.data(),
                       strides.data());
  Handle memory = nullptr;
  if (!desc.get() || dnn.post_ops_append_binary(list_, algorithm, desc.get()) != kSuccess ||
      dnn.memory_create(&memory, desc.get(), dnn.engine, nullptr) != kSuccess)
    return false;
  operands_.push_back({place, 0, memory});
  return true;
}

// The numbers of arguments differ between versions of the library, which tells those it has.
bool PostOpAttributes::find_arguments(Handle primitive_desc) {
  constexpr int kArgumentDesc = 255, kSecondSource = 2;
  const Library& dnn = library();
  if (!is_good_) return false;
  for (const int base : {16384, 32768}) {
    bool has_all = true;
    for (Operand& operand : operands_) {
      operand.argument = base * (operand.place + 1) | kSecondSource;
      const void* desc =
          dnn.primitive_desc_query_md(primitive_desc, kArgumentDesc, operand.argument);
      has_all = has_all && desc && dnn.memory_desc_get_size(desc) > 0;
    }
    if (has_all) return true;
  }
  return false;
}

bool PostOpAttributes::bind(const PostOps& ops, SmallVector<Bound, 12>& arguments) const {
  const Library& dnn = library();
  for (const Operand& operand : operands_) {
    void* data = const_cast<void*>(ops[operand.place].data);
    if (dnn.memory_set_data_handle(operand.memory, data) != kSuccess) return false;
    arguments.push_back({operand.argument, operand.memory});
  }
  return true;
}

bool are_implemented_alike(Handle desc, Handle other) {
  constexpr int kImplementationName = 8;
  const Library& dnn = library();
  const char *name = nullptr, *other_name = nullptr;
  return desc && other &&
         dnn.primitive_desc_query(desc, kImplementationName, 0, &name) == kSuccess &&
         dnn.primitive_desc_query(other, kImplementationName, 0, &other_name) == kSuccess && name &&
         other_name && std::strcmp(name, other_name) == 0;
}

}  // namespace taeda::cpu::onednn
