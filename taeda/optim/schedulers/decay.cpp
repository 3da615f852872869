// Schedules whose factor the epoch determines.
#include "taeda/optim/schedulers/decay.h"

#include <algorithm>
#include <cmath>

#include "taeda/base/error.h"

namespace taeda::optim {
namespace {

std::vector<EpochFunction> per_group(const Optimizer& optimizer,
                                     std::vector<EpochFunction> functions) {
  const size_t groups = optimizer.param_groups().size();
  TAEDA_CHECK_VALUE(functions.size() == groups, "Expected ", groups, " lr_lambdas, but got ",
                    functions.size());
  return functions;
}

std::vector<EpochFunction> repeated(const Optimizer& optimizer, const EpochFunction& function) {
  return std::vector<EpochFunction>(optimizer.param_groups().size(), function);
}

}  // namespace

StepLR::StepLR(Optimizer& optimizer, unsigned step_size, double gamma)
    : LRScheduler(optimizer), step_size_(step_size), gamma_(gamma) {
  TAEDA_CHECK_VALUE(step_size > 0, "step_size must be positive");
  step();
}

std::vector<double> StepLR::get_lrs() {
  const bool is_due = step_count_ > 0 && step_count_ % step_size_ == 0;
  return is_due ? scaled(gamma_) : get_current_lrs();
}

MultiStepLR::MultiStepLR(Optimizer& optimizer, std::vector<int64_t> milestones, double gamma)
    : LRScheduler(optimizer), milestones_(std::move(milestones)), gamma_(gamma) {
  step();
}

std::vector<double> MultiStepLR::get_lrs() {
  const auto reached = std::count(milestones_.begin(), milestones_.end(), step_count_);
  return reached == 0 ? get_current_lrs() : scaled(std::pow(gamma_, reached));
}

ConstantLR::ConstantLR(Optimizer& optimizer, double factor, unsigned total_iters)
    : LRScheduler(optimizer), factor_(factor), total_iters_(total_iters) {
  TAEDA_CHECK_VALUE(factor >= 0 && factor <= 1,
                    "Constant multiplicative factor expected to be between 0 and 1.");
  step();
}

std::vector<double> ConstantLR::get_lrs() {
  if (step_count_ == 0) return scaled(factor_);
  if (step_count_ != total_iters_) return get_current_lrs();
  // The rate is zero by now, and no factor brings it back.
  TAEDA_CHECK_VALUE(factor_ != 0, "ConstantLR: the rate cannot return from a factor of 0");
  return scaled(1 / factor_);
}

LinearLR::LinearLR(Optimizer& optimizer, double start_factor, double end_factor,
                   unsigned total_iters)
    : LRScheduler(optimizer),
      start_factor_(start_factor),
      end_factor_(end_factor),
      total_iters_(total_iters) {
  TAEDA_CHECK_VALUE(
      start_factor > 0 && start_factor <= 1,
      "Starting multiplicative factor expected to be greater than 0 and less or equal to 1.");
  TAEDA_CHECK_VALUE(end_factor >= 0 && end_factor <= 1,
                    "Ending multiplicative factor expected to be between 0 and 1.");
  step();
}

std::vector<double> LinearLR::get_lrs() {
  if (step_count_ == 0) return scaled(start_factor_);
  if (step_count_ > total_iters_) return get_current_lrs();
  const double rise = end_factor_ - start_factor_;
  return scaled(1 + rise / (total_iters_ * start_factor_ + (step_count_ - 1) * rise));
}

ExponentialLR::ExponentialLR(Optimizer& optimizer, double gamma)
    : LRScheduler(optimizer), gamma_(gamma) {
  step();
}

std::vector<double> ExponentialLR::get_lrs() {
  return step_count_ == 0 ? get_current_lrs() : scaled(gamma_);
}

PolynomialLR::PolynomialLR(Optimizer& optimizer, unsigned total_iters, double power)
    : LRScheduler(optimizer), total_iters_(total_iters), power_(power) {
  step();
}

std::vector<double> PolynomialLR::get_lrs() {
  if (step_count_ == 0 || step_count_ > total_iters_) return get_current_lrs();
  const auto left = [&](unsigned epoch) { return 1.0 - double(epoch) / total_iters_; };
  return scaled(std::pow(left(step_count_) / left(step_count_ - 1), power_));
}

LambdaLR::LambdaLR(Optimizer& optimizer, EpochFunction lr_lambda)
    : LambdaLR(optimizer, repeated(optimizer, lr_lambda)) {}

LambdaLR::LambdaLR(Optimizer& optimizer, std::vector<EpochFunction> lr_lambdas)
    : LRScheduler(optimizer), functions_(per_group(optimizer, std::move(lr_lambdas))) {
  step();
}

std::vector<double> LambdaLR::get_lrs() {
  std::vector<double> rates = base_lrs();
  for (size_t i = 0; i < rates.size(); ++i) rates[i] *= functions_[i](step_count_);
  return rates;
}

MultiplicativeLR::MultiplicativeLR(Optimizer& optimizer, EpochFunction lr_lambda)
    : MultiplicativeLR(optimizer, repeated(optimizer, lr_lambda)) {}

MultiplicativeLR::MultiplicativeLR(Optimizer& optimizer, std::vector<EpochFunction> lr_lambdas)
    : LRScheduler(optimizer), functions_(per_group(optimizer, std::move(lr_lambdas))) {
  step();
}

void MultiplicativeLR::restart() {
  set_lrs(multiplied(0));
  step_count_ = 1;
}

std::vector<double> MultiplicativeLR::get_lrs() {
  return step_count_ == 0 ? get_current_lrs() : multiplied(step_count_);
}

std::vector<double> MultiplicativeLR::multiplied(int64_t epoch) const {
  std::vector<double> rates = get_current_lrs();
  for (size_t i = 0; i < rates.size(); ++i) rates[i] *= functions_[i](epoch);
  return rates;
}

}  // namespace taeda::optim
