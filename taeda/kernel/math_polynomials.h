// Polynomial cores of math.h; printed by fit_polynomials.py, not edited by hand.
#pragma once

#include "taeda/kernel/math_types.h"

TAEDA_MATH_BEGIN

// (e^r - 1 - r) / r^2 for |r| <= ln2/2; absolute error 2^-23.9, 2^-59.3.
template <class F>
TD_FN F td_poly_exp(F x) {
  if constexpr (td_is_single<F>) {
    return td_poly(x, 0x1.0000000000000p-1f, 0x1.5554dc0000000p-3f, 0x1.55551a0000000p-5f,
                   0x1.120b900000000p-7f, 0x1.6d112c0000000p-10f);
  } else {
    return td_poly(x, 0x1.0000000000000p-1, 0x1.5555555555557p-3, 0x1.5555555555556p-5,
                   0x1.11111111100d3p-7, 0x1.6c16c16c162cfp-10, 0x1.a01a01abeccc3p-13,
                   0x1.a01a01a6db488p-16, 0x1.71de02225a2f3p-19, 0x1.27e4db5bb725ap-22,
                   0x1.af4e092e1705bp-26, 0x1.1f7315649f2d7p-29);
  }
}

// (2^r - 1) / r for |r| <= 1/2; absolute error 2^-26.9, 2^-62.4.
template <class F>
TD_FN F td_poly_exp2(F x) {
  if constexpr (td_is_single<F>) {
    return td_poly(x, 0x1.62e4300000000p-1f, 0x1.ebfbe00000000p-3f, 0x1.c6af6c0000000p-5f,
                   0x1.3b2a540000000p-7f, 0x1.5f08900000000p-10f, 0x1.44138a0000000p-13f);
  } else {
    return td_poly(x, 0x1.62e42fefa39efp-1, 0x1.ebfbdff82c58fp-3, 0x1.c6b08d704a0c6p-5,
                   0x1.3b2ab6fba4e79p-7, 0x1.5d87fe78a3f9cp-10, 0x1.430912f86b7dbp-13,
                   0x1.ffcbfc6da6ed1p-17, 0x1.62c02242b879cp-20, 0x1.b524ebd13a55fp-24,
                   0x1.e4cf10dec0f59p-28, 0x1.e9ec1fcb69a7fp-32, 0x1.c4a29324a1038p-36);
  }
}

// (log(1+f) - f + f^2/2) / f^3 for sqrt(1/2) <= 1+f < sqrt(2); absolute error 2^-25.0.
template <class F>
TD_FN F td_poly_log_cubic(F x) {
  return td_poly(x, 0x1.5555540000000p-2f, -0x1.fffffc0000000p-3f, 0x1.999d5a0000000p-3f,
                 -0x1.555b4a0000000p-3f, 0x1.23d21a0000000p-3f, -0x1.fcf4c60000000p-4f,
                 0x1.dea2820000000p-4f, -0x1.d635bc0000000p-4f, 0x1.1d8ea60000000p-4f);
}

// (log((1+s)/(1-s))/s - 2) / s^2 in z = s^2; absolute error 2^-58.7.
template <class F>
TD_FN F td_poly_log_quotient(F x) {
  return td_poly(x, 0x1.5555555555555p-1, 0x1.9999999999a38p-2, 0x1.2492492476ba1p-2,
                 0x1.c71c72017a15cp-3, 0x1.745cf8f6c9119p-3, 0x1.3b1c38474d3eep-3,
                 0x1.0fbe478772696p-3, 0x1.0c06cf14c641bp-3);
}

// (log((1+s)/(1-s))/s - 2 - 2/3 z) / z^2 in z = s^2; absolute error 2^-22.6, 2^-58.9.
template <class F>
TD_FN F td_poly_log_fifth(F x) {
  if constexpr (td_is_single<F>) {
    return td_poly(x, 0x1.9999a40000000p-2f, 0x1.247a2c0000000p-2f, 0x1.d808a20000000p-3f);
  } else {
    return td_poly(x, 0x1.999999999999ap-2, 0x1.2492492492522p-2, 0x1.c71c71c6ea871p-3,
                   0x1.745d177aad02ap-3, 0x1.3b1395c881220p-3, 0x1.1118c9ee5b8a4p-3,
                   0x1.df7c5bc7c7563p-4, 0x1.e032e4d8436a1p-4);
  }
}

