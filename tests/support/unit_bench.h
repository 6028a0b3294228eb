// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "models/base/address.h"
#include "models/queue/execution_unit.h"
#include "models/queue/operand_range.h"
#include "tests/models/fabric/bench.h"

namespace steppe::test {

/// A cluster's execution unit at 1 GHz before an SRAM slice of its own, at cluster 1's address.
template <typename Unit>
struct UnitBench : Bench {
  static constexpr std::uint32_t cluster = 1;
  std::uint64_t base[isa::base_registers] = {};
  std::unique_ptr<Sram> sram;
  std::unique_ptr<Unit> unit;
  std::string unit_name;

  UnitBench(std::string name, Mode mode) : Bench(mode), unit_name(std::move(name)) {
    make_instant("sram");
    set(unit_name + ".clock", "1e9");
    base[1] = address::sram_of(cluster);
  }
  /// `name` tells several benches of one simulation apart.
  void build(const std::string& name = "") {
    const std::uint64_t at = address::sram_of(cluster);
    sram = std::make_unique<Sram>(("sram" + name).c_str(), scope.child("sram"), at);
    unit = std::make_unique<Unit>((unit_name + name).c_str(), scope.child(unit_name),
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
};

/// Runs `body` as a process until nothing is left to do.
inline void simulate(const std::function<void()>& body) {
  sc_core::sc_spawn(body);
  sc_core::sc_start();
}

}  // namespace steppe::test
