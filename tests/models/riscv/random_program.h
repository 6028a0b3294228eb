// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

/// A random RV32IMAC program at 0x8000'0000 that prints what it has computed through `tohost` and
/// then passes. One seed gives one program, though another one with another compiler.
///
/// It draws from all classes of instructions: arithmetic in 32 and 16 bits, loads and stores of any
/// alignment in a scratch area, jumps and branches forwards, bounded loops, atomics and
/// reservations, CSRs, code that it writes itself, software interrupts, and whatever traps. Its
/// trap handler notes mcause, mepc, mtval and mstatus in a log (64 entries, the last ones stay) and
/// goes on behind the instruction. What the architecture leaves open is left out, or out of the
/// log: mtval of ebreak, counters, a store between lr and sc, sc to a misaligned address.
std::vector<std::uint8_t> random_program(std::uint32_t seed);

/// What it prints: registers, scratch area, log; little-endian words.
inline constexpr std::size_t printed_registers = 32;
inline constexpr std::size_t printed_words = printed_registers + 256 + 256;

/// The first difference of two prints, by its name; empty where they are the same.
std::string first_difference(const std::string& a, const std::string& b);
