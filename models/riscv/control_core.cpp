// SPDX-License-Identifier: Apache-2.0
#include "models/riscv/control_core.h"

#include <algorithm>
#include <cstring>

#include "models/base/address.h"
#include "models/fabric/transport.h"
#include "models/riscv/elf.h"

namespace steppe {
namespace {

constexpr Range<std::uint32_t> cycles_of_a_class{1, 1000};

std::uint64_t period_ps(double hertz) {
  return std::max<std::uint64_t>(1, seconds_to_ps(1.0 / hertz));
}

}  // namespace

ControlCore::TimingParams::TimingParams(const Scope& scope)
    : alu(scope, "alu_cycles", 1, "", "cycles of arithmetic, and of a branch not taken",
          cycles_of_a_class),
      multiply(scope, "multiply_cycles", 1, "", "cycles of a multiplication", cycles_of_a_class),
      divide(scope, "divide_cycles", 34, "", "cycles of a division or remainder",
             cycles_of_a_class),
      load(scope, "load_cycles", 2, "", "cycles of a load from local memory", cycles_of_a_class),
      store(scope, "store_cycles", 1, "", "cycles of a store to local memory", cycles_of_a_class),
      atomic(scope, "atomic_cycles", 4, "", "cycles of an atomic", cycles_of_a_class),
      system(scope, "system_cycles", 3, "", "cycles of a CSR access or mret, and to enter a trap",
             cycles_of_a_class),
      taken_jump(scope, "taken_jump_cycles", 2, "", "cycles lost by a jump or taken branch",
                 {0, 1000}) {}

riscv::Timing ControlCore::TimingParams::get() const {
  return {alu, multiply, divide, load, store, atomic, system, taken_jump};
}

ControlCore::ControlCore(sc_core::sc_module_name name, const Scope& scope, std::uint32_t hart)
    : sc_module(name),
      bus("bus"),
      memory("memory"),
      clock_(scope, "clock", 900e6, "Hz", "of the core", {1e3, 1e11}),
      memory_size_(scope, "memory", 256 << 10, "B", "local memory, whole KiB", {4096, 1 << 24}),
      quantum_(scope, "quantum", 1e-6, "s", "how far it may run ahead of simulated time",
               {1e-9, 1.0}),
      timer_clock_(scope, "timer_clock", 10e6, "Hz", "rate of mtime", {1.0, 1e12}),
      timing_(scope),
      cycle_ps_(period_ps(clock_)),
      quantum_cycles_(std::max<std::uint64_t>(1, seconds_to_ps(quantum_) / cycle_ps_)),
      memory_(align_up<Bytes>(memory_size_, 1024), 0),
      clint_(period_ps(timer_clock_)),
      core_(memory_, static_cast<std::uint32_t>(address::core_memory), *this, timing_.get(), hart),
      timeline_(scope.timeline()) {
  if (memory_size_ % 1024 != 0) {
    throw ConfigError("{}.memory: {} is not a whole number of KiB", scope.path(),
                      memory_size_.get());
  }
  memory.register_b_transport(this, &ControlCore::b_transport);
  memory.register_get_direct_mem_ptr(this, &ControlCore::get_direct_mem_ptr);
  if (timeline_ != nullptr) track_ = timeline_->add_track(scope.path());
  add_statistics(scope);
  SC_THREAD(process);
}

void ControlCore::add_statistics(const Scope& scope) {
  scope.stat("instructions", "", "instructions executed", instructions_);
  scope.stat("cycles", "", "cycles not asleep, waiting for the bus included", cycles_);
  scope.stat("traps", "", "exceptions taken", traps_);
  scope.stat("interrupts", "", "interrupts taken", interrupts_);
  scope.stat("bus_accesses", "", "accesses outside local memory, CLINT and PLIC", bus_accesses_);
  scope.stat("busy", "ps", "time not asleep", busy_);
  scope.stat("sleep", "ps", "time asleep in wfi", [this] {
    const std::uint64_t from = std::max(since_ps_, sleep_counted_from_);
    return static_cast<double>(slept_ps_ + (asleep_ ? now_ps() - from : 0));
  });
  scope.context().stats.on_reset([this] {
    slept_ps_ = 0;
    sleep_counted_from_ = now_ps();
  });
}

void ControlCore::load(std::span<const std::uint8_t> elf, const std::string& name) {
  core_.reset(load_elf(elf, memory_, static_cast<std::uint32_t>(address::core_memory), name));
}

void ControlCore::set_external_interrupt(bool line, unsigned source) {
  plic_.set_line(source, line);
  update_external();
}

void ControlCore::update_external() {
  core_.set_interrupt(riscv::Interrupt::external, plic_.interrupt());
  if (plic_.interrupt()) interrupt_.notify(sc_core::SC_ZERO_TIME);
}

void ControlCore::process() {
  for (;;) {
    update_lines(local_ps());
    const RiscvCore::Stop stop = core_.run(core_.cycles() + cycles_to_run());
    count();
    if (stop == RiscvCore::Stop::halted) break;
    if (stop == RiscvCore::Stop::sleep) {
      sleep();
    } else if (cycles_ahead() >= quantum_cycles_) {
      synchronise();
    }
  }
  synchronise();
  if (timeline_ != nullptr) timeline_->slice(track_, "active", since_ps_, now_ps());
}

/// Sleeps until an interrupt is pending that mie enables.
void ControlCore::sleep() {
  synchronise();
  if (timeline_ != nullptr) timeline_->slice(track_, "active", since_ps_, now_ps());
  asleep_ = true;
  since_ps_ = now_ps();
  for (update_lines(since_ps_); !core_.wakes(); update_lines(now_ps())) {
    const std::uint64_t now = now_ps();
    const std::uint64_t timer = clint_.timer_at(now);
    if (timer == now || timer == riscv::Clint::never) {
      sc_core::wait(interrupt_);
    } else {
      sc_core::wait(from_ps(timer - now), interrupt_);
    }
  }
  const std::uint64_t now = now_ps();
  slept_ps_ += now - std::max(since_ps_, sleep_counted_from_);
  if (timeline_ != nullptr) timeline_->slice(track_, "sleep", since_ps_, now);
  asleep_ = false;
  since_ps_ = now;
}

std::uint64_t ControlCore::local_ps() const { return now_ps() + cycles_ahead() * cycle_ps_; }

/// Brings simulated time to where the core is.
void ControlCore::synchronise() {
  const std::uint64_t ps = cycles_ahead() * cycle_ps_;
  if (ps == 0) return;
  cycles_seen_ = core_.cycles();
  busy_ += ps;
  sc_core::wait(from_ps(ps));
}

void ControlCore::update_lines(std::uint64_t now) {
  core_.set_interrupt(riscv::Interrupt::timer, clint_.timer(now));
  core_.set_interrupt(riscv::Interrupt::software, clint_.software());
}

/// To the end of the quantum, or to the timer's next interrupt if that is earlier.
std::uint64_t ControlCore::cycles_to_run() const {
  const std::uint64_t now = local_ps();
  const std::uint64_t timer = clint_.timer_at(now);
  const std::uint64_t quantum = quantum_cycles_ - std::min(cycles_ahead(), quantum_cycles_ - 1);
  const bool none_ahead = timer == now || timer == riscv::Clint::never;
  return none_ahead ? quantum : std::min(quantum, ceil_div(timer - now, cycle_ps_));
}

void ControlCore::count() {
  const auto bring = [](Counter& counter, std::uint64_t& seen, std::uint64_t total) {
    counter += total - seen;
    seen = total;
  };
  bring(instructions_, seen_.instructions, core_.instructions());
  bring(cycles_, seen_.cycles, core_.cycles());
  bring(traps_, seen_.traps, core_.traps());
  bring(interrupts_, seen_.interrupts, core_.interrupts());
}

riscv::Bus::Answer ControlCore::read(std::uint32_t address, std::uint32_t& value, unsigned bytes) {
  const std::uint32_t offset = address - riscv::Clint::base;
  if (offset < riscv::Clint::bytes) {
    return {.ok = bytes == 4 && clint_.read(offset, value, local_ps()), .cycles = 0};
  }
  if (const std::uint32_t at = address - riscv::Plic::base; at < riscv::Plic::bytes) {
    const bool ok = bytes == 4 && plic_.read(at, value);
    update_external();
    return {.ok = ok, .cycles = 0};
  }
  return transfer(tlm::TLM_READ_COMMAND, address, value, bytes);
}

riscv::Bus::Answer ControlCore::write(std::uint32_t address, std::uint32_t value, unsigned bytes) {
  const std::uint32_t offset = address - riscv::Clint::base;
  if (offset < riscv::Clint::bytes) {
    return {.ok = bytes == 4 && clint_.write(offset, value, local_ps()), .cycles = 0};
  }
  if (const std::uint32_t at = address - riscv::Plic::base; at < riscv::Plic::bytes) {
    const bool ok = bytes == 4 && plic_.write(at, value);
    update_external();
    return {.ok = ok, .cycles = 0};
  }
  return transfer(tlm::TLM_WRITE_COMMAND, address, value, bytes);
}

riscv::Bus::Answer ControlCore::transfer(tlm::tlm_command command, std::uint32_t address,
                                         std::uint32_t& value, unsigned bytes) {
  synchronise();
  ++bus_accesses_;
  const std::uint64_t start = now_ps();
  sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
  const bool ok = command == tlm::TLM_READ_COMMAND ? bus.read(address, &value, bytes, delay)
                                                   : bus.write(address, &value, bytes, delay);
  // The target may have waited itself; what it took in all is rounded up to whole cycles.
  const std::uint64_t waited = now_ps() - start;
  const std::uint64_t cycles = ceil_div(waited + to_ps(delay), cycle_ps_);
  const std::uint64_t ps = cycles * cycle_ps_;
  sc_core::wait(from_ps(ps - waited));
  busy_ += ps;
  cycles_seen_ += cycles;
  return {.ok = ok, .cycles = cycles};
}

void ControlCore::b_transport(int, tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
  const std::uint64_t address = payload.get_address();
  const unsigned bytes = payload.get_data_length();
  if (address >= memory_.size() || bytes > memory_.size() - address) {
    payload.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
    return;
  }
  std::uint8_t* at = memory_.data() + address;
  std::uint8_t* data = payload.get_data_ptr();
  if (data != nullptr && payload.is_write()) {
    std::memcpy(at, data, bytes);
    core_.memory_changed(static_cast<std::uint32_t>(address), bytes);
  } else if (data != nullptr) {
    std::memcpy(data, at, bytes);
  }
  delay += from_ps(cycle_ps_);
  payload.set_response_status(tlm::TLM_OK_RESPONSE);
}
bool ControlCore::get_direct_mem_ptr(int, tlm::tlm_generic_payload& payload, tlm::tlm_dmi& dmi) {
  if (payload.get_address() >= memory_.size()) return false;
  dmi.allow_read_write();
  dmi.set_start_address(0);
  dmi.set_end_address(memory_.size() - 1);
  dmi.set_dmi_ptr(memory_.data());
  return true;
}

}  // namespace steppe