// (sin(r) - r) / r^3 in z = r^2, |r| <= pi/4; absolute error 2^-35.0, 2^-66.2.
template <class F>
TD_FN F td_poly_sin(F x) {
  if constexpr (td_is_single<F>) {
    return td_poly(x, -0x1.5555560000000p-3f, 0x1.11110e0000000p-7f, -0x1.a013a40000000p-13f,
                   0x1.6dbcec0000000p-19f);
  } else {
    return td_poly(x, -0x1.5555555555555p-3, 0x1.1111111111110p-7, -0x1.a01a01a01992fp-13,
                   0x1.71de3a545f74cp-19, -0x1.ae645410cfd07p-26, 0x1.61217d7e3619cp-33,
                   -0x1.ab16e9f2b693ep-41);
  }
}

// (cos(r) - 1 + z/2) / z^2 in z = r^2, |r| <= pi/4; absolute error 2^-38.6, 2^-70.4.
template <class F>
TD_FN F td_poly_cos(F x) {
  if constexpr (td_is_single<F>) {
    return td_poly(x, 0x1.5555560000000p-5f, -0x1.6c16c00000000p-10f, 0x1.a015c20000000p-16f,
                   -0x1.2523920000000p-22f);
  } else {
    return td_poly(x, 0x1.5555555555555p-5, -0x1.6c16c16c16c16p-10, 0x1.a01a01a019d06p-16,
                   -0x1.27e4fb771255dp-22, 0x1.1eed8deab8936p-29, -0x1.9394b8ab6c9b1p-37,
                   0x1.ab778ac7ad240p-45);
  }
}

// (sinh(x) - x) / x^3 in z = x^2, |x| <= 1; absolute error 2^-32.2, 2^-71.7.
template <class F>
TD_FN F td_poly_sinh(F x) {
  if constexpr (td_is_single<F>) {
    return td_poly(x, 0x1.5555560000000p-3f, 0x1.11111e0000000p-7f, 0x1.a009000000000p-13f,
                   0x1.78a70e0000000p-19f);
  } else {
    return td_poly(x, 0x1.5555555555555p-3, 0x1.1111111111111p-7, 0x1.a01a01a01a001p-13,
                   0x1.71de3a556f96cp-19, 0x1.ae6456792a77fp-26, 0x1.612467ccb2260p-33,
                   0x1.ae777c36fd5b6p-41, 0x1.99f0806c2628dp-49);
  }
}

// (tanh(x) - x) / x^3 in z = x^2, |x| <= 0.5625; absolute error 2^-25.9, 2^-56.2.
template <class F>
TD_FN F td_poly_tanh(F x) {
  if constexpr (td_is_single<F>) {
    return td_poly(x, -0x1.5555540000000p-2f, 0x1.110fb40000000p-3f, -0x1.b9900e0000000p-5f,
                   0x1.5c5fa60000000p-6f, -0x1.ab9f700000000p-8f);
  } else {
    return td_poly(x, -0x1.5555555555555p-2, 0x1.1111111110fbdp-3, -0x1.ba1ba1b9f17f5p-5,
                   0x1.664f487272a6fp-6, -0x1.226e321f9e724p-7, 0x1.d6d30f42910b3p-9,
                   -0x1.7d9540cc30dfep-10, 0x1.34ad0309e938fp-11, -0x1.eaf27fe463e15p-13,
                   0x1.6168eaa4b48c2p-14, -0x1.4fedc8846f060p-16);
  }
}

