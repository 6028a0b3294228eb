// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "workloads/npy/npy.h"

namespace steppe::npy {

/// What stands in front of the elements.
struct Header {
  Type type = Type::fp32;
  std::vector<std::uint64_t> shape;
  std::size_t size = 0;  ///< bytes in front of the first element
};

std::uint64_t width_of(Type type);
Header parse_header(const std::string& bytes, const std::string& name);
std::string format_header(const Header& header);

}  // namespace steppe::npy
