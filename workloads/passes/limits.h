// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "workloads/net/net.h"

namespace steppe::passes {

/// Which extent of a product or pool is more than an instruction can hold; empty where none is.
/// What the scheduler cuts into parts (rows, output channels without groups) is not looked at.
std::string beyond_limits(const net::Net& net, const net::Conv& op);
std::string beyond_limits(const net::Net& net, const net::MatMul& op);
std::string beyond_limits(const net::Net& net, const net::Pool& op);
/// All others: their fields are wide enough for what fits the memory.
template <typename Op>
std::string beyond_limits(const net::Net&, const Op&) {
  return {};
}

}  // namespace steppe::passes
