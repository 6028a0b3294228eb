// SPDX-License-Identifier: Apache-2.0
#include "tests/models/riscv/random_program.h"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <random>

#include "tests/models/riscv/elf_writer.h"
#include "tests/models/riscv/encode.h"

namespace {

using namespace encode;

constexpr std::uint32_t base = 0x8000'0000;
constexpr std::uint32_t tohost = 0x1'0000, fromhost = 0x1'0040, registers = 0x1'0800;
constexpr std::uint32_t scratch = 0x1'1000, log_area = 0x1'2000, memory_bytes = 0x1'2400;
constexpr std::uint32_t nothing_there = 0x40000;  // the page number of an address on no device
constexpr std::uint32_t clint = 0x02000;          // that of msip

// Registers with a task; all others are drawn at random.
constexpr unsigned sp = 2, c_base = 8;  // both the middle of the scratch area, for short forms
constexpr unsigned link = 26;           // where to go on when a jump went nowhere
constexpr unsigned counter = 27, middle = 28, temporary = 29, value = 30, log_at = 31;

class Generator {
 public:
  explicit Generator(std::uint32_t seed) : random_(seed) {}

  std::vector<std::uint8_t> make() {
    begin();
    for (int i = 0; i < 150; ++i) item(true);
    end();
    std::vector<std::uint8_t> memory(memory_bytes, 0);
    std::memcpy(memory.data(), code_.data(), code_.size() * 2);
    for (std::uint32_t at = scratch; at < scratch + 1024; ++at) {
      memory[at] = static_cast<std::uint8_t>(random_());
    }
    return write_elf(memory, base, {{"tohost", base + tohost}, {"fromhost", base + fromhost}});
  }

 private:
  std::uint32_t below(std::uint32_t count) { return static_cast<std::uint32_t>(random_()) % count; }
  bool one_in(std::uint32_t count) { return below(count) == 0; }
  template <typename T, std::size_t n>
  T pick(const std::array<T, n>& from) {
    return from[below(n)];
  }
  unsigned source() { return below(32); }
  /// A register without a task.
  unsigned target() {
    const unsigned drawn = below(26);
    return drawn == sp || drawn == c_base ? 1 : drawn;
  }
  /// One of those that short forms reach, as they encode it: x9 to x15.
  unsigned short_target() { return 1 + below(7); }
  /// Into the scratch area, from its middle, for an access of 4 bytes.
  int offset() { return static_cast<int>(below(1021)) - 512; }

  [[nodiscard]] int at() const { return static_cast<int>(2 * code_.size()); }
  void half(std::uint32_t bits) { code_.push_back(static_cast<std::uint16_t>(bits)); }
  void word(std::uint32_t bits) {
    half(bits & 0xffff);
    half(bits >> 16);
  }
  void patch(int where, std::uint32_t bits) {
    code_[static_cast<std::size_t>(where) / 2] = static_cast<std::uint16_t>(bits);
    code_[static_cast<std::size_t>(where) / 2 + 1] = static_cast<std::uint16_t>(bits >> 16);
  }
  /// Loads a constant, in two instructions.
  void constant(unsigned rd, std::uint32_t bits) {
    word(lui(rd, (bits + 0x800) >> 12));
    word(addi(rd, rd, static_cast<std::int32_t>(bits << 20) >> 20));
  }

  void begin();
  void handler();
  void end();
  void print(std::uint32_t from, std::uint32_t bytes);
  void item(bool may_loop);
  void items(std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) item(false);
  }

  std::uint32_t plain();
  std::uint32_t short_plain();
  void memory_access();
  void jump_forwards();
  void loop();
  void atomic();
  void reservation();
  void trap();
  void control();
  void write_code();
  void interrupt();

  std::mt19937 random_;
  std::vector<std::uint16_t> code_;
};

