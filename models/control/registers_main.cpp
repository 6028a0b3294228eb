// SPDX-License-Identifier: Apache-2.0
//
// Writes the register map as a C header (for firmware) or as a page of Markdown.
// Usage: steppe-registers header|page FILE
#include <cstdio>
#include <fstream>
#include <string>

#include "models/control/registers.def"

namespace {

struct Row {
  const char* name;
  unsigned value;
  const char* access;
  const char* doc;
};

#define STEPPE_ROW(name, offset, access, doc) {#name, offset, #access, doc},
#define STEPPE_CONSTANT_ROW(name, value, doc) {#name, value, "", doc},
constexpr Row registers[] = {STEPPE_CONTROL_REGISTERS(STEPPE_ROW)};
constexpr Row queue_registers[] = {STEPPE_QUEUE_REGISTERS(STEPPE_ROW)};
constexpr Row constants[] = {STEPPE_CONTROL_CONSTANTS(STEPPE_CONSTANT_ROW)};

void write_header(std::ofstream& out) {
  out << "// Generated from models/control/registers.def.\n#pragma once\n\n";
  for (const Row& row : registers) {
    out << "#define " << row.name << " 0x" << std::hex << row.value << "u  // " << row.doc << '\n';
  }
  out << "\n// From the base of a queue's registers.\n";
  for (const Row& row : queue_registers) {
    out << "#define " << row.name << " 0x" << std::hex << row.value << "u  // " << row.doc << '\n';
  }
  out << '\n';
  for (const Row& row : constants) {
    out << "#define " << row.name << " 0x" << std::hex << row.value << "u  // " << row.doc << '\n';
  }
}

void write_table(std::ofstream& out, const Row& row) {
  out << "| 0x" << std::hex << row.value << " | `" << row.name << "` | " << row.access << " | "
      << row.doc << " |\n";
}

void write_page(std::ofstream& out) {
  out << "# Registers of a chip\n\n| offset | name | access | meaning |\n|---|---|---|---|\n";
  for (const Row& row : registers) write_table(out, row);
  out << "\n## Of each queue\n\n| offset | name | access | meaning |\n|---|---|---|---|\n";
  for (const Row& row : queue_registers) write_table(out, row);
  out << "\n## Constants\n\n| value | name | | meaning |\n|---|---|---|---|\n";
  for (const Row& row : constants) write_table(out, row);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc == 3 ? argv[1] : "";
  if (what != "header" && what != "page") {
    std::fprintf(stderr, "usage: steppe-registers header|page FILE\n");
    return 2;
  }
  std::ofstream out(argv[2]);
  what == "header" ? write_header(out) : write_page(out);
  out.flush();
  return out ? 0 : 1;
}
