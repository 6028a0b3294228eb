// SPDX-License-Identifier: Apache-2.0
//
// steppe-iss: runs a bare RV32IMAC program on the control core's instruction set simulator, without
// SystemC.
//
// The program talks to the host through the double word at its symbol `tohost` (see htif.h). On its
// bus is the CLINT alone, whose mtime counts every 90th cycle; other accesses outside of the memory
// fault. The exit code is 0 where the program passed, else the number it failed with (255 for any
// above); errors of steppe-iss itself have the codes 2 (usage, ELF file) and 4 (the program can not
// go on), and are told apart by their message.
#include <chrono>
#include <cstring>
#include <exception>
#include <fstream>
#include <iostream>
#include <limits>

#include "models/base/config.h"
#include "models/base/error.h"
#include "models/base/units.h"
#include "models/riscv/clint.h"
#include "models/riscv/core.h"
#include "models/riscv/elf.h"
#include "models/riscv/htif.h"

namespace steppe {
namespace {

constexpr int largest_exit_code = 255;
constexpr const char* usage =
    "usage: steppe-iss ELF [--max-instructions N] [--signature FILE] [--stats]";

struct Options {
  std::string elf;
  std::string signature;
  std::uint64_t max_instructions = std::numeric_limits<std::uint64_t>::max();
  bool stats = false;
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
    } else if (argument == "--signature") {
      if (++i == arguments.size()) throw ConfigError("--signature needs a file");
      options.signature = arguments[i];
    } else if (argument.starts_with("-")) {
      const std::string near =
          nearest_name(argument, {"--stats", "--max-instructions", "--signature"});
      throw ConfigError("unknown option '{}'{}\n{}", argument,
                        near.empty() ? "" : "; did you mean '" + near + "'?", usage);
    } else if (options.elf.empty()) {
      options.elf = argument;
    } else {
      throw ConfigError("one ELF file at a time: '{}' and '{}'", options.elf, argument);
    }
  }
  if (options.elf.empty()) throw ConfigError("{}", usage);
  return options;
}

/// A program in memory of its own: from its first address, rounded down to 4 KiB, for 1 MiB at
/// least.
struct Program {
  explicit Program(const std::string& path) : elf(read_file(path)), name(path) {
    const AddressRange extent = elf_extent(elf, path);
    base = static_cast<std::uint32_t>(extent.begin & ~std::uint64_t{0xfff});
    constexpr std::uint64_t largest = std::uint64_t{1} << 30;
    const std::uint64_t bytes = align_up<std::uint64_t>(extent.end - base, 4096);
    if (bytes > largest) throw ConfigError("{}: takes more than 1 GiB", path);
    const std::uint64_t room = (std::uint64_t{1} << 32) - base;
    memory.resize(std::min(room, std::max<std::uint64_t>(bytes, 1 << 20)));
    entry = load_elf(elf, memory, base, path);
  }
  [[nodiscard]] std::optional<std::uint32_t> symbol(const char* symbol_name) const {
    return elf_symbol(elf, symbol_name, name);
  }
  [[nodiscard]] std::uint32_t need(const char* symbol_name) const {
    if (const auto value = symbol(symbol_name)) return *value;
    throw ConfigError("{}: no symbol '{}'", name, symbol_name);
  }

  std::vector<std::uint8_t> elf;
  std::string name;
  std::vector<std::uint8_t> memory;
  std::uint32_t base = 0;
  std::uint32_t entry = 0;
};

/// The core with its CLINT. Time is counted in cycles, and goes on while the core sleeps.
class Machine : private riscv::Bus {
 public:
  explicit Machine(Program& program)
      : core_(program.memory, program.base, *this, {}),
        htif_(program.memory, program.base, program.need("tohost"), program.symbol("fromhost"),
              std::cout) {
    core_.reset(program.entry);
  }
  [[nodiscard]] const RiscvCore& core() const { return core_; }

