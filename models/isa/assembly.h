// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/isa/isa.h"

/// Streams as text, one instruction a line; README.md describes the form.
namespace steppe::isa {

/// The text of a stream; with `offsets` each line begins with its instruction's byte offset. Bodies
/// of loops are indented. `assemble` takes either form back to the same bytes.
/// Throws PackageError naming the offset where the stream is not valid.
std::string disassemble(std::span<const std::uint8_t> stream, bool offsets);

/// One instruction as a line, without an end of line.
std::string disassemble(const Instruction& instruction);

/// The bytes of a text. Throws ConfigError naming `name`, the line, and the nearest mnemonic or
/// field where the text is wrong.
std::vector<std::uint8_t> assemble(std::string_view text, const std::string& name);

}  // namespace steppe::isa
