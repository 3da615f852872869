// Random numbers of a Mersenne twister: PyTorch's numbers for the same seed.
//
// Elements are drawn one after the other in the order of memory, as PyTorch does, so these fills
// depend on strides and use one thread. Every function takes the twister under its generator's lock
// (GeneratorImpl::serial). Arguments are checked before.
#pragma once

#include <cstdint>

#include "taeda/core/mersenne.h"
#include "taeda/core/tensor.h"
#include "taeda/ops/random/draws.h"

namespace taeda::cpu::serial {

void uniform(Tensor& self, double from, double to, MersenneTwister& random);
void normal(Tensor& self, double mean, double std, MersenneTwister& random);
void log_normal(Tensor& self, double mean, double std, MersenneTwister& random);
void exponential(Tensor& self, double lambd, MersenneTwister& random);
void cauchy(Tensor& self, double median, double sigma, MersenneTwister& random);
void geometric(Tensor& self, double p, MersenneTwister& random);
// Of all integers of a dtype, words of its width are drawn; of a range, words wider than it.
void integers(Tensor& self, IntegerRange range, bool are_all, MersenneTwister& random);
void bernoulli(Tensor& self, double p, MersenneTwister& random);
// `p` has the sizes of `self`.
void bernoulli(Tensor& self, const Tensor& p, MersenneTwister& random);
void shuffled_range(Tensor& self, MersenneTwister& random);
// Leaky ReLU with slopes drawn where an element is not positive; noise keeps them, 1 elsewhere.
void rrelu(const Tensor& self, Tensor& noise, double lower, double upper, MersenneTwister& random);
// Indices drawn with replacement by a row of weights.
void choices(const std::vector<double>& weights, bool is_double, int64_t count, int64_t* out,
             MersenneTwister& random);

}  // namespace taeda::cpu::serial
