// SPDX-License-Identifier: Apache-2.0
#include "models/isa/isa.h"

#include <algorithm>
#include <bit>

#include "models/base/error.h"
#include "models/base/units.h"

namespace steppe::isa {
namespace {

constexpr std::size_t header_bytes = 16;

#define STEPPE_FIELD_INFO(kind, name, bits, doc) FieldInfo{#name, doc, bits, #kind[0]},
constexpr std::array header_info{STEPPE_HEADER_FIELDS(STEPPE_FIELD_INFO)};

template <typename Type>
struct Table;
#define STEPPE_TABLE(Type, mnemonic, code, queues, FIELDS, doc)                    \
  template <>                                                                      \
  struct Table<Type> {                                                             \
    static constexpr std::uint32_t opcode = code;                                  \
    /* The last entry closes the list, so that an empty one is an array too. */    \
    static constexpr FieldInfo fields[] = {FIELDS(STEPPE_FIELD_INFO) FieldInfo{}}; \
    static constexpr std::size_t field_count = std::size(fields) - 1;              \
  };
STEPPE_INSTRUCTIONS(STEPPE_TABLE)
#undef STEPPE_TABLE
#undef STEPPE_FIELD_INFO

template <typename Type>
constexpr std::size_t encoded_bytes() {
  std::size_t bits = 0;
  for (const FieldInfo& field : Table<Type>::fields) bits += field.bits;
  return header_bytes + align_up(ceil_div(bits, std::size_t{8}), alignment);
}

#define STEPPE_ROW(Type, mnemonic, code, queues, FIELDS, doc)               \
  InstructionInfo{mnemonic,                                                 \
                  code,                                                     \
                  queues,                                                   \
                  doc,                                                      \
                  std::span(Table<Type>::fields, Table<Type>::field_count), \
                  encoded_bytes<Type>()},
constexpr std::array table{STEPPE_INSTRUCTIONS(STEPPE_ROW)};
#undef STEPPE_ROW

/// Whether a field of some bits, signed where `kind` is 's', holds a value.
bool holds(char kind, unsigned bits, std::int64_t value) {
  if (kind != 's') return static_cast<std::uint64_t>(value) < (std::uint64_t{1} << bits);
  return value >= -(std::int64_t{1} << (bits - 1)) && value < (std::int64_t{1} << (bits - 1));
}

/// Finds the first field that cannot hold its value.
class FieldChecker {
 public:
  template <typename T>
  void put(const char* name, char kind, unsigned bits, T value) {
    if constexpr (!std::is_same_v<T, float>) {
      const auto wide = static_cast<std::int64_t>(value);
      if (misfit_.empty() && !holds(kind, bits, wide)) {
        misfit_ = fmt::format("field {} of {} bits cannot hold {}", name, bits, wide);
      }
    }
  }
  [[nodiscard]] const std::string& misfit() const { return misfit_; }

 private:
  std::string misfit_;
};

class BitWriter {
 public:
  explicit BitWriter(std::uint8_t* bytes) : bytes_(bytes) {}

  template <typename T>
  void put(const char* name, char kind, unsigned bits, T value) {
    std::uint64_t raw = 0;
    if constexpr (std::is_same_v<T, float>) {
      raw = std::bit_cast<std::uint32_t>(value);
    } else {
      const auto wide = static_cast<std::int64_t>(value);
      raw = static_cast<std::uint64_t>(wide);
      STEPPE_CHECK(holds(kind, bits, wide), "field {} of {} bits cannot hold {}", name, bits, wide);
    }
    for (unsigned done = 0; done < bits;) {
      const unsigned at = position_ % 8;
      const unsigned take = std::min(8 - at, bits - done);
      const auto chunk = static_cast<std::uint8_t>((raw >> done) & ((1U << take) - 1));
      bytes_[position_ / 8] = static_cast<std::uint8_t>(bytes_[position_ / 8] | (chunk << at));
      position_ += take;
      done += take;
    }
  }

 private:
  std::uint8_t* bytes_;
  std::size_t position_ = 0;
};

class BitReader {
 public:
  explicit BitReader(const std::uint8_t* bytes) : bytes_(bytes) {}

  std::uint64_t take(unsigned bits) {
    std::uint64_t raw = 0;
    for (unsigned done = 0; done < bits;) {
      const unsigned at = position_ % 8;
      const unsigned some = std::min(8 - at, bits - done);
      const std::uint64_t chunk = (bytes_[position_ / 8] >> at) & ((1U << some) - 1U);
      raw |= chunk << done;
      position_ += some;
      done += some;
    }
    return raw;
  }

