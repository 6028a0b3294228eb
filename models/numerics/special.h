// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The special functions of the vector unit: models/numerics/README.md, "Special functions". Each
/// is evaluated in binary64 from additions, products, quotients and roots alone, so that every
/// machine gives the same bits, and rounded once to fp32.
namespace steppe::numerics {

/// Relative error of the binary64 value before the one rounding to fp32, at most; see the page.
inline constexpr double special_error = 0x1p-44;

float exp_fp32(float x);
float log_fp32(float x);
float erf_fp32(float x);
float tanh_fp32(float x);
float sigmoid_fp32(float x);
float gelu_fp32(float x);       ///< x * Phi(x)
float gelu_tanh_fp32(float x);  ///< x * sigmoid(2 sqrt(2/pi) (x + 0.044715 x^3))
float silu_fp32(float x);
float softplus_fp32(float x);
float sin_fp32(float x);
float cos_fp32(float x);
float rsqrt_fp32(float x);
/// x^y; rounded to 40 bits on the way to fp32, so that exact results half-way between two fp32
/// numbers are seen as such.
float pow_fp32(float x, float y);

}  // namespace steppe::numerics
