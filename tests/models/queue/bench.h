// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <doctest/doctest.h>
#include <tlm_utils/multi_passthrough_target_socket.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "models/base/address.h"
#include "models/isa/assembly.h"
#include "models/queue/queue.h"
#include "tests/models/fabric/bench.h"

namespace steppe::test {

/// Takes as many nanoseconds as a notify's value says, and faults on the value 0xdead.
struct FakeUnit : ExecutionUnit {
  std::vector<std::uint64_t> addresses;
  Fault execute(const Command& command) override {
    const auto* notify = std::get_if<isa::Notify>(&command.operation);
    if (notify == nullptr) return {};
    const std::uint64_t address = command.address(notify->dst_base, notify->dst_offset);
    if (notify->value == 0xdead) return {FaultCode::bad_address, address};
    addresses.push_back(address);
    sc_core::wait(notify->value, sc_core::SC_NS);
    return {};
  }
};

/// Where streams lie: a memory that passes a byte in `ps_per_byte`, one transaction after the
/// other.
struct StreamMemory : sc_core::sc_module {
  static constexpr std::uint64_t begin = address::dram;
  tlm_utils::multi_passthrough_target_socket<StreamMemory> socket{"socket"};
  std::vector<std::uint8_t> bytes = std::vector<std::uint8_t>(1 << 20);
  std::uint64_t ps_per_byte = 0;
  std::uint64_t fetched = 0;

  explicit StreamMemory(sc_core::sc_module_name name) : sc_module(name) {
    socket.register_b_transport(this, &StreamMemory::b_transport);
  }
  void b_transport(int, tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
    const std::uint64_t offset = payload.get_address() - begin;
    const Bytes length = payload.get_data_length();
    if (offset >= bytes.size() || length > bytes.size() - offset) {
      payload.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
      return;
    }
    std::memcpy(payload.get_data_ptr(), bytes.data() + offset, length);
    fetched += length;
    free_at_ = std::max(free_at_, now_ps()) + length * ps_per_byte;
    delay += from_ps(free_at_ - now_ps());
    payload.set_response_status(tlm::TLM_OK_RESPONSE);
  }

 private:
  std::uint64_t free_at_ = 0;
};

/// Queues before a memory that answers at once, so that what is measured is theirs: 5 ns to issue
/// an instruction, 10 ns from a signal to the start of who waited.
struct QueueBench : Bench {
  std::unique_ptr<SemaphoreFile> semaphores;
  StreamMemory memory{"memory"};
  FakeUnit unit;
  std::vector<std::unique_ptr<Queue>> queues;
  std::uint64_t next_stream = StreamMemory::begin;

  void build(std::vector<isa::QueueKind> kinds) {
    semaphores = std::make_unique<SemaphoreFile>("semaphores", scope.child("semaphores"));
    for (const isa::QueueKind kind : kinds) {
      const std::string name(isa::queue_names[static_cast<std::size_t>(kind)]);
      queues.push_back(
          std::make_unique<Queue>(name.c_str(), scope.child(name), 0, kind, *semaphores, unit));
      queues.back()->fetcher.port.socket.bind(memory.socket);
    }
  }
  /// Puts a stream into memory and points the queue to it.
  void load(Queue& queue, const std::vector<std::uint8_t>& bytes) {
    std::memcpy(memory.bytes.data() + (next_stream - StreamMemory::begin), bytes.data(),
                bytes.size());
    queue.stream_address = next_stream;
    queue.stream_bytes = static_cast<std::uint32_t>(bytes.size());
    next_stream += align_up<std::uint64_t>(bytes.size(), 4096);
  }
  void load(Queue& queue, const std::string& text) { load(queue, isa::assemble(text, "test")); }
  void start(Queue& queue, const std::string& text) {
    load(queue, text);
    CHECK(queue.start());
  }
  /// Sum of all that a queue's time can go to.
  [[nodiscard]] double accounted(const std::string& queue) const {
    double sum = 0;
    for (const char* part : {"busy", "idle", "unfinished", "stall_fetch"}) {
      sum += stat(queue + "." + part);
    }
    for (const std::string_view giver : giver_names) {
      sum += stat(queue + ".stall_" + std::string(giver));
    }
    return sum;
  }
};

/// Runs `body` as a process, and the simulation until nothing happens any more.
inline void simulate(const std::function<void()>& body) {
  bool ended = false;
  sc_core::sc_spawn([&] {
    body();
    ended = true;
  });
  sc_core::sc_start();
  CHECK_MESSAGE(ended, "the test waits for something that does not come");
}

}  // namespace steppe::test