void Generator::begin() {
  word(0);  // becomes a jump over the handler
  handler();
  patch(0, jump(at()));
  constant(1, base + 4);
  word(csrrw(0, mtvec, 1));
  word(csr(5, 0, mie, 8));  // MSIE
  constexpr std::array<std::uint32_t, 8> edges = {0,          1,           ~0U,         0x8000'0000,
                                                  0x7fffffff, 0xffff'8000, 0x0001'0000, 0x55555555};
  for (unsigned x = 1; x < 28; ++x) {
    constant(x, one_in(2) ? pick(edges) : static_cast<std::uint32_t>(random_()));
  }
  for (const unsigned x : {sp, c_base, middle}) constant(x, base + scratch + 512);
  constant(temporary, 0);
  constant(value, 0);
  constant(log_at, base + log_area);
}

/// At base + 4.
void Generator::handler() {
  word(csr(2, temporary, mcause, 0));
  word(branch(5, temporary, 0, 14 * 4));  // bge: an exception
  // The software interrupt: takes it back and goes on where it was. Where that is depends on how
  // soon the interrupt is seen.
  word(lui(value, clint));
  word(sw(0, value, 0));
  word(sw(temporary, log_at, 0));
  word(sw(0, log_at, 4));
  word(csr(2, value, mtval, 0));
  word(sw(value, log_at, 8));
  word(csr(2, value, mstatus, 0));
  word(sw(value, log_at, 12));
  word(addi(log_at, log_at, 16));
  word(i_type(0x400, log_at, 7, value, 0x13));
  word(r_type(0x20, value, log_at, 0, log_at));
  word(addi(value, 0, 0));
  word(mret);
  word(addi(value, temporary, -4));
  word(bne(value, 0, 8));
  word(addi(temporary, 0, 6));  // QEMU 7.2 calls a misaligned read-modify-write a load
  word(csrrw(0, mcause, temporary));
  word(sw(temporary, log_at, 0));
  word(csr(2, value, mepc, 0));
  word(sw(value, log_at, 4));
  word(csr(2, value, mstatus, 0));
  word(sw(value, log_at, 12));
  word(addi(temporary, temporary, -3));
  word(csr(2, value, mtval, 0));
  word(bne(temporary, 0, 8));
  word(addi(value, 0, 0));  // ebreak: the address or 0, as one likes
  word(csrrw(0, mtval, value));
  word(sw(value, log_at, 8));
  // The next entry, in a ring of 1 KiB.
  word(addi(log_at, log_at, 16));
  word(i_type(0x400, log_at, 7, value, 0x13));  // andi
  word(r_type(0x20, value, log_at, 0, log_at));
  // Cause 1: back to where the jump came from.
  word(csr(2, value, mepc, 0));
  word(addi(temporary, temporary, 2));
  word(bne(temporary, 0, 12));
  word(addi(value, link, 0));
  word(jump(28));
  // Else behind the instruction: 2 bytes, or 4 where its low bits are 11.
  word(load(5, temporary, value, 0));
  word(i_type(3, temporary, 7, temporary, 0x13));
  word(addi(temporary, temporary, -3));
  word(addi(value, value, 2));
  word(bne(temporary, 0, 8));
  word(addi(value, value, 2));
  word(csrrw(0, mepc, value));
  word(mret);
}

void Generator::end() {
  constant(value, base + registers);  // which only the handler used
  for (unsigned x = 0; x < 32; ++x) {
    if (x != value) word(sw(x, value, static_cast<int>(4 * x)));
  }
  print(registers, 4 * printed_registers);
  print(scratch, 1024);
  print(log_area, 1024);
  constant(5, base + tohost);
  word(addi(6, 0, 1));
  word(sw(6, 5, 0));
  word(sw(0, 5, 4));
  word(jump(0));
}

