// SPDX-License-Identifier: Apache-2.0
//
// steppe-iss: runs a bare RV32IMAC program on the control core's instruction set simulator, without
// SystemC.
//
// The program ends by writing to the word at its symbol `tohost`: 1 passes, any other odd value is
// a failed test's number times 2, plus 1. There is nothing on the bus: accesses outside the memory
// fault.
#include <chrono>
#include <cstring>
#include <exception>
#include <iostream>
#include <limits>

#include "models/base/config.h"
#include "models/base/error.h"
#include "models/base/units.h"
#include "models/riscv/core.h"
#include "models/riscv/elf.h"

namespace steppe {
namespace {

enum ExitCode { passed = 0, failed = 1, machine = 4 };

struct Options {
  std::string elf;
  std::uint64_t max_instructions = std::numeric_limits<std::uint64_t>::max();
  bool stats = false;
};

class NoBus : public riscv::Bus {
 public:
  Answer read(std::uint32_t, std::uint32_t&, unsigned) override { return {}; }
  Answer write(std::uint32_t, std::uint32_t, unsigned) override { return {}; }
};

std::uint64_t parse_count(const std::string& text) {
  if (text.empty() || text.size() > 18 || text.find_first_not_of("0123456789") != text.npos) {
    throw ConfigError("--max-instructions: '{}' is not a whole number below 10^18", text);
  }
  return std::stoull(text);
}

Options parse(const std::vector<std::string>& arguments) {
  Options options;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument == "--stats") {
      options.stats = true;
    } else if (argument == "--max-instructions") {
      if (++i == arguments.size()) throw ConfigError("--max-instructions needs a number");
      options.max_instructions = parse_count(arguments[i]);
    } else if (argument.starts_with("-")) {
      const std::string near = nearest_name(argument, {"--stats", "--max-instructions"});
      throw ConfigError(
          "unknown option '{}'{}\nusage: steppe-iss ELF [--max-instructions N] [--stats]", argument,
          near.empty() ? "" : "; did you mean '" + near + "'?");
    } else if (options.elf.empty()) {
      options.elf = argument;
    } else {
      throw ConfigError("one ELF file at a time: '{}' and '{}'", options.elf, argument);
    }
  }
  if (options.elf.empty()) {
    throw ConfigError("usage: steppe-iss ELF [--max-instructions N] [--stats]");
  }
  return options;
}

/// A program in memory of its own: from its first address, rounded down to 4 KiB, for 1 MiB at
/// least.
struct Machine {
  explicit Machine(const std::string& path) {
    const auto elf = read_file(path);
    const AddressRange extent = elf_extent(elf, path);
    base = static_cast<std::uint32_t>(extent.begin & ~std::uint64_t{0xfff});
    constexpr std::uint64_t largest = std::uint64_t{1} << 30;
    const std::uint64_t bytes = align_up<std::uint64_t>(extent.end - base, 4096);
    if (bytes > largest) throw ConfigError("{}: takes more than 1 GiB", path);
    const std::uint64_t room = (std::uint64_t{1} << 32) - base;
    memory.resize(std::min(room, std::max<std::uint64_t>(bytes, 1 << 20)));
    entry = load_elf(elf, memory, base, path);
    const auto symbol = elf_symbol(elf, "tohost", path);
    if (!symbol || *symbol < base || *symbol - base > memory.size() - 4) {
      throw ConfigError("{}: no symbol 'tohost' in its memory", path);
    }
    tohost = *symbol;
  }
  [[nodiscard]] std::uint32_t told() const {
    std::uint32_t value = 0;
    std::memcpy(&value, memory.data() + (tohost - base), sizeof value);
    return value;
  }

  std::vector<std::uint8_t> memory;
  std::uint32_t base = 0;
  std::uint32_t entry = 0;
  std::uint32_t tohost = 0;
};

ExitCode verdict(std::uint32_t told) {
  if (told == 1) return passed;
  std::cerr << fmt::format("steppe-iss: failed: test {}\n", told >> 1);
  return failed;
}

ExitCode run(RiscvCore& core, const Machine& machine_run, std::uint64_t max_instructions) {
  constexpr std::uint64_t cycles_between_looks = 10000;
  for (;;) {
    const RiscvCore::Stop stop = core.run(core.cycles() + cycles_between_looks);
    if (machine_run.told() != 0) return verdict(machine_run.told());
    if (stop == RiscvCore::Stop::sleep) {
      std::cerr << fmt::format("steppe-iss: sleeps at {:#010x} with nothing to wake it\n",
                               core.pc());
      return machine;
    }
    if (stop == RiscvCore::Stop::halted) {
      std::cerr << fmt::format("steppe-iss: {}\n", core.halt_reason());
      return machine;
    }
    if (core.instructions() >= max_instructions) {
      std::cerr << fmt::format("steppe-iss: limit of {} instructions reached at {:#010x}\n",
                               max_instructions, core.pc());
      return machine;
    }
  }
}

ExitCode run(const Options& options) {
  Machine loaded(options.elf);
  NoBus bus;
  RiscvCore core(loaded.memory, loaded.base, bus, {});
  core.reset(loaded.entry);
  const auto start = std::chrono::steady_clock::now();
  const ExitCode code = run(core, loaded, options.max_instructions);
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;
  if (options.stats) {
    std::cerr << fmt::format("{} instructions, {} cycles, {} traps, {:.3f} s, {:.1f} MIPS\n",
                             core.instructions(), core.cycles(), core.traps(), wall.count(),
                             static_cast<double>(core.instructions()) / wall.count() / 1e6);
  }
  return code;
}

}  // namespace
}  // namespace steppe

int main(int argc, char** argv) {
  try {
    return steppe::run(steppe::parse({argv + 1, argv + argc}));
  } catch (const steppe::UserError& error) {
    std::cerr << "steppe-iss: " << error.what() << '\n';
    return error.exit_code();
  } catch (const std::exception& error) {
    std::cerr << "steppe-iss: internal error: " << error.what() << '\n';
    return 70;
  }
}
