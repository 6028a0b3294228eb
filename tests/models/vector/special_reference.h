// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace steppe::test {

/// The functions of `map` and the special functions, from models/numerics/README.md and the C
/// library's widest format, rounded once.
float special_exp(float x);
float special_log(float x);
float mapped(std::uint32_t function, float a, float b, float c);

}  // namespace steppe::test