// (atan(t) - t) / t^3 in z = t^2, |t| <= tan(pi/8); absolute error 2^-25.9, 2^-64.3.
template <class F>
TD_FN F td_poly_atan(F x) {
  if constexpr (td_is_single<F>) {
    return td_poly(x, -0x1.5555540000000p-2f, 0x1.99972e0000000p-3f, -0x1.241fce0000000p-3f,
                   0x1.b8076c0000000p-4f, -0x1.0828520000000p-4f);
  } else {
    return td_poly(x, -0x1.5555555555555p-2, 0x1.9999999999997p-3, -0x1.24924924920a0p-3,
                   0x1.c71c71c6dcfdep-4, -0x1.745d173537df1p-4, 0x1.3b13aea3b5eeep-4,
                   -0x1.1110ce5ea3850p-4, 0x1.e1d8da2013f5bp-5, -0x1.aebc88531e24ap-5,
                   0x1.82991d6782417p-5, -0x1.502d080f95e3ap-5, 0x1.f5a8e4fc8e863p-6,
                   -0x1.c783d876fa1c9p-7);
  }
}

// (asin(x) - x) / x^3 in z = x^2, |x| <= 1/2; absolute error 2^-27.8, 2^-59.8.
template <class F>
TD_FN F td_poly_asin(F x) {
  if constexpr (td_is_single<F>) {
    return td_poly(x, 0x1.5555540000000p-3f, 0x1.3334300000000p-4f, 0x1.6d5bba0000000p-5f,
                   0x1.fd8da20000000p-6f, 0x1.18f91e0000000p-6f, 0x1.13fed40000000p-5f);
  } else {
    return td_poly(x, 0x1.5555555555555p-3, 0x1.3333333333388p-4, 0x1.6db6db6dac1e0p-5,
                   0x1.f1c71c7a52ba3p-6, 0x1.6e8ba123e494cp-6, 0x1.1c4efce23019fp-6,
                   0x1.c990ad3d8fdcap-7, 0x1.7b027ee1dd585p-7, 0x1.3b49de7121487p-7,
                   0x1.31622469ce5adp-7, 0x1.8f193743418ffp-9, 0x1.406192d124629p-6,
                   -0x1.3b416bb7d9257p-6, 0x1.e529c6fce9bb4p-6);
  }
}

// erf(x)/x - 1 in z = x^2, |x| <= 3/4 and |x| <= 1; absolute error 2^-29.3, 2^-62.7.
template <class F>
TD_FN F td_poly_erf(F x) {
  if constexpr (td_is_single<F>) {
    return td_poly(x, 0x1.06eba80000000p-3f, -0x1.81273a0000000p-2f, 0x1.ce2ae20000000p-4f,
                   -0x1.b7aaa00000000p-6f, 0x1.4f3d080000000p-8f, -0x1.623bf00000000p-11f);
  } else {
    return td_poly(x, 0x1.06eba8214db69p-3, -0x1.812746b0379e6p-2, 0x1.ce2f21a042b30p-4,
                   -0x1.b82ce31284e00p-6, 0x1.565bcd0dbaa38p-8, -0x1.c02db3dac435fp-11,
                   0x1.f9a321d5b8e1ep-14, -0x1.f4d1e3183f7aep-17, 0x1.b9df224ca4b97p-20,
                   -0x1.5f1ecb6f0764cp-23, 0x1.f7b4bf3b13964p-27, -0x1.389d4f2641625p-30,
                   0x1.05ffd737fb32ep-34);
  }
}

// -log(erfc(x)) for 1 <= x, to the point where erf is 1; absolute error 2^-55.3.
template <class F>
TD_FN F td_poly_erf_log(F x) {
  return td_poly(
      x, -0x1.f9575284bf9a2p-24, 0x1.20dd8b074c3adp+0, 0x1.45f21dc5fa8e5p-1, 0x1.a50d443d8ac46p-4,
      -0x1.3a4e547f6b38dp-6, -0x1.cce1c2e0c1f2fp-14, 0x1.97e66a65bc6f4p-10, -0x1.c3a944058c216p-12,
      -0x1.00caf19002974p-13, 0x1.766981ccdc460p-13, -0x1.ad58d90a60e00p-14, 0x1.5c611c59cb103p-15,
      -0x1.bf8a60a619c2cp-17, 0x1.da0b298059837p-19, -0x1.a543acf17293ep-21, 0x1.3c3275527b698p-23,
      -0x1.912562d7830cfp-26, 0x1.ac6e1651ee9dbp-29, -0x1.7e3258afb2a4fp-32, 0x1.19580c63622e7p-35,
      -0x1.4fcacc811e9c2p-39, 0x1.3ca76d919fc9ap-43, -0x1.c5f19b646d15cp-48, 0x1.d098c582a8864p-53,
      -0x1.2e436241b9d92p-58, 0x1.779742a100adfp-65);
}

