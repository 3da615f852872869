// Reductions of complex numbers, which are one lane wide in every instruction set.
#include "taeda/backends/cpu/reduce/reduce_passes.h"

namespace taeda::cpu {

using C64 = Complex<float>;
using C128 = Complex<double>;
constinit const ReduceOp complex_reductions[8][2] = {
    {kSimple<SumBody, C64>, kSimple<SumBody, C128>},
    {kSimple<ProdBody, C64>, kSimple<ProdBody, C128>},
    {},
    {},
    {},
    {},
    {kMoments<C64>, kMoments<C128>},
    {kLogSumExp<C64>, kLogSumExp<C128>},
};

}  // namespace taeda::cpu
