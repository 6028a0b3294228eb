// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tlm_utils/multi_passthrough_target_socket.h>

#include <cstdint>
#include <span>
#include <string>
#include <systemc>
#include <tlm>
#include <vector>

#include "models/base/param.h"
#include "models/fabric/memory_port.h"
#include "models/riscv/clint.h"
#include "models/riscv/core.h"
#include "models/riscv/plic.h"

namespace steppe {

/// A chip's control core: RV32IMAC with machine mode, local memory from address 0, a CLINT at
/// 0x0200'0000, a PLIC at 0x0c00'0000; the rest of the 32-bit address space is on the bus.
///
/// The core runs ahead of simulated time by at most a quantum (and the block it is in), and
/// synchronises before every access to the bus and before it sleeps in wfi. Bus accesses take whole
/// cycles of the core. Interrupts from outside are seen when it synchronises, the timer's on time.
class ControlCore : public sc_core::sc_module, private riscv::Bus {
 public:
  /// To all that is neither local memory nor CLINT.
  MemoryPort bus;
  /// Local memory for others: addresses [0, memory_bytes()), direct memory.
  tlm_utils::multi_passthrough_target_socket<ControlCore> memory;

  SC_HAS_PROCESS(ControlCore);
  ControlCore(sc_core::sc_module_name name, const Scope& scope, std::uint32_t hart = 0);

  /// Loads an ELF file and starts from its entry; `name` is what errors call it. Before the
  /// simulation starts. Throws ConfigError on a file that is damaged, of another kind, or too
  /// large.
  void load(std::span<const std::uint8_t> elf, const std::string& name = "firmware");
  /// The level of an interrupt line from outside, by its source at the PLIC. Source 1 is the
  /// control block's.
  void set_external_interrupt(bool line, unsigned source = 1);

  [[nodiscard]] Bytes memory_bytes() const { return memory_.size(); }
  [[nodiscard]] std::uint32_t pc() const { return core_.pc(); }
  [[nodiscard]] bool asleep() const { return asleep_; }
  /// Whether the program ran into an endless loop of traps, and why; the core does nothing any
  /// more.
  [[nodiscard]] bool halted() const { return !core_.halt_reason().empty(); }
  [[nodiscard]] const std::string& halt_reason() const { return core_.halt_reason(); }
  [[nodiscard]] const RiscvCore& core() const { return core_; }

 private:
  /// The cycles of each class of instructions, as parameters.
  struct TimingParams {
    explicit TimingParams(const Scope& scope);
    [[nodiscard]] riscv::Timing get() const;
    Param<std::uint32_t> alu, multiply, divide, load, store, atomic, system, taken_jump;
  };

  void process();
  void sleep();
  void synchronise();
  void update_lines(std::uint64_t now_ps);
  void count();
  [[nodiscard]] std::uint64_t cycles_ahead() const { return core_.cycles() - cycles_seen_; }
  /// The core's own time, at or after simulated time.
  [[nodiscard]] std::uint64_t local_ps() const;
  [[nodiscard]] std::uint64_t cycles_to_run() const;
  void add_statistics(const Scope& scope);

  void update_external();
  Answer read(std::uint32_t address, std::uint32_t& value, unsigned bytes) override;
  Answer write(std::uint32_t address, std::uint32_t value, unsigned bytes) override;
  Answer transfer(tlm::tlm_command command, std::uint32_t address, std::uint32_t& value,
                  unsigned bytes);
  void b_transport(int id, tlm::tlm_generic_payload& payload, sc_core::sc_time& delay);
  bool get_direct_mem_ptr(int id, tlm::tlm_generic_payload& payload, tlm::tlm_dmi& dmi);

  Param<double> clock_;
  Param<Bytes> memory_size_;
  Param<double> quantum_;
  Param<double> timer_clock_;
  TimingParams timing_;
  std::uint64_t cycle_ps_;
  std::uint64_t quantum_cycles_;
  std::vector<std::uint8_t> memory_;
  riscv::Clint clint_;
  riscv::Plic plic_;
  RiscvCore core_;

  /// What the counters below have taken in.
  struct {
    std::uint64_t instructions = 0, cycles = 0, traps = 0, interrupts = 0;
  } seen_;
  std::uint64_t cycles_seen_ = 0;  ///< the core's cycles that simulated time has seen
  bool asleep_ = false;
  std::uint64_t since_ps_ = 0;  ///< when it fell asleep or woke
  sc_core::sc_event interrupt_;

  Timeline* timeline_;
  Timeline::Track track_ = 0;
  Counter instructions_;
  Counter cycles_;
  Counter traps_;
  Counter interrupts_;
  Counter bus_accesses_;
  Counter busy_;
  std::uint64_t slept_ps_ = 0;            ///< up to the last waking
  std::uint64_t sleep_counted_from_ = 0;  ///< when statistics were reset last
};

}  // namespace steppe