// -log2(erfc(x)) for 3/4 <= x, to the point where erf is 1, weighted by erfc(x) ln2; absolute error
// 2^-28.4.
template <class F>
TD_FN F td_poly_erf_log2(F x) {
  return td_poly(x, 0x1.655afa0000000p-15f, 0x1.a0bff00000000p+0f, 0x1.d5ba340000000p-1f,
                 0x1.367ede0000000p-3f, -0x1.0d88fe0000000p-5f, 0x1.2df99c0000000p-8f,
                 -0x1.406ff40000000p-12f);
}

// e^(x^2) erfc(x) (1+2x) in t = (x-2)/(x+2), x >= 0.45; absolute error 2^-29.9, 2^-58.0.
template <class F>
TD_FN td_pair<F> td_poly_erfcx(F x) {
  if constexpr (td_is_single<F>) {
    F sum = x * td_poly(x, -0x1.7bf5e80000000p-4f, -0x1.5407ba0000000p-3f, 0x1.4ff9bc0000000p-3f,
                        -0x1.bc2d620000000p-5f, -0x1.06ee4e0000000p-7f, 0x1.1e04de0000000p-7f,
                        0x1.3e7dbe0000000p-10f, -0x1.8204540000000p-10f, -0x1.452bee0000000p-12f,
                        0x1.c8faca0000000p-13f);
    td_pair<F> p = td_fast_two_sum(td_broadcast<F>::of(0x1.46e80e0000000p+0f), sum);
    return {p.hi, p.lo + 0x1.08eb2a0000000p-27f};
  } else {
    F sum = x * td_poly(x, -0x1.7bf5ec1700635p-4, -0x1.5407bebf32414p-3, 0x1.4ffa1e14e28b8p-3,
                        -0x1.bc2b95619cf22p-5, -0x1.07423404b48dfp-7, 0x1.1dd2ec93162f2p-7,
                        0x1.4d461d4d33121p-10, -0x1.7de5226b26ceap-10, -0x1.dc6937549df52p-12,
                        0x1.b0c9070843610p-13, 0x1.3cc0c9fbb7220p-13, -0x1.96ee7d04f2f1ap-20,
                        -0x1.3189d4c4bbdc5p-15, -0x1.c3d7238a9cb5dp-17, 0x1.f032da99875e8p-19,
                        0x1.5979481d24d5bp-18, 0x1.a61689fd4ba4ap-20, -0x1.3100132aaaeb2p-21,
                        -0x1.0d21c439cbc2bp-20, -0x1.8b0c4163ed477p-22, 0x1.7c1dfa631dac9p-22,
                        0x1.6d7e08506af42p-23, -0x1.a4892e46b5888p-24);
    td_pair<F> p = td_fast_two_sum(td_broadcast<F>::of(0x1.46e80e2277953p+0), sum);
    return {p.hi, p.lo + 0x1.91b5f546812eep-54};
  }
}

