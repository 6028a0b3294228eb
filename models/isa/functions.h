// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "models/isa/functions.def"

namespace steppe::vector_functions {

// With an underscore, since some are C++'s own words.
#define STEPPE_NAME_FUNCTION(name, code, operands, lane, special) name##_ = code,
enum Function : std::uint32_t { STEPPE_MAP_FUNCTIONS(STEPPE_NAME_FUNCTION) };
#undef STEPPE_NAME_FUNCTION

/// A row of functions.def.
struct Row {
  std::string_view name;
  std::uint32_t code;
  std::uint32_t operands;
  std::uint32_t lane_ops;
  std::uint32_t special_ops;
};
#define STEPPE_LIST_FUNCTION(name, code, operands, lane, special) \
  {#name, code, operands, lane, special},
inline constexpr Row rows[] = {STEPPE_MAP_FUNCTIONS(STEPPE_LIST_FUNCTION)};
#undef STEPPE_LIST_FUNCTION

/// The row of a code; null where there is none.
constexpr const Row* find(std::uint32_t code) {
  for (const Row& row : rows) {
    if (row.code == code) return &row;
  }
  return nullptr;
}

}  // namespace steppe::vector_functions
