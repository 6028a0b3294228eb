// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tlm_utils/multi_passthrough_target_socket.h>

#include <cstdint>
#include <systemc>
#include <tlm>

#include "models/base/param.h"
#include "models/fabric/occupancy.h"

namespace steppe {

/// Zeroed memory of the host that is taken page by page as it is touched.
class BackingStore {
 public:
  explicit BackingStore(Bytes bytes);
  ~BackingStore();
  BackingStore(const BackingStore&) = delete;
  BackingStore& operator=(const BackingStore&) = delete;
  [[nodiscard]] std::uint8_t* data() const { return data_; }

 private:
  Bytes bytes_;
  std::uint8_t* data_;
};

/// A memory with one shared port: `bandwidth` bytes per second for all its initiators together, and
/// `latency` until the first byte. Base of Sram and Dram.
class Memory : public sc_core::sc_module {
 public:
  tlm_utils::multi_passthrough_target_socket<Memory> socket;

  [[nodiscard]] Bytes size() const { return size_; }
  [[nodiscard]] double bandwidth() const { return bandwidth_; }

 protected:
  /// `bandwidth` is what streaming reaches, all losses taken off.
  Memory(sc_core::sc_module_name name, const Scope& scope, std::uint64_t base, Bytes size,
         double bandwidth, double latency, Occupancy::Trace trace);

 private:
  void b_transport(int id, tlm::tlm_generic_payload& payload, sc_core::sc_time& delay);
  bool get_direct_mem_ptr(int id, tlm::tlm_generic_payload& payload, tlm::tlm_dmi& dmi);

  std::uint64_t base_;
  Bytes size_;
  double bandwidth_;
  std::uint64_t latency_ps_;
  BackingStore store_;
  Occupancy port_;
};

/// Holds the parameters of a Sram, which its base class needs before it is built.
struct SramParams {
  explicit SramParams(const Scope& scope);
  Param<Bytes> size;
  Param<double> bandwidth;
  Param<double> latency;
};

/// One cluster's slice of the on-chip memory.
class Sram : private SramParams, public Memory {
 public:
  using Memory::bandwidth;
  using Memory::size;
  Sram(sc_core::sc_module_name name, const Scope& scope, std::uint64_t base);
};

struct DramParams {
  explicit DramParams(const Scope& scope);
  Param<std::string> fidelity;
  Param<Bytes> capacity;
  Param<double> bandwidth;
  Param<double> efficiency;
  Param<double> latency;
};

/// A chip's DRAM behind its controllers, as one channel that streams at `efficiency` of its peak.
class Dram : private DramParams, public Memory {
 public:
  using Memory::bandwidth;
  Dram(sc_core::sc_module_name name, const Scope& scope, std::uint64_t base);
  [[nodiscard]] double peak_bandwidth() const { return DramParams::bandwidth; }
};

}  // namespace steppe