// erfinv(y)/y in w - 1, w = -log(1-y^2) <= 5; absolute error 2^-26.2, 2^-58.9.
template <class F>
TD_FN td_pair<F> td_poly_erfinv_central(F x) {
  if constexpr (td_is_single<F>) {
    F sum = x * td_poly(x, 0x1.fb8fce0000000p-3f, 0x1.1692120000000p-8f, -0x1.377af40000000p-9f,
                        0x1.a47b900000000p-14f, 0x1.4091740000000p-15f, -0x1.25bc3e0000000p-18f,
                        -0x1.1f6eee0000000p-21f, 0x1.350f300000000p-23f, -0x1.32e60e0000000p-27f);
    td_pair<F> p = td_fast_two_sum(td_broadcast<F>::of(0x1.209b9c0000000p+0f), sum);
    return {p.hi, p.lo + -0x1.9e05700000000p-27f};
  } else {
    F sum = x * td_poly(x, 0x1.fb8fccc606520p-3, 0x1.16931130fad24p-8, -0x1.3779be7c1ce01p-9,
                        0x1.a3f0f04a2f623p-14, 0x1.4075e5803dc4ap-15, -0x1.1eee00d486b1fp-18,
                        -0x1.2f73f6b640dd9p-21, 0x1.06ac8fdf3b8a6p-23, 0x1.9f13322cf920ap-28,
                        -0x1.9fa3b25dbc19ap-29, 0x1.23ab590b4a031p-36, 0x1.2941d85fda6d7p-34,
                        -0x1.06038f11f0081p-38, -0x1.8035b02efa593p-40, 0x1.545db48d39584p-43,
                        0x1.c2e91a700eb73p-46, -0x1.5221149f520e7p-48, -0x1.53432b812b3b8p-51,
                        0x1.30d64bd4dee50p-52, -0x1.4e77e2561140fp-55, 0x1.68ad1f64c43cdp-59,
                        -0x1.456805d898d1fp-64);
    td_pair<F> p = td_fast_two_sum(td_broadcast<F>::of(0x1.209b9bb73e395p+0), sum);
    return {p.hi, p.lo + -0x1.b49890bae2052p-55};
  }
}

// erfinv(y)/y in sqrt(w) - 3.1, 5 < w <= 16; absolute error 2^-27.1, 2^-59.4.
template <class F>
TD_FN td_pair<F> td_poly_erfinv_outer(F x) {
  if constexpr (td_is_single<F>) {
    F sum = x * td_poly(x, 0x1.00dbf20000000p+0f, 0x1.e8e6c40000000p-8f, -0x1.75477c0000000p-8f,
                        0x1.0e18960000000p-8f, -0x1.6465d00000000p-9f, 0x1.5a11360000000p-10f,
                        -0x1.3117ce0000000p-12f, -0x1.2174620000000p-13f, 0x1.16cc980000000p-13f,
                        -0x1.18c4c40000000p-15f);
    td_pair<F> p = td_fast_two_sum(td_broadcast<F>::of(0x1.7774220000000p+1f), sum);
    return {p.hi, p.lo + 0x1.5d09ee0000000p-24f};
  } else {
    F sum = x * td_poly(x, 0x1.00dbf2489c741p+0, 0x1.e8e78c9c0b2e4p-8, -0x1.755517e4493a8p-8,
                        0x1.0e19a395848bep-8, -0x1.63a046b24644fp-9, 0x1.591876bc5286ep-10,
                        -0x1.42850388ebb2ep-12, -0x1.ff03ad4d221b7p-14, 0x1.3c5c40f4cfa7cp-13,
                        -0x1.ee8df76c8a286p-15, -0x1.9f69ea8561655p-20, 0x1.c49c8a5a2a156p-17,
                        -0x1.b62defab7b746p-18, 0x1.2f8a33b6dc1f7p-21, 0x1.05e0171afd1d5p-20,
                        -0x1.3a49daf837277p-21, 0x1.e02adbaba161cp-24, 0x1.c22fb05610ee2p-25,
                        -0x1.a607a16f8fc32p-25, 0x1.e4628b7a72b2fp-27, 0x1.c73795085108bp-29,
                        -0x1.d644f39ce9839p-29, 0x1.faf6bea8da9c0p-32, 0x1.115a4e64eaf16p-33);
    td_pair<F> p = td_fast_two_sum(td_broadcast<F>::of(0x1.777422abdd244p+1), sum);
    return {p.hi, p.lo + 0x1.5c1eabbaa71c3p-56};
  }
}

