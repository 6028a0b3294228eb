// SPDX-License-Identifier: Apache-2.0
//
// Writes the reference page of the instruction set, in Markdown, from the table.
// Usage: steppe-isa-page FILE
#include <fmt/format.h>

#include <cstdio>
#include <fstream>

#include "models/isa/isa.h"

namespace {

using namespace steppe::isa;

std::string queue_list(const InstructionInfo& info) {
  std::string text;
  for (std::size_t kind = 0; kind < queue_names.size(); ++kind) {
    if (!queue_takes(static_cast<QueueKind>(kind), info)) continue;
    text += fmt::format("{}{}", text.empty() ? "" : ", ", queue_names[kind]);
  }
  return text;
}

std::string type_name(const FieldInfo& field) {
  if (field.kind == 'f') return "fp32";
  return fmt::format("{}{}", field.kind == 's' ? "int" : "uint", field.bits);
}

void write_fields(std::ofstream& out, std::span<const FieldInfo> fields) {
  out << "| bits | field | type | meaning |\n|---|---|---|---|\n";
  unsigned bit = 0;
  for (const FieldInfo& field : fields) {
    out << fmt::format("| {}:{} | `{}` | {} | {} |\n", bit + field.bits - 1, bit, field.name,
                       type_name(field), field.doc);
    bit += field.bits;
  }
}

void write_page(std::ofstream& out) {
  out << fmt::format(
      "# Instruction set, version {}\n\n"
      "Generated from `models/isa/instructions.def`. Fields are packed in the order given, least "
      "significant bit first; an instruction is padded with zeros to a multiple of {} bytes. An "
      "address is the sum of a base register and an offset. Base register 0 holds zero; {} and {} "
      "point to the input and output block of a run.\n\n",
      version, alignment, base_input, base_output);
  out << "| opcode | instruction | bytes | queues | |\n|---|---|---|---|---|\n";
  for (const InstructionInfo& info : instruction_table()) {
    out << fmt::format("| {:#04x} | [`{}`](#{}) | {} | {} | {} |\n", info.opcode, info.mnemonic,
                       info.mnemonic, info.bytes, queue_list(info), info.doc);
  }
  out << "\n## Header\n\nThe first 128 bits of every instruction.\n\n";
  write_fields(out, header_fields());
  for (const InstructionInfo& info : instruction_table()) {
    out << fmt::format("\n## {}\n\n{}. Opcode {:#04x}, {} bytes; queues: {}.\n", info.mnemonic,
                       info.doc, info.opcode, info.bytes, queue_list(info));
    if (info.fields.empty()) continue;
    out << "Bits count from the end of the header.\n\n";
    write_fields(out, info.fields);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: steppe-isa-page FILE\n");
    return 2;
  }
  std::ofstream out(argv[1]);
  write_page(out);
  out.flush();
  if (!out) std::fprintf(stderr, "cannot write '%s'\n", argv[1]);
  return out ? 0 : 1;
}