  /// Runs to the end; returns the program's result.
  std::uint32_t run(std::uint64_t max_instructions) {
    constexpr std::uint64_t shortest = 64, longest = 10000;
    for (std::uint64_t cycles = shortest;; cycles = std::min(2 * cycles, longest)) {
      core_.set_interrupt(riscv::Interrupt::timer, clint_.timer(now()));
      core_.set_interrupt(riscv::Interrupt::software, clint_.software());
      const RiscvCore::Stop stop = core_.run(core_.cycles() + std::min(cycles, to_timer()));
      const riscv::Htif::Heard heard = htif_.look();
      if (heard == riscv::Htif::Heard::ended) return htif_.result();
      if (heard != riscv::Htif::Heard::nothing) {
        cycles = shortest / 2;
      } else if (stop == RiscvCore::Stop::halted) {
        throw MachineError("{}", core_.halt_reason());
      } else if (stop == RiscvCore::Stop::sleep) {
        sleep();
      }
      if (core_.instructions() >= max_instructions) {
        throw MachineError("limit of {} instructions reached at {:#010x}", max_instructions,
                           core_.pc());
      }
    }
  }

 private:
  [[nodiscard]] std::uint64_t now() const { return core_.cycles() + slept_; }
  /// Cycles until the timer's interrupt rises; very many where it is up, or never will be.
  [[nodiscard]] std::uint64_t to_timer() const {
    const std::uint64_t at = clint_.timer_at(now());
    return at == now() ? riscv::Clint::never : at - now();
  }
  void sleep() {
    constexpr std::uint32_t mie = 0x304;
    const bool is_timed = (*core_.csrs().read(mie) & 1U << 7) != 0;
    if (!is_timed || clint_.timer_at(now()) == riscv::Clint::never) {
      throw MachineError("sleeps at {:#010x} with nothing to wake it", core_.pc());
    }
    if (!clint_.timer(now())) slept_ += to_timer();
  }
  Answer read(std::uint32_t address, std::uint32_t& value, unsigned bytes) override {
    const std::uint32_t offset = address - riscv::Clint::base;
    return {.ok = offset < riscv::Clint::bytes && bytes == 4 && clint_.read(offset, value, now())};
  }
  Answer write(std::uint32_t address, std::uint32_t value, unsigned bytes) override {
    const std::uint32_t offset = address - riscv::Clint::base;
    return {.ok = offset < riscv::Clint::bytes && bytes == 4 && clint_.write(offset, value, now())};
  }

  RiscvCore core_;
  riscv::Clint clint_{90};  // a 900 MHz core and a 10 MHz timer, as on the chip
  riscv::Htif htif_;
  std::uint64_t slept_ = 0;
};

/// Writes the words from begin_signature to end_signature, one to a line in hexadecimal, as the
/// architecture's compliance tests are compared.
void write_signature(const Program& program, const std::string& path) {
  const std::uint32_t begin = program.need("begin_signature") - program.base;
  const std::uint32_t end = program.need("end_signature") - program.base;
  if (begin > end || end > program.memory.size()) {
    throw ConfigError("{}: its signature is not in its memory", program.name);
  }
  std::ofstream file(path);
  for (std::uint64_t at = begin; at + 4 <= end; at += 4) {
    std::uint32_t word = 0;
    std::memcpy(&word, program.memory.data() + at, sizeof word);
    file << fmt::format("{:08x}\n", word);
  }
  if (!file.flush()) throw ConfigError("{}: cannot be written", path);
}

int run(const Options& options) {
  Program program(options.elf);
  Machine machine(program);
  const auto start = std::chrono::steady_clock::now();
  const std::uint32_t result = machine.run(options.max_instructions);
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;
  std::cout.flush();
  const RiscvCore& core = machine.core();
  if (options.stats) {
    std::cerr << fmt::format("{} instructions, {} cycles, {} traps, {:.3f} s, {:.1f} MIPS\n",
                             core.instructions(), core.cycles(), core.traps(), wall.count(),
                             static_cast<double>(core.instructions()) / wall.count() / 1e6);
  }
  if (!options.signature.empty()) write_signature(program, options.signature);
  if (result == 0) return 0;
  std::cerr << fmt::format("steppe-iss: failed: test {}\n", result);
  return static_cast<int>(std::min<std::uint32_t>(result, largest_exit_code));
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
