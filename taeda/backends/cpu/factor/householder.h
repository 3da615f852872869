// QR factors as reflections, LAPACK's geqrf and orgqr.
//
// Note [Blocks of reflections]: the product of neighbouring reflections H_i = I - tau_i v_i v_i^H
// is I - V T V^H with an upper triangle T, so a block of them is applied by three products. The
// vectors have their first number, a one, at row i; those numbers are not kept.
#pragma once

#include <vector>

#include "taeda/backends/cpu/factor/matrix_batch.h"

namespace taeda::cpu {

// Replaces A by R in the upper triangle and the vectors below it. The diagonal of R is real; its
// sign is opposite to the one of the element that it replaces, as in LAPACK.
template <class T>
void factor_qr(Columns<T>& a, std::vector<T>& tau);

// The first columns of the product of the reflections whose vectors stand in `vectors`: as many as
// `q` has. There are tau.size() of them.
template <class T>
void multiply_reflections(const Columns<T>& vectors, const std::vector<T>& tau, Columns<T>& q);

}  // namespace taeda::cpu
