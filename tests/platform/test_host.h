// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tlm_utils/simple_target_socket.h>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <systemc>
#include <vector>

#include "models/base/address.h"
#include "models/control/registers.h"
#include "models/fabric/memory_port.h"
#include "models/fabric/transport.h"
#include "platform/preset.h"
#include "platform/server.h"

namespace steppe::test {

/// A completion entry as models/control/registers.def lays it out.
struct Completion {
  std::uint32_t command_id, status, sequence, fault_queue, fault_code, fault_tag;
  std::uint64_t fault_address;
};
static_assert(sizeof(Completion) == control::CQE_BYTES);

/// One queue's stream for `TestHost::load_program`, as text.
struct StreamText {
  std::uint32_t queue;
  std::string text;
};

/// A host with memory, rings for each chip and a handler of interrupt messages; what the runtime
/// does, as plainly as can be. The functions below `start` run in the test's own process and wait
/// there.
class TestHost : public sc_core::sc_module {
 public:
  MemoryPort mmio{"mmio"};
  tlm_utils::simple_target_socket<TestHost> socket{"socket"};

  TestHost(sc_core::sc_module_name name, Server& server);

  static constexpr std::uint32_t ring_entries = 4;
  /// Addresses from here on can be reserved and hold nothing, like the weights of a timing run.
  static constexpr std::uint64_t sizes_only = std::uint64_t{1} << 36;
  /// Free for tests: input, output and staging.
  static constexpr std::uint64_t data = 0x10'0000;

  std::uint8_t* memory(std::uint64_t offset) { return memory_.data() + offset; }
  static constexpr std::uint64_t address(std::uint64_t offset) {
    return address::host_bit | offset;
  }
  [[nodiscard]] std::uint64_t messages(std::uint32_t chip) const { return chips_[chip].messages; }

  /// Runs `body` as a process and the simulation to its end; fails the test if the body did not
  /// end.
  void run(const std::function<void()>& body);

  std::uint32_t read(std::uint32_t chip, std::uint32_t offset);
  void write(std::uint32_t chip, std::uint32_t offset, std::uint32_t value);
  /// Waits for the firmware and hands it its rings.
  void start(std::uint32_t chip);
  /// Puts a command into the ring and rings the doorbell; returns its id.
  std::uint32_t submit(std::uint32_t chip, std::uint32_t opcode, std::array<std::uint64_t, 5> args,
                       bool ring = true);
  void ring_doorbell(std::uint32_t chip);
  /// The next completion, in order; consumes it.
  Completion wait(std::uint32_t chip);
  /// submit, then wait.
  Completion command(std::uint32_t chip, std::uint32_t opcode, std::array<std::uint64_t, 5> args);
  /// Copies bytes to an address of the card by a command.
  void put(std::uint32_t chip, std::uint64_t to, const std::vector<std::uint8_t>& bytes);
  /// Assembles the streams into the chip's DRAM and loads them as the program of a slot.
  void load_program(std::uint32_t chip, std::uint32_t slot, const std::vector<StreamText>& streams);

 private:
  struct ChipState {
    std::uint32_t submitted = 0;
    std::uint32_t completed = 0;
    std::uint64_t messages = 0;
    std::uint64_t next_stream = 0;
    sc_core::sc_event message;
  };
  void b_transport(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay);
  bool get_direct_mem_ptr(tlm::tlm_generic_payload& payload, tlm::tlm_dmi& dmi);
  static constexpr std::uint64_t rings(std::uint32_t chip) { return 0x1000 * (chip + 1); }
  static constexpr std::uint64_t messages_at = 0x100;  ///< 4 bytes a chip

  std::vector<std::uint8_t> memory_;
  std::array<ChipState, 8> chips_;
};

/// A server by a preset with a host on it. Several of different names can share a simulation.
struct CardBench {
  std::string name;
  Config config;
  SimContext context;
  std::unique_ptr<Server> server;
  std::unique_ptr<TestHost> host;

  explicit CardBench(const std::string& preset, Mode mode = Mode::functional,
                     std::string its_name = "card")
      : name(std::move(its_name)), context{.config = config, .mode = mode} {
    load_preset(preset, config);
  }
  void build() {
    server = std::make_unique<Server>(name.c_str(), Scope(context, ""));
    host = std::make_unique<TestHost>((name + "_host").c_str(), *server);
  }
  [[nodiscard]] double stat(const std::string& path) const { return context.stats.value(path); }
};

}  // namespace steppe::test