// erfinv(y)/y in sqrt(w) - 5, 16 < w <= 37; absolute error 2^-59.3.
template <class F>
TD_FN td_pair<F> td_poly_erfinv_edge(F x) {
  F sum = x * td_poly(x, 0x1.02a30d1fba10bp+0, -0x1.22ea5df1c7c08p-13, -0x1.c2f36aa15496cp-13,
                      0x1.3ebf4efa1f62dp-14, -0x1.4a349047a9987p-16, 0x1.2fbcfe413ed99p-18,
                      -0x1.0a9031f00fc88p-20, 0x1.ebe28ebdd0f0ap-23, -0x1.2238d058c1677p-24,
                      0x1.f2993fdc04b17p-26, -0x1.05608f971711dp-26, 0x1.0c78e739db387p-27,
                      -0x1.e59df4eb60e5fp-29, 0x1.6caf169367441p-30, -0x1.a389ef7c460fdp-32,
                      0x1.0abb4df4e0b9ap-34, 0x1.0a6eb1227607bp-36, -0x1.1dd8a4cca2548p-36,
                      0x1.9781feb6ce119p-38, -0x1.cee7849e10533p-41);
  td_pair<F> p = td_fast_two_sum(td_broadcast<F>::of(0x1.3664ddd1ad7fbp+2), sum);
  return {p.hi, p.lo + -0x1.7dc2182136bb3p-54};
}

// lgamma(2+z)/z for -0.6 <= z <= 1/2; absolute error 2^-68.3.
template <class F>
TD_FN td_pair<F> td_poly_lgamma(F x) {
  F sum = x * td_poly(x, 0x1.4a34cc4a60fa6p-2, -0x1.13e001a557607p-4, 0x1.51322ac7d8488p-6,
                      -0x1.e404fc218f50cp-8, 0x1.7add6eadb6144p-9, -0x1.38ac5c2c05a1dp-10,
                      0x1.0b36af86a225fp-11, -0x1.d3fd4c6b01ac9p-13, 0x1.a127b0adbecddp-14,
                      -0x1.78de5f1503472p-15, 0x1.580ddbc7f9b1dp-16, -0x1.3cbc068e031a6p-17,
                      0x1.2596278b94fe7p-18, -0x1.11c32165499cfp-19, 0x1.007ecb0d8ce85p-20,
                      -0x1.dffdbe59efc91p-22, 0x1.c58f604563559p-23, -0x1.cbb738f33971ap-24,
                      0x1.9db61c219d051p-25, -0x1.83c63d641dc20p-27, 0x1.b3d666da57173p-27,
                      -0x1.f06b4fad36f6dp-27);
  td_pair<F> p = td_fast_two_sum(td_broadcast<F>::of(0x1.b0ee6072093cep-2), sum);
  return {p.hi, p.lo + 0x1.6cd734e009340p-58};
}

// lgamma(1+z)/z for -0.3 <= z <= 0.4; absolute error 2^-66.8.
template <class F>
TD_FN td_pair<F> td_poly_lgamma_one(F x) {
  F sum = x * td_poly(x, 0x1.a51a6625307d3p-1, -0x1.9a4d55beab2d7p-2, 0x1.151322ac7d842p-2,
                      -0x1.a8b9c17aa6197p-3, 0x1.5b40cb100cef0p-3, -0x1.2703a1dce7ba9p-3,
                      0x1.010b36af2b3afp-3, -0x1.c806706e64d52p-4, 0x1.9a01e3b630c64p-4,
                      -0x1.748c330743338p-4, 0x1.556ace60c95bap-4, -0x1.3b1d913ff0be2p-4,
                      0x1.2497ac8c08a71p-4, -0x1.1114723c7936fp-4, 0x1.ffe75071a142fp-5,
                      -0x1.e1a5290d2d193p-5, 0x1.c82a89bd6c7b4p-5, -0x1.b2910307a0730p-5,
                      0x1.94325e81294c1p-5, -0x1.6a666066e791dp-5, 0x1.75c7eb0153db2p-5,
                      -0x1.d69df75ca6f9ap-5, 0x1.c6822f0045dfcp-5, -0x1.8cb368568ee18p-6);
  td_pair<F> p = td_fast_two_sum(td_broadcast<F>::of(-0x1.2788cfc6fb619p-1), sum);
  return {p.hi, p.lo + 0x1.6c8c3252bafefp-58};
}

TAEDA_MATH_END
