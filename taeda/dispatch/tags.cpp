// The table of tags.
#include "taeda/dispatch/tags.h"

namespace taeda::dispatch {
namespace {

constexpr uint32_t of(Tag tag) { return static_cast<uint32_t>(tag); }

constexpr NamedTag kTags[] = {
    {"core", of(Tag::Core)},
    {"cudagraph_unsafe", 1u << 16},
    {"data_dependent_output", of(Tag::DataDependentOutput)},
    {"dynamic_output_shape", of(Tag::DynamicOutputShape)},
    {"flexible_layout", 1u << 17},
    {"generated", 1u << 18},
    {"inplace", 1u << 19},
    {"inplace_view", 1u << 20},
    {"maybe_aliasing_or_mutating", 1u << 21},
    {"needs_contiguous_strides", 1u << 22},
    {"needs_exact_strides", 1u << 23},
    {"needs_fixed_stride_order", 1u << 24},
    {"nondeterministic_bitwise", 1u << 25},
    {"nondeterministic_seeded", of(Tag::NondeterministicSeeded)},
    {"out", 1u << 26},
    {"out_variant", 1u << 27},
    {"pointwise", of(Tag::Pointwise)},
    {"pt2_compliant_tag", 1u << 28},
    {"reduction", 1u << 29},
    {"view_copy", 1u << 30},
};

}  // namespace

Span<NamedTag> named_tags() { return {kTags, std::size(kTags)}; }

uint32_t tag_bit(std::string_view name) {
  for (const NamedTag& tag : kTags)
    if (name == tag.name) return tag.bit;
  fail(ErrorKind::Value, "no such tag: ", name);
}

}  // namespace taeda::dispatch
