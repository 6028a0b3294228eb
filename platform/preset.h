// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "models/base/config.h"

namespace steppe {

/// Names of the presets that are built in.
std::vector<std::string> preset_names();

/// Puts the values of a preset, or of a YAML file (a name with a '/' or ending in .yaml), into
/// `config`. A preset's name with xN behind it is a server with N such cards, with xNxM M such
/// servers.
///
/// The file is a map nested like the module hierarchy. A leaf is a value, or a map of `value` and
/// `source` or `assumed`. A top-level `base: NAME` takes over another preset first.
/// Throws ConfigError with file and line where it cannot be read.
void load_preset(const std::string& name, Config& config);

}  // namespace steppe