/// Prints bytes of memory: x5 is tohost, x6 the byte's address, x7 the end.
void Generator::print(std::uint32_t from, std::uint32_t bytes) {
  constant(5, base + tohost);
  constant(6, base + from);
  constant(7, base + from + bytes);
  constant(9, 0x0101'0000);  // the console writes
  const int next = at();
  word(load(4, 10, 6, 0));
  word(sw(10, 5, 0));
  word(sw(9, 5, 4));
  const int wait = at();
  word(lw(10, 5, 0));
  word(lw(11, 5, 4));
  word(r_type(0, 11, 10, 6, 10));  // or
  word(branch(1, 10, 0, wait - at()));
  word(addi(6, 6, 1));
  word(branch(1, 6, 7, next - at()));
}

/// An instruction in 32 bits that computes.
std::uint32_t Generator::plain() {
  const auto bits = static_cast<std::uint32_t>(random_());
  switch (below(8)) {
    case 0:
      return lui(target(), bits >> 12);
    case 1:
      return auipc(target(), bits >> 12);
    case 2: {
      const unsigned f3 = one_in(2) ? 1 : 5;
      const std::uint32_t amount = bits & 31;
      return i_type(static_cast<int>(f3 == 5 && one_in(2) ? 0x400 | amount : amount), source(), f3,
                    target(), 0x13);
    }
    case 3:
    case 4: {
      constexpr std::array<unsigned, 6> functions = {0, 2, 3, 4, 6, 7};
      return i_type(static_cast<int>(bits & 0xfff), source(), pick(functions), target(), 0x13);
    }
    case 5:
    case 6:
      return r_type(1, source(), source(), below(8), target());  // multiply and divide
    default: {
      const unsigned f3 = below(8);
      const bool other = (f3 == 0 || f3 == 5) && one_in(2);
      return r_type(other ? 0x20 : 0, source(), source(), f3, target());
    }
  }
}

/// One in 16 bits. The formats: table 16.1 of the manual's chapter on "C".
std::uint32_t Generator::short_plain() {
  const std::uint32_t five = below(32);
  const std::uint32_t sign = below(2) << 12;
  const unsigned rd = target();
  const unsigned small = short_target();
  switch (below(12)) {
    case 0:
      return 0x0001 | sign | rd << 7 | five << 2;  // c.addi, and c.nop
    case 1:
      return 0x4001 | sign | rd << 7 | five << 2;  // c.li
    case 2:
      return rd == 0 ? 0x0001 : 0x6001 | rd << 7 | (five | 1) << 2 | sign;  // c.lui
    case 3:
      return 0x0002 | rd << 7 | five << 2;  // c.slli
    case 4:
      return 0x8001 | small << 7 | five << 2;  // c.srli
    case 5:
      return 0x8401 | small << 7 | five << 2;  // c.srai
    case 6:
      return 0x8801 | sign | small << 7 | five << 2;  // c.andi
    case 7:
    case 8:
      return 0x8c01 | small << 7 | below(4) << 5 | below(8) << 2;  // c.sub, xor, or, and
    case 9:
      return 0x8002 | rd << 7 | (1 + below(31)) << 2;  // c.mv
    case 10:
      return 0x9002 | rd << 7 | (1 + below(31)) << 2;  // c.add
    default:
      return 0x0000 | (1 + below(255)) << 5 | small << 2;  // c.addi4spn
  }
}

void Generator::memory_access() {
  constexpr std::array<unsigned, 5> loads = {0, 1, 2, 4, 5};
  switch (below(8)) {
    case 0:
      return half(0x4000 | below(8) << 10 | below(4) << 5 | short_target() << 2);  // c.lw 0(x8)
    case 1:
      return half(0xc000 | below(8) << 10 | below(4) << 5 | below(8) << 2);  // c.sw 0(x8)
    case 2: {
      const unsigned rd = target();
      return half(0x4002 | below(2) << 12 | (rd == 0 ? 1 : rd) << 7 | below(32) << 2);  // c.lwsp
    }
    case 3:
      return half(0xc002 | below(64) << 7 | source() << 2);  // c.swsp
    case 4:
    case 5:
      return word(load(pick(loads), target(), middle, offset()));
    default:
      return word(store(below(3), source(), middle, offset()));
  }
}

void Generator::jump_forwards() {
  const int from = at();
  const std::uint32_t kind = below(5);
  const unsigned a = source();
  const unsigned b = source();
  const unsigned rd = target();
  constexpr std::array<unsigned, 6> conditions = {0, 1, 4, 5, 6, 7};
  const unsigned condition = pick(conditions);
  const bool second = one_in(2);
  const unsigned small = below(8);
  if (kind == 4) {
    const unsigned through = target() | 1;  // never 0, nor a base
    word(auipc(through, 0));
    if (second) {
      word(addi(through, through, 0));               // patched
      half(0x8002 | through << 7 | below(2) << 12);  // c.jr, c.jalr
    } else {
      word(0);
    }
    items(1 + below(3));
    const int far = at() - from;
    patch(from + 4, second ? addi(through, through, far) : jalr(rd, through, far | one_in(2)));
    return;
  }
  if (kind >= 2) {
    half(0);
  } else {
    word(0);
  }
  items(1 + below(3));
  const auto far = static_cast<std::uint32_t>(at() - from);
  if (kind == 0) return patch(from, branch(condition, a, b, static_cast<int>(far)));
  if (kind == 1) return patch(from, jal(rd, static_cast<int>(far)));
  const std::uint32_t bits =
      kind == 2 ? (second ? 0xa001U : 0x2001U) | (far >> 5 & 1) << 2 | (far >> 1 & 7) << 3 |
                      (far >> 7 & 1) << 6 | (far >> 6 & 1) << 7 | (far >> 4 & 1) << 11  // c.j, jal
                : (second ? 0xc001U : 0xe001U) | small << 7 | (far >> 5 & 1) << 2 |
                      (far >> 1 & 3) << 3 | (far >> 6 & 3) << 5 | (far >> 3 & 3) << 10;
  code_[static_cast<std::size_t>(from) / 2] = static_cast<std::uint16_t>(bits);  // c.beqz, bnez
}

void Generator::loop() {
  word(addi(counter, 0, static_cast<int>(1 + below(5))));
  const int begins = at();
  items(2 + below(6));
  word(addi(counter, counter, -1));
  word(branch(1, counter, 0, begins - at()));
}

void Generator::atomic() {
  constexpr std::array<unsigned, 9> operations = {0x00, 0x01, 0x04, 0x08, 0x0c,
                                                  0x10, 0x14, 0x18, 0x1c};
  const unsigned address = target() | 1;
  const int misaligned = one_in(10) ? static_cast<int>(1 + below(3)) : 0;
  word(addi(address, middle, (offset() & ~3) | misaligned));
  word(amo(pick(operations), target(), source(), address) | below(4) << 25);
}

void Generator::reservation() {
  const unsigned address = 25, other = 24;
  const int place = offset() & ~3;
  word(addi(address, middle, place));
  word(addi(other, middle, offset() & ~3));
  if (!one_in(4)) word(lr(target() % 24, address) | below(4) << 25);
  for (std::uint32_t i = below(3); i > 0; --i) word(r_type(1, source(), source(), below(8), 1 + 2));
  word(sc(target(), source(), one_in(4) ? other : address) | below(4) << 25);
}

void Generator::trap() {
  constexpr std::array<std::uint32_t, 16> illegal = {
      0xffff'ffff, 0x0000'205b, 0x4000'1033, 0x4010'1013, 0x0210'1013, 0x0000'3003,
      0x0000'3023, 0x0000'2063, 0x0000'1067, 0x1012'a2af, 0x0002'b2af, 0x1020'0073,
      0x0000'4073, 0xc000'1073, 0xf142'9073, 0x0000'2007};
  constexpr std::array<std::uint32_t, 12> illegal_short = {0x0000, 0x4002, 0x6081, 0x8002,
                                                           0x1502, 0x9101, 0x9d01, 0x6101,
                                                           0x0004, 0x8000, 0x2000, 0x6000};
  const unsigned address = target() | 1;
  switch (below(8)) {
    case 0:
      return word(ecall);
    case 1:
      return one_in(2) ? word(ebreak) : half(0x9002);
    case 2:
    case 3:
      return word(pick(illegal));
    case 4:
      return half(pick(illegal_short));
    case 5:
      word(lui(address, nothing_there));
      return word(lw(target(), address, static_cast<int>(below(512) * 4) - 1024));
    case 6:
      word(lui(address, nothing_there));
      return word(sw(source(), address, static_cast<int>(below(512) * 4) - 1024));
    default:
      word(lui(address, nothing_there));
      return word(jalr(link, address, static_cast<int>(below(2048))));
  }
}

void Generator::control() {
  constexpr std::array<unsigned, 6> functions = {1, 2, 3, 5, 6, 7};
  switch (below(6)) {
    case 0:
      return word(one_in(2) ? fence : fence_i);
    case 1:
      return word(csr(2, target(), one_in(2) ? 0x301 : 0xf14, 0));  // misa, mhartid
    case 2:
      return word(csr(one_in(2) ? 6 : 7, 0, mstatus, 8));  // MIE
    case 3: {
      constexpr std::array<unsigned, 3> registers_of_traps = {0x340, mcause, mtval};
      return word(csr(pick(functions), target(), pick(registers_of_traps), source()));
    }
    default:
      return word(csr(pick(functions), target(), 0x340, source()));
  }
}

/// Writes an instruction over the one five ahead.
void Generator::write_code() {
  const unsigned address = 25, text = 24;
  const std::uint32_t instruction = plain();
  word(auipc(address, 0));
  constant(text, instruction);
  word(sw(text, address, 20));
  word(fence_i);
  word(nop);
}

/// Asks for a software interrupt, which comes at once, or when something sets MIE.
void Generator::interrupt() {
  const unsigned address = 25, one = 24;
  word(lui(address, clint));
  word(addi(one, 0, 1));
  word(sw(one, address, 0));
  word(jump(4));  // QEMU looks for interrupts at jumps
}

void Generator::item(bool may_loop) {
  switch (below(may_loop ? 24 : 22)) {
    case 0:
    case 1:
    case 2:
    case 3:
      return half(short_plain());
    case 4:
    case 5:
    case 6:
    case 7:
      return memory_access();
    case 8:
    case 9:
      return may_loop ? jump_forwards() : word(plain());
    case 10:
      return atomic();
    case 11:
      return reservation();
    case 12:
      return trap();
    case 13:
      return control();
    case 14:
      return one_in(2) ? write_code() : interrupt();
    case 22:
    case 23:
      return loop();
    default:
      return word(plain());
  }
}

}  // namespace

std::vector<std::uint8_t> random_program(std::uint32_t seed) { return Generator(seed).make(); }

std::string first_difference(const std::string& a, const std::string& b) {
  if (a.size() != 4 * printed_words || b.size() != a.size()) {
    return fmt::format("printed {} and {} bytes, not {}: '{}' and '{}'", a.size(), b.size(),
                       4 * printed_words, a.substr(0, 200), b.substr(0, 200));
  }
  for (std::size_t i = 0; i < printed_words; ++i) {
    std::uint32_t x = 0;
    std::uint32_t y = 0;
    std::memcpy(&x, a.data() + 4 * i, 4);
    std::memcpy(&y, b.data() + 4 * i, 4);
    if (x == y) continue;
    const std::string where = i < printed_registers ? fmt::format("x{}", i)
                              : i < printed_registers + 256
                                  ? fmt::format("scratch word {}", i - printed_registers)
                                  : fmt::format("log word {}", i - printed_registers - 256);
    return fmt::format("{}: {:#010x} and {:#010x}", where, x, y);
  }
  return "";
}
