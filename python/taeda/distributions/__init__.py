"""Probability distributions with PyTorch's names: densities, draws, transforms, divergences."""

from taeda.distributions import constraints, transforms, utils
from taeda.distributions.bernoulli import Bernoulli
from taeda.distributions.beta import Beta
from taeda.distributions.binomial import Binomial
from taeda.distributions.categorical import Categorical
from taeda.distributions.cauchy import Cauchy
from taeda.distributions.chi2 import Chi2
from taeda.distributions.constraint_registry import biject_to, transform_to
from taeda.distributions.continuous_bernoulli import ContinuousBernoulli
from taeda.distributions.dirichlet import Dirichlet
from taeda.distributions.distribution import Distribution
from taeda.distributions.exp_family import ExponentialFamily
from taeda.distributions.exponential import Exponential
from taeda.distributions.fishersnedecor import FisherSnedecor
from taeda.distributions.gamma import Gamma
from taeda.distributions.generalized_pareto import GeneralizedPareto
from taeda.distributions.geometric import Geometric
from taeda.distributions.gumbel import Gumbel
from taeda.distributions.half_cauchy import HalfCauchy
from taeda.distributions.half_normal import HalfNormal
from taeda.distributions.independent import Independent
from taeda.distributions.inverse_gamma import InverseGamma
from taeda.distributions.kl import kl_divergence, register_kl
from taeda.distributions.kumaraswamy import Kumaraswamy
from taeda.distributions.laplace import Laplace
from taeda.distributions.lkj_cholesky import LKJCholesky
from taeda.distributions.log_normal import LogNormal
from taeda.distributions.logistic_normal import LogisticNormal
from taeda.distributions.lowrank_multivariate_normal import LowRankMultivariateNormal
from taeda.distributions.mixture_same_family import MixtureSameFamily
from taeda.distributions.multinomial import Multinomial
from taeda.distributions.multivariate_normal import MultivariateNormal
from taeda.distributions.negative_binomial import NegativeBinomial
from taeda.distributions.normal import Normal
from taeda.distributions.one_hot_categorical import (
    OneHotCategorical,
    OneHotCategoricalStraightThrough,
)
from taeda.distributions.pareto import Pareto
from taeda.distributions.poisson import Poisson
from taeda.distributions.relaxed_bernoulli import RelaxedBernoulli
from taeda.distributions.relaxed_categorical import RelaxedOneHotCategorical
from taeda.distributions.studentT import StudentT
from taeda.distributions.transformed_distribution import TransformedDistribution
from taeda.distributions.transforms import *
from taeda.distributions.uniform import Uniform
from taeda.distributions.von_mises import VonMises
from taeda.distributions.weibull import Weibull
from taeda.distributions.wishart import Wishart

__all__ = [
    "Bernoulli",
    "Beta",
    "Binomial",
    "Categorical",
    "Cauchy",
    "Chi2",
    "ContinuousBernoulli",
    "Dirichlet",
    "Distribution",
    "Exponential",
    "ExponentialFamily",
    "FisherSnedecor",
    "Gamma",
    "GeneralizedPareto",
    "Geometric",
    "Gumbel",
    "HalfCauchy",
    "HalfNormal",
    "Independent",
    "InverseGamma",
    "Kumaraswamy",
    "LKJCholesky",
    "Laplace",
    "LogNormal",
    "LogisticNormal",
    "LowRankMultivariateNormal",
    "MixtureSameFamily",
    "Multinomial",
    "MultivariateNormal",
    "NegativeBinomial",
    "Normal",
    "OneHotCategorical",
    "OneHotCategoricalStraightThrough",
    "Pareto",
    "Poisson",
    "RelaxedBernoulli",
    "RelaxedOneHotCategorical",
    "StudentT",
    "TransformedDistribution",
    "Uniform",
    "VonMises",
    "Weibull",
    "Wishart",
    "biject_to",
    "kl_divergence",
    "register_kl",
    "transform_to",
]
__all__ += transforms.__all__
