// Operators that tell sizes, strides, device and layout of a tensor.
#include "taeda/ops/graph/geometry_questions.h"

#include "taeda/dispatch/library.h"

namespace taeda {
namespace {

std::vector<SymInt> vector_of(SymIntList values) { return {values.begin(), values.end()}; }

}  // namespace

bool is_channels_last_as(const Tensor& t, MemoryFormat format) {
  const bool is_channels_last =
      format == MemoryFormat::ChannelsLast || format == MemoryFormat::ChannelsLast3d;
  return is_channels_last && t.suggested_format() == format;
}

TAEDA_LIBRARY_FRAGMENT(aten, m) {
  m.def("is_non_overlapping_and_dense(Tensor self) -> bool",
        [](const Tensor& t) { return t.impl()->is_non_overlapping_and_dense(); });
  m.def("is_strides_like_format(Tensor self, MemoryFormat memory_format) -> bool",
        &is_channels_last_as);
  // Symbolic sizes stay so, as in PyTorch, whose schemas say int.
  m.def("size(Tensor self) -> int[]", [](const Tensor& t) { return vector_of(t.sym_sizes()); });
  m.def("stride(Tensor self) -> int[]", [](const Tensor& t) { return vector_of(t.sym_strides()); });
  m.def("numel(Tensor self) -> int", [](const Tensor& t) { return t.sym_numel(); });
  m.def("sym_is_contiguous(Tensor self, MemoryFormat memory_format=contiguous_format) -> bool",
        [](const Tensor& t, MemoryFormat format) { return t.is_contiguous(format); });
  m.def("sym_size(Tensor self) -> SymInt[]",
        [](const Tensor& t) { return vector_of(t.sym_sizes()); });
  m.def("sym_stride(Tensor self) -> SymInt[]",
        [](const Tensor& t) { return vector_of(t.sym_strides()); });
  m.def("dim(Tensor self) -> int", [](const Tensor& t) { return t.dim(); });
  m.def("is_contiguous(Tensor self) -> bool", [](const Tensor& t) { return t.is_contiguous(); });
  m.def("is_contiguous.memory_format(Tensor self, MemoryFormat memory_format) -> bool",
        [](const Tensor& t, MemoryFormat format) { return t.is_contiguous(format); });
}
TAEDA_LIBRARY_FRAGMENT(prim, m) {
  m.def("device(Tensor a) -> Device", [](const Tensor& t) { return t.device(); });
  m.def("layout(Tensor a) -> Layout", [](const Tensor& t) { return t.layout(); });
}

}  // namespace taeda
