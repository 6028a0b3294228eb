// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

namespace steppe {

/// A file of platform/configs, built into the library.
struct BuiltinPreset {
  const char* name;
  const char* text;
};
std::span<const BuiltinPreset> builtin_presets();

}  // namespace steppe
