// Small products that do not depend on each other, side by side.
//
//   call mm(x, w0) -> p0                    call mm(x, w0) -> p0  | mm(x, w1) -> p1 | mm(x, w2) ->
//   p2 kernel: y = p0 + 1              to      kernel: y = p0 + 1 call mm(x, w1) -> p1 call mm(x,
//   w2) -> p2
//
// Note [Families of products]: a product of few elements is too small for threads of its own, and
// several of them leave all cores but one idle. Products of one time of the plan that read nothing
// of each other are a family. It runs at the place of its first member, with the kernels that fill
// and finish blocks: those that are small by the sizes of the run go to threads, one product per
// task, others run before them with all threads inside. Elements have the bits of the products one
// by one. A member's memories are in use from the family's place on, and nothing between that place
// and the member's own touches what it writes, or writes what it reads.
#pragma once

#include "taeda/inductor/plan_parts.h"

namespace taeda::inductor {

// Notes the families of a plan's steps, whose groups are parallel to them. Takes time linear in
// steps and their memories.
void find_families(const Program& program, const std::vector<Group>& groups,
                   std::deque<PlanStep>& steps);

}  // namespace taeda::inductor
