// SPDX-License-Identifier: Apache-2.0
// check, disasm and asm: a package's streams without running them.
#include <fmt/format.h>

#include <cstdio>
#include <fstream>
#include <map>
#include <sstream>

#include "models/base/error.h"
#include "models/isa/assembly.h"
#include "sim/command.h"
#include "sim/host/host_program.h"
#include "sim/stream_check.h"

namespace steppe::sim {
namespace {

using Strings = std::vector<std::string>;

constexpr std::string_view marker = "# stream: ";

/// The line that separates streams in a print, and by which `asm` finds its place in the package.
std::string stream_line(const package::Shard& shard, bool init, const package::Stream& stream) {
  return fmt::format("{}{} {}", marker, init ? "init" : "run", stream_name(shard, stream));
}

template <typename Visit>
void for_each_stream(package::Package& package, Visit visit) {
  for (package::Shard& shard : package.shards) {
    for (package::Stream& stream : shard.init.streams) visit(shard, true, stream);
    for (package::Stream& stream : shard.run.streams) visit(shard, false, stream);
  }
}

/// Text by marker line, with the number of the line behind it.
struct Section {
  std::string text;
  std::size_t line = 0;
};

std::map<std::string, Section> split_sections(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw ConfigError("{}: the file cannot be read", path);
  std::map<std::string, Section> sections;
  Section* section = nullptr;
  std::string line;
  for (std::size_t number = 1; std::getline(file, line); ++number) {
    if (line.starts_with(marker)) {
      section = &sections[line];
      section->line = number;
    } else if (section != nullptr) {
      section->text += line + "\n";
    } else if (!line.empty() && line[0] != '#') {
      throw ConfigError("{}:{}: an instruction before the first '{}' line", path, number, marker);
    }
  }
  return sections;
}

}  // namespace

int check_command(const Strings& arguments) {
  options::options_description described("options");
  options::variables_map values;
  if (!parse_arguments(arguments, "check PKG", described, "PKG", values)) return 0;
  const std::string path = values["PKG"].as<std::string>();
  const package::Package package = package::read(path);
  checked_program(package, path);
  std::size_t streams = 0;
  for (const package::Shard& shard : package.shards) {
    streams += shard.init.streams.size() + shard.run.streams.size();
  }
  fmt::print("{}: good: {} shards of the card, {} of the host, {} streams, {} channels\n", path,
             package.shards.size(), package.host.size(), streams, package.channels.size());
  return 0;
}

int disasm_command(const Strings& arguments) {
  options::options_description described("options");
  described.add_options()("offsets", "print each instruction's offset");
  options::variables_map values;
  if (!parse_arguments(arguments, "disasm PKG", described, "PKG", values)) return 0;
  package::Package package = package::read(values["PKG"].as<std::string>());
  for_each_stream(
      package, [&](const package::Shard& shard, bool init, const package::Stream& stream) {
        fmt::print("{}\n{}\n", stream_line(shard, init, stream),
                   isa::disassemble(stream_bytes(shard, stream), values.count("offsets") != 0));
      });
  return 0;
}

int asm_command(const Strings& arguments) {
  std::string out;
  std::string base;
  options::options_description described("options");
  auto add = described.add_options();
  add("output,o", options::value(&out)->required(), "PKG: the package to write");
  add("package", options::value(&base)->required(),
      "PKG: all that is not in the text is taken from this one");
  options::variables_map values;
  if (!parse_arguments(arguments, "asm FILE --package PKG -o PKG   (FILE: as disasm prints it)",
                       described, "FILE", values)) {
    return 0;
  }
  const std::string file = values["FILE"].as<std::string>();
  std::map<std::string, Section> sections = split_sections(file);
  if (sections.empty()) {
    throw ConfigError(
        "{}: no stream is in it; each begins with a line like '{}run chip 0, cluster 0, load'",
        file, marker);
  }
  package::Package package = package::read(base);
  std::map<std::uint32_t, std::vector<std::uint8_t>> streams;  // by chip
  for (package::Shard& shard : package.shards) {
    // All streams of a shard are laid out anew in one segment behind everything else.
    std::uint64_t start = 0;
    for (const package::Segment& segment : shard.segments) {
      start = std::max(start, align_up<std::uint64_t>(segment.dram_offset + segment.bytes, 4096));
    }
    std::vector<std::uint8_t>& bytes = streams[shard.chip];
    const auto place = [&](bool init, package::Stream& stream) {
      const std::string line = stream_line(shard, init, stream);
      const auto section = sections.find(line);
      std::vector<std::uint8_t> code;
      if (section != sections.end()) {
        code = isa::assemble(section->second.text,
                             fmt::format("{} (from line {})", file, section->second.line));
        sections.erase(section);
      } else {
        const auto old = stream_bytes(shard, stream);
        code.assign(old.begin(), old.end());
      }
      stream.dram_offset = start + bytes.size();
      stream.bytes = code.size();
      bytes.insert(bytes.end(), code.begin(), code.end());
      bytes.resize(align_up<std::size_t>(bytes.size(), 64));
    };
    for (package::Stream& stream : shard.init.streams) place(true, stream);
    for (package::Stream& stream : shard.run.streams) place(false, stream);
    std::erase_if(shard.segments, [](const package::Segment& segment) {
      return segment.kind == package::SegmentKind::stream;
    });
    shard.segments.push_back({.kind = package::SegmentKind::stream,
                              .name = "streams",
                              .dram_offset = start,
                              .bytes = bytes.size(),
                              .data = bytes});
    package.target.dram_bytes = std::max(package.target.dram_bytes, start + bytes.size());
  }
  if (!sections.empty()) {
    throw ConfigError("{}:{}: the package has no stream '{}'", file, sections.begin()->second.line,
                      sections.begin()->first.substr(marker.size()));
  }
  package::write(package, out);
  fmt::print("package            {}\n", out);
  return 0;
}

}  // namespace steppe::sim
