// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tlm_utils/simple_target_socket.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <vector>

#include "models/base/address.h"
#include "models/dma/dma.h"
#include "models/fabric/dram.h"
#include "models/fabric/noc.h"
#include "models/fabric/sram.h"
#include "tests/models/fabric/bench.h"

namespace steppe::test {

/// Registers without direct memory that record the reservations made of them, and when the last
/// write was applied.
struct Registers : sc_core::sc_module {
  static constexpr std::uint64_t begin = address::control;
  static constexpr Bytes bytes = 256;
  tlm_utils::simple_target_socket<Registers> socket{"socket"};
  std::uint32_t values[bytes / 4] = {};
  std::uint64_t written_at = 0;
  std::vector<std::pair<std::uint64_t, Bytes>> reserved;  ///< offset, length; probes left out
  std::function<void()> on_write;

  explicit Registers(sc_core::sc_module_name name) : sc_module(name) {
    socket.register_b_transport(this, &Registers::b_transport);
  }
  void b_transport(tlm::tlm_generic_payload& payload, sc_core::sc_time&) {
    auto* at = reinterpret_cast<std::uint8_t*>(values) + (payload.get_address() - begin);
    payload.set_response_status(tlm::TLM_OK_RESPONSE);
    if (payload.get_data_ptr() == nullptr) {
      const Bytes length = payload.get_data_length();
      if (length != 0) reserved.emplace_back(payload.get_address() - begin, length);
      return;
    }
    if (payload.is_read()) {
      std::memcpy(payload.get_data_ptr(), at, payload.get_data_length());
      return;
    }
    std::memcpy(at, payload.get_data_ptr(), payload.get_data_length());
    written_at = now_ps();
    if (on_write) on_write();
  }
};

/// DMA units on chip 0's network before DRAM, an instant SRAM slice and registers.
///
/// 4096 B take 50 ns at DRAM (81.92 GB/s, latency 90 ns) and 20 ns at a port; a hop takes 20 ns.
struct DmaBench : Bench {
  std::unique_ptr<Noc> noc;
  std::vector<std::unique_ptr<Dma>> units;
  std::unique_ptr<Dram> dram;
  std::unique_ptr<Sram> sram;
  Registers registers{"registers"};
  std::uint64_t base[isa::base_registers] = {};

  explicit DmaBench(Mode mode = Mode::functional) : Bench(mode) {
    make_instant("sram");
    set("dram.bandwidth", "81.92e9");
    set("dram.fidelity", "ideal");
    set("dram.efficiency", "1");
  }
  void build(std::size_t dmas = 1) {
    noc = std::make_unique<Noc>("noc", scope.child("noc"), 0);
    for (std::size_t i = 0; i < dmas; ++i) {
      const std::string n = std::to_string(i);
      units.push_back(std::make_unique<Dma>(("dma" + n).c_str(), scope.child("dma" + n)));
      noc->add_initiator(noc->add_port("dma" + n));
      units.back()->port.socket.bind(noc->from);
    }
    dram = std::make_unique<Dram>("dram", scope.child("dram"), address::dram);
    sram = std::make_unique<Sram>("sram", scope.child("sram"), address::sram);
    noc->add_target(noc->add_port("dram"), address::dram, dram->size());
    noc->to.bind(dram->socket);
    noc->add_target(noc->add_port("sram"), address::sram, sram->size());
    noc->to.bind(sram->socket);
    noc->add_target(noc->add_port("registers"), Registers::begin, Registers::bytes);
    noc->to.bind(registers.socket);
  }

  static isa::Copy copy(std::uint64_t from, std::uint64_t to, std::uint32_t row_bytes,
                        std::uint32_t rows = 1, std::uint32_t src_pitch = 0,
                        std::uint32_t dst_pitch = 0) {
    isa::Copy c;
    c.src_offset = from;
    c.dst_offset = to;
    c.row_bytes = row_bytes;
    c.rows = rows;
    c.src_pitch = src_pitch;
    c.dst_pitch = dst_pitch;
    return c;
  }
  static isa::Notify notify(std::uint64_t to, std::uint32_t value) {
    isa::Notify n;
    n.dst_offset = to;
    n.value = value;
    return n;
  }

  struct Result {
    Fault fault;
    std::uint64_t end_ps = 0;
  };
  /// Lets unit `n` run the operations one after another from time 0; stops at a fault.
  Result& start(std::size_t n, std::vector<isa::Operation> operations) {
    results_.push_back(std::make_unique<Result>());
    Result& result = *results_.back();
    sc_core::sc_spawn([this, n, &result, list = std::move(operations)] {
      for (const isa::Operation& operation : list) {
        const isa::Header header;
        result.fault = units[n]->execute({header, operation, base});
        result.end_ps = now_ps();
        if (result.fault) return;
      }
    });
    return result;
  }
  Result run(std::vector<isa::Operation> operations) {
    Result& result = start(0, std::move(operations));
    sc_core::sc_start();
    return result;
  }

 private:
  std::vector<std::unique_ptr<Result>> results_;
};

}  // namespace steppe::test
