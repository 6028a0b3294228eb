// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <random>
#include <vector>

namespace steppe::test {

/// One instruction of a random row of the table, all its fields random bits: headers with unusual
/// combinations, negative steps, fp32 infinities and NaNs among them.
std::vector<std::uint8_t> random_instruction(std::mt19937& random);

}  // namespace steppe::test
