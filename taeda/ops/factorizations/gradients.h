// Derivative helpers of factorizations, solutions and matrix functions.
//
// Complex gradients follow the convention of the records: the real part of sum(conj(g) * d) is the
// change of the loss.
#pragma once

#include <string_view>

#include "taeda/core/tensor.h"

namespace taeda::gradients {

TAEDA_API std::tuple<Tensor, Tensor> householder_product_backward(const Tensor& grad,
                                                                  const Tensor& input,
                                                                  const Tensor& tau);
TAEDA_API Tensor householder_product_forward(const Tensor& input, const Tensor& input_tangent,
                                             const Tensor& tau, const Tensor& tau_tangent);

// Either gradient may be undefined.
TAEDA_API Tensor linalg_qr_backward(const Tensor& grad_q, const Tensor& grad_r, const Tensor& q,
                                    const Tensor& r, std::string_view mode);
TAEDA_API Tensor linalg_qr_forward_q(const Tensor& tangent, const Tensor& q, const Tensor& r,
                                     std::string_view mode);
TAEDA_API Tensor linalg_qr_forward_r(const Tensor& tangent, const Tensor& q, const Tensor& r,
                                     std::string_view mode);

TAEDA_API std::tuple<Tensor, Tensor> solve_triangular_backward(const Tensor& grad,
                                                               const Tensor& self, const Tensor& B,
                                                               const Tensor& result, bool upper,
                                                               bool left, bool unitriangular,
                                                               Span<bool> grad_input_mask);
TAEDA_API Tensor solve_triangular_forward(const Tensor& self, const Tensor& self_tangent,
                                          const Tensor& b_tangent, const Tensor& result, bool upper,
                                          bool left, bool unitriangular);

TAEDA_API Tensor cholesky_backward(const Tensor& grad, const Tensor& factor, bool upper);
TAEDA_API Tensor cholesky_forward(const Tensor& tangent, const Tensor& factor, bool upper);

TAEDA_API Tensor lu_factor_backward(const Tensor& grad, const Tensor& factors, const Tensor& pivots,
                                    bool pivot);
TAEDA_API Tensor lu_factor_forward(const Tensor& tangent, const Tensor& factors,
                                   const Tensor& pivots, bool pivot);
// Either gradient may be undefined.
TAEDA_API Tensor lu_unpack_backward(const Tensor& grad_l, const Tensor& grad_u, SymIntList sizes,
                                    bool unpack_data);
TAEDA_API Tensor lu_unpack_forward_l(const Tensor& tangent, bool unpack_data);
TAEDA_API Tensor lu_unpack_forward_u(const Tensor& tangent, bool unpack_data);
TAEDA_API Tensor lu_solve_right_backward(const Tensor& grad, const Tensor& factors,
                                         const Tensor& pivots, SymIntList sizes, bool left,
                                         bool adjoint);
TAEDA_API Tensor lu_solve_factors_backward(const Tensor& grad, const Tensor& result,
                                           const Tensor& factors, const Tensor& pivots, bool left,
                                           bool adjoint);
TAEDA_API Tensor lu_solve_forward(const Tensor& factors, const Tensor& factors_tangent,
                                  const Tensor& pivots, const Tensor& b_tangent,
                                  const Tensor& result, bool left, bool adjoint);

// Where no second derivative will be asked for, the factors of the forward pass serve.
TAEDA_API std::tuple<Tensor, Tensor> solve_backward(const Tensor& grad, const Tensor& A,
                                                    const Tensor& B, const Tensor& result,
                                                    const Tensor& factors, const Tensor& pivots,
                                                    bool left, Span<bool> grad_input_mask,
                                                    bool may_be_differentiated);
TAEDA_API Tensor solve_forward(const Tensor& A, const Tensor& a_tangent, const Tensor& b_tangent,
                               const Tensor& result, bool left);

// The gradient of a determinant, which singular matrices have as well; but a second derivative is
// that of regular ones.
TAEDA_API Tensor det_backward(const Tensor& grad, const Tensor& A, const Tensor& det,
                              const Tensor& factors, const Tensor& pivots,
                              bool may_be_differentiated);
TAEDA_API Tensor det_forward(const Tensor& A, const Tensor& tangent, const Tensor& det);
// The change of an inverse in a direction.
TAEDA_API Tensor inverse_differential(const Tensor& inverse, const Tensor& tangent);

// The change of the exponential in the direction of `tangent`, or the adjoint of that map.
TAEDA_API Tensor matrix_exp_differential(const Tensor& self, const Tensor& tangent, bool adjoint);

}  // namespace taeda::gradients
