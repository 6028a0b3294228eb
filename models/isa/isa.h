// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "models/isa/instructions.def"

namespace steppe::isa {

/// Raised with every change of the table that breaks old streams.
inline constexpr std::uint32_t version = 2;
inline constexpr std::uint32_t no_semaphore = 1023;
inline constexpr std::size_t base_registers = 16;
/// Base registers with a meaning when a stream starts: 0 holds zero; firmware points these to the
/// blocks of host memory that a run reads and writes.
inline constexpr std::uint32_t base_input = 2;
inline constexpr std::uint32_t base_output = 3;
inline constexpr std::size_t max_loop_depth = 4;
/// Instructions start at multiples of this many bytes.
inline constexpr std::size_t alignment = 16;
/// Bytes of one per-channel (bias, fp32 multiplier) pair of `Conv`.
inline constexpr std::size_t scale_pair_bytes = 8;

/// Which kinds of queue take an instruction.
enum class QueueKind : std::uint8_t { load, store, tensor, vector, link_send, link_receive };
inline constexpr std::array<std::string_view, 6> queue_names{"load",   "store",     "tensor",
                                                             "vector", "link_send", "link_receive"};

namespace detail {
template <char kind, unsigned bits>
using FieldType = std::conditional_t<
    kind == 'f', float,
    std::conditional_t<kind == 's', std::conditional_t<(bits > 32), std::int64_t, std::int32_t>,
                       std::conditional_t<(bits > 32), std::uint64_t, std::uint32_t>>>;
}

#define STEPPE_DECLARE_FIELD(kind, name, bits, doc) detail::FieldType<#kind[0], (bits)> name{};

/// Common to all instructions: what to wait for, what to signal, and the debug entry.
struct Header {
  STEPPE_HEADER_FIELDS(STEPPE_DECLARE_FIELD)
  Header() { wait0 = wait1 = signal0 = signal1 = no_semaphore; }
};

#define STEPPE_DECLARE_INSTRUCTION(Type, mnemonic, opcode, queues, FIELDS, doc) \
  struct Type {                                                                 \
    FIELDS(STEPPE_DECLARE_FIELD)                                                \
  };
STEPPE_INSTRUCTIONS(STEPPE_DECLARE_INSTRUCTION)
#undef STEPPE_DECLARE_INSTRUCTION
#undef STEPPE_DECLARE_FIELD

#define STEPPE_LIST(Type, mnemonic, opcode, queues, FIELDS, doc) , Type
using Operation = std::variant<std::monostate STEPPE_INSTRUCTIONS(STEPPE_LIST)>;
#undef STEPPE_LIST

/// A decoded instruction. `header.opcode` is set by the encoder from the operation's type.
struct Instruction {
  Header header;
  Operation operation;
};

/// One field of the table, for tools that walk it.
struct FieldInfo {
  std::string_view name;
  std::string_view doc;
  unsigned bits;
  char kind;  ///< u, s or f, as in the table
};
/// One row of the table.
struct InstructionInfo {
  std::string_view mnemonic;
  std::uint8_t opcode;
  std::string_view queues;
  std::string_view doc;
  std::span<const FieldInfo> fields;
  std::size_t bytes;  ///< encoded size, header and padding included
};
std::span<const InstructionInfo> instruction_table();
std::span<const FieldInfo> header_fields();
/// The row of an opcode; null where there is none.
const InstructionInfo* find_instruction(std::uint32_t opcode);
/// Whether a queue of that kind executes the instruction.
bool queue_takes(QueueKind kind, const InstructionInfo& info);

/// What is wrong with the first field that cannot hold its value; empty where all can.
std::string misfit(const Operation& operation);

/// Appends the encoding to `stream`. Throws InternalError where a value does not fit its field.
void encode(const Instruction& instruction, std::vector<std::uint8_t>& stream);

enum class DecodeStatus : std::uint8_t { ok, truncated, unknown_opcode, nonzero_padding };
struct Decoded {
  DecodeStatus status;
  std::size_t bytes;  ///< consumed; 0 unless ok
  Instruction instruction;
};
/// Decodes the instruction at the start of `stream`; never reads past its end.
Decoded decode(std::span<const std::uint8_t> stream);

}  // namespace steppe::isa