  template <typename T>
  void get(char kind, unsigned bits, T& value) {
    const std::uint64_t raw = take(bits);
    if constexpr (std::is_same_v<T, float>) {
      value = std::bit_cast<float>(static_cast<std::uint32_t>(raw));
    } else if (kind == 's') {
      const unsigned shift = 64 - bits;
      value = static_cast<T>(static_cast<std::int64_t>(raw << shift) >> shift);
    } else {
      value = static_cast<T>(raw);
    }
  }

 private:
  const std::uint8_t* bytes_;
  std::size_t position_ = 0;
};

#define STEPPE_PUT(kind, name, bits, doc) writer.put(#name, #kind[0], bits, value.name);
#define STEPPE_GET(kind, name, bits, doc) reader.get(#kind[0], bits, value.name);

void put_fields(BitWriter& writer, const Header& value) { STEPPE_HEADER_FIELDS(STEPPE_PUT) }
void get_fields(BitReader& reader, Header& value){STEPPE_HEADER_FIELDS(STEPPE_GET)}
#define STEPPE_FIELDS_OF(Type, mnemonic, code, queues, FIELDS, doc)                      \
  template <typename Writer>                                                             \
  void put_fields([[maybe_unused]] Writer& writer, [[maybe_unused]] const Type& value) { \
    FIELDS(STEPPE_PUT)                                                                   \
  }                                                                                      \
  void get_fields([[maybe_unused]] BitReader& reader, [[maybe_unused]] Type& value) {    \
    FIELDS(STEPPE_GET)                                                                   \
  }
STEPPE_INSTRUCTIONS(STEPPE_FIELDS_OF)
#undef STEPPE_FIELDS_OF

    Operation decode_operation(std::uint32_t opcode, BitReader& reader) {
  switch (opcode) {
#define STEPPE_CASE(Type, mnemonic, code, queues, FIELDS, doc) \
  case code: {                                                 \
    Type value;                                                \
    get_fields(reader, value);                                 \
    return value;                                              \
  }
    STEPPE_INSTRUCTIONS(STEPPE_CASE)
#undef STEPPE_CASE
    default:
      return {};
  }
}

}  // namespace

std::span<const InstructionInfo> instruction_table() { return table; }
std::span<const FieldInfo> header_fields() { return header_info; }

const InstructionInfo* find_instruction(std::uint32_t opcode) {
  const auto* row = std::ranges::find(table, opcode, &InstructionInfo::opcode);
  return row == table.end() ? nullptr : row;
}

bool queue_takes(QueueKind kind, const InstructionInfo& info) {
  constexpr std::string_view letters = "LSTVXX";
  return info.queues.find(letters[static_cast<std::size_t>(kind)]) != std::string_view::npos;
}

std::string misfit(const Operation& operation) {
  FieldChecker checker;
  std::visit(
      [&](const auto& op) {
        if constexpr (!std::is_same_v<std::decay_t<decltype(op)>, std::monostate>) {
          put_fields(checker, op);
        }
      },
      operation);
  return checker.misfit();
}

void encode(const Instruction& instruction, std::vector<std::uint8_t>& stream) {
  std::visit(
      [&](const auto& operation) {
        using Type = std::decay_t<decltype(operation)>;
        if constexpr (std::is_same_v<Type, std::monostate>) {
          STEPPE_CHECK(false, "an empty instruction cannot be encoded");
        } else {
          const std::size_t start = stream.size();
          stream.resize(start + encoded_bytes<Type>());
          Header header = instruction.header;
          header.opcode = Table<Type>::opcode;
          BitWriter head(stream.data() + start);
          put_fields(head, header);
          BitWriter body(stream.data() + start + header_bytes);
          put_fields(body, operation);
        }
      },
      instruction.operation);
}

Decoded decode(std::span<const std::uint8_t> stream) {
  if (stream.size() < header_bytes) return {DecodeStatus::truncated, 0, {}};
  Instruction instruction;
  BitReader head(stream.data());
  get_fields(head, instruction.header);
  const InstructionInfo* info = find_instruction(instruction.header.opcode);
  if (info == nullptr) return {DecodeStatus::unknown_opcode, 0, instruction};
  if (stream.size() < info->bytes) return {DecodeStatus::truncated, 0, instruction};
  BitReader body(stream.data() + header_bytes);
  instruction.operation = decode_operation(instruction.header.opcode, body);
  std::size_t used = 0;
  for (const FieldInfo& field : info->fields) used += field.bits;
  for (std::size_t left = (info->bytes - header_bytes) * 8 - used; left > 0;) {
    const auto some = static_cast<unsigned>(std::min<std::size_t>(left, 64));
    if (body.take(some) != 0) return {DecodeStatus::nonzero_padding, 0, instruction};
    left -= some;
  }
  return {DecodeStatus::ok, info->bytes, instruction};
}

}  // namespace steppe::isa
