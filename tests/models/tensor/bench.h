// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>
#include <functional>
#include <memory>
#include <string>

#include "models/base/address.h"
#include "models/tensor/tensor_unit.h"
#include "tests/models/fabric/bench.h"
#include "tests/models/tensor/conv_case.h"

namespace steppe::test {

/// A tensor unit at 1 GHz before an SRAM slice of its own, at cluster 1's address.
struct TensorBench : Bench {
  static constexpr std::uint32_t cluster = 1;
  std::uint64_t base[isa::base_registers] = {};
  std::unique_ptr<Sram> sram;
  std::unique_ptr<TensorUnit> unit;

  explicit TensorBench(Mode mode = Mode::functional) : Bench(mode) {
    make_instant("sram");
    set("tensor.clock", "1e9");
    base[1] = address::sram_of(cluster);
  }
  /// `name` tells several benches of one simulation apart.
  void build(const std::string& name = "") {
    const std::uint64_t at = address::sram_of(cluster);
    sram = std::make_unique<Sram>(("sram" + name).c_str(), scope.child("sram"), at);
    unit = std::make_unique<TensorUnit>(("tensor" + name).c_str(), scope.child("tensor"),
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

/// The Conv with all its operands relative to base register 1.
inline isa::Conv in_slice(isa::Conv conv) {
  conv.in_base = conv.weights_base = conv.scales_base = conv.out_base = conv.residual_base =
      conv.lut_base = 1;
  return conv;
}

}  // namespace steppe::test
