// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <systemc>

#include "models/base/scope.h"
#include "models/fabric/dram.h"
#include "models/fabric/memory_port.h"
#include "models/fabric/sram.h"
#include "models/fabric/transport.h"

namespace steppe::test {

/// Configuration and context of one simulation; the modules under test hang under "top".
struct Bench {
  Config config;
  SimContext context;
  Scope scope{context, "top"};

  explicit Bench(Mode mode = Mode::functional) : context{.config = config, .mode = mode} {}
  void set(const std::string& path, const std::string& value) {
    config.set("top." + path, value, "test");
  }
  [[nodiscard]] double stat(const std::string& path) const {
    return context.stats.value("top." + path);
  }
  /// A memory that answers at once, so that what lies before it decides: 1e15 B/s, no latency.
  void make_instant(const std::string& memory) {
    set(memory + ".bandwidth", "1e15");
    set(memory + ".latency", "0");
  }
};

/// A memory port in a module of its own, as SystemC wants it.
struct Initiator : sc_core::sc_module, MemoryPort {
  explicit Initiator(sc_core::sc_module_name name) : sc_module(name), MemoryPort("socket") {}
};

/// Completion of a transaction asked for at now + `delay_ps`, in ps from now; -1 on an address
/// error.
inline std::int64_t time(MemoryPort& port, tlm::tlm_command command, std::uint64_t address,
                         Bytes bytes, std::uint64_t delay_ps = 0) {
  sc_core::sc_time delay = from_ps(delay_ps);
  if (!port.reserve(command, address, bytes, delay)) return -1;
  return static_cast<std::int64_t>(to_ps(delay));
}
inline std::int64_t read_time(MemoryPort& port, std::uint64_t address, Bytes bytes,
                              std::uint64_t delay_ps = 0) {
  return time(port, tlm::TLM_READ_COMMAND, address, bytes, delay_ps);
}
inline std::int64_t write_time(MemoryPort& port, std::uint64_t address, Bytes bytes,
                               std::uint64_t delay_ps = 0) {
  return time(port, tlm::TLM_WRITE_COMMAND, address, bytes, delay_ps);
}

}  // namespace steppe::test
