// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>
#include <functional>
#include <memory>
#include <string>

#include "models/base/address.h"
#include "models/vector/vector_unit.h"
#include "tests/models/fabric/bench.h"
#include "tests/models/vector/vector_case.h"

namespace steppe::test {

/// A vector unit at 1 GHz before an SRAM slice of its own, at cluster 1's address.
struct VectorBench : Bench {
  static constexpr std::uint32_t cluster = 1;
  std::uint64_t base[isa::base_registers] = {};
  std::unique_ptr<Sram> sram;
  std::unique_ptr<VectorUnit> unit;

  explicit VectorBench(Mode mode = Mode::functional) : Bench(mode) {
    make_instant("sram");
    set("vector.clock", "1e9");
    base[1] = address::sram_of(cluster);
  }
  /// `name` tells several benches of one simulation apart.
  void build(const std::string& name = "") {
    const std::uint64_t at = address::sram_of(cluster);
    sram = std::make_unique<Sram>(("sram" + name).c_str(), scope.child("sram"), at);
    unit = std::make_unique<VectorUnit>(("vector" + name).c_str(), scope.child("vector"),
                                        SramRange{at, sram->size()});
    unit->port.socket.bind(sram->socket);
  }

  struct Result {
    Fault fault;
    std::uint64_t ps = 0;
  };
  /// To be called in a process of the simulation.
  Result execute(const isa::Operation& operation) {
    const std::uint64_t begin = now_ps();
    const isa::Header header;
    const Fault fault = unit->execute({header, operation, base});
    return {fault, now_ps() - begin};
  }
  std::uint8_t* memory() { return unit->port.direct(address::sram_of(cluster), sram->size()); }
  void load(const VectorCase& c) { std::memcpy(memory(), c.memory.data(), c.memory.size()); }
};

/// Runs `body` as a process until nothing is left to do.
inline void simulate(const std::function<void()>& body) {
  sc_core::sc_spawn(body);
  sc_core::sc_start();
}

}  // namespace steppe::test
