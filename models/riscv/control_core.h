// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tlm_utils/multi_passthrough_target_socket.h>

#include <array>
#include <cstdint>
#include <span>
#include <systemc>
#include <tlm>
#include <vector>

#include "models/base/param.h"
#include "models/fabric/memory_port.h"

namespace steppe {

/// A chip's control core: RV32IMC in machine mode with local memory from address 0, an external
/// interrupt and wfi; one instruction a cycle, bus accesses as long as the bus takes.
///
/// It runs ahead of simulated time by at most a quantum, and never past a bus access.
class ControlCore : public sc_core::sc_module {
 public:
  /// To all that is not local memory.
  MemoryPort bus;
  /// Local memory for others: addresses [0, memory_bytes()), direct memory.
  tlm_utils::multi_passthrough_target_socket<ControlCore> memory;

  SC_HAS_PROCESS(ControlCore);
  ControlCore(sc_core::sc_module_name name, const Scope& scope);

  /// Loads an ELF file and sets the reset address to its entry. Before the simulation starts.
  void load(std::span<const std::uint8_t> elf);
  void set_external_interrupt(bool line);
  [[nodiscard]] Bytes memory_bytes() const { return memory_.size(); }
  [[nodiscard]] std::uint32_t pc() const { return pc_; }

 private:
  enum class Trap : std::uint32_t {
    instruction_access = 1,
    illegal_instruction = 2,
    breakpoint = 3,
    load_access = 5,
    store_access = 7,
    call = 11,
    none = 0xffff'ffff,
  };
  void process();
  void run_quantum();
  bool fetch(std::uint32_t& word, std::uint32_t& length);
  Trap execute(std::uint32_t word, std::uint32_t& next);
  Trap load_store(std::uint32_t word);
  Trap system(std::uint32_t word, std::uint32_t& next);
  bool compute(std::uint32_t word, std::uint32_t a, std::uint32_t b, std::uint32_t& result) const;
  bool access(tlm::tlm_command command, std::uint32_t address, std::uint32_t& value,
              unsigned bytes);
  std::uint32_t* csr(std::uint32_t number);
  void enter_trap(std::uint32_t cause, std::uint32_t value);
  void synchronise();
  void sleep();

  void b_transport(int id, tlm::tlm_generic_payload& payload, sc_core::sc_time& delay);
  bool get_direct_mem_ptr(int id, tlm::tlm_generic_payload& payload, tlm::tlm_dmi& dmi);

  Param<double> clock_;
  Param<Bytes> memory_size_;
  Param<std::uint32_t> quantum_;
  std::uint64_t cycle_ps_;
  std::vector<std::uint8_t> memory_;
  std::array<std::uint32_t, 32> x_{};
  std::uint32_t pc_ = 0;
  std::uint32_t mstatus_ = 0, mie_ = 0, mip_ = 0, mtvec_ = 0, mepc_ = 0, mcause_ = 0, mtval_ = 0,
                mscratch_ = 0;
  std::uint64_t ahead_ = 0;  ///< cycles run that simulated time has not seen
  bool waiting_ = false;
  sc_core::sc_event interrupt_;
  Counter instructions_;
  Counter bus_accesses_;
  Counter busy_;
  Counter traps_;
};

}  // namespace steppe
