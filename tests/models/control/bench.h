// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <doctest/doctest.h>
#include <tlm_utils/simple_target_socket.h>

#include <cstring>
#include <functional>
#include <memory>
#include <vector>

#include "models/base/address.h"
#include "models/control/control_block.h"
#include "models/fabric/noc.h"
#include "models/isa/assembly.h"
#include "tests/models/fabric/bench.h"

namespace steppe::test {

/// Host memory that records the messages written to it.
struct HostMemory : sc_core::sc_module {
  tlm_utils::simple_target_socket<HostMemory> socket{"socket"};
  struct Message {
    std::uint64_t offset;
    std::uint32_t value;
  };
  std::vector<Message> messages;

  explicit HostMemory(sc_core::sc_module_name name) : sc_module(name) {
    socket.register_b_transport(this, &HostMemory::b_transport);
  }
  void b_transport(tlm::tlm_generic_payload& payload, sc_core::sc_time&) {
    payload.set_response_status(tlm::TLM_OK_RESPONSE);
    if (payload.get_data_ptr() == nullptr) return;
    Message message{payload.get_address() & ~address::host_bit, 0};
    std::memcpy(&message.value, payload.get_data_ptr(), sizeof message.value);
    messages.push_back(message);
  }
};

struct IdleUnit : ExecutionUnit {
  Fault execute(const Command& command) override {
    const auto* notify = std::get_if<isa::Notify>(&command.operation);
    if (notify == nullptr) return {};
    if (notify->value == 0xdead) return {FaultCode::bad_address, 0x1'2345'6789};
    sc_core::wait(notify->value, sc_core::SC_NS);
    return {};
  }
};

/// A control block of chip 2 with two queues (load, store) on a network with DRAM and the host.
struct ControlBench : Bench {
  IdleUnit unit;
  std::unique_ptr<SemaphoreFile> semaphores;
  std::vector<std::unique_ptr<Queue>> queues;
  std::unique_ptr<ControlBlock> control;
  std::unique_ptr<Noc> noc;
  std::unique_ptr<Dram> dram;
  HostMemory host{"host"};
  Initiator cpu{"cpu"};
  bool line = false;

  void build() {
    semaphores = std::make_unique<SemaphoreFile>("semaphores", scope.child("semaphores"));
    std::vector<Queue*> list;
    for (const isa::QueueKind kind : {isa::QueueKind::load, isa::QueueKind::store}) {
      const std::string name(isa::queue_names[static_cast<std::size_t>(kind)]);
      queues.push_back(
          std::make_unique<Queue>(name.c_str(), scope.child(name), 2, kind, *semaphores, unit));
      list.push_back(queues.back().get());
    }
    control =
        std::make_unique<ControlBlock>("control", scope.child("control"), 2, 3, *semaphores, list);
    control->on_interrupt = [this](bool rises) { line = rises; };
    noc = std::make_unique<Noc>("noc", scope.child("noc"), 2);
    dram = std::make_unique<Dram>("dram", scope.child("dram"), address::dram);
    const Noc::Port port = noc->add_port("all");
    for (MemoryPort* each :
         {&queues[0]->fetcher.port, &queues[1]->fetcher.port, &control->dma_port()}) {
      noc->add_initiator(port);
      each->socket.bind(noc->from);
    }
    noc->add_target(port, address::dram, dram->size());
    noc->to.bind(dram->socket);
    noc->add_outside_target(port);
    noc->to.bind(host.socket);
    cpu.socket.bind(control->socket);
    sc_core::sc_start(sc_core::SC_ZERO_TIME);  // sockets work from here on
  }
  bool try_write(std::uint64_t offset, std::uint32_t value, Bytes bytes = 4) {
    sc_core::sc_time delay;
    return cpu.write(address::control + offset, &value, bytes, delay);
  }
  bool try_read(std::uint64_t offset, Bytes bytes = 4) {
    std::uint64_t value = 0;
    sc_core::sc_time delay;
    return cpu.read(address::control + offset, &value, bytes, delay);
  }
  void write(std::uint64_t offset, std::uint32_t value) {
    INFO(offset);
    CHECK(try_write(offset, value));
  }
  std::uint32_t read(std::uint64_t offset) {
    std::uint32_t value = 0;
    sc_core::sc_time delay;
    INFO(offset);
    CHECK(cpu.read(address::control + offset, &value, 4, delay));
    return value;
  }
  static constexpr std::uint64_t queue(std::uint32_t number, std::uint32_t offset) {
    return control::QUEUE_REGISTERS + number * control::QUEUE_STRIDE + offset;
  }
  /// Puts a stream at DRAM + `at` and points the queue to it through its registers.
  void stream(std::uint32_t number, std::uint64_t at, const char* text) {
    const std::vector<std::uint8_t> bytes = isa::assemble(text, "test");
    std::uint8_t* to = control->dma_port().direct(address::dram + at, bytes.size());
    REQUIRE(to != nullptr);
    std::memcpy(to, bytes.data(), bytes.size());
    write(queue(number, control::queue::STREAM_LO), static_cast<std::uint32_t>(address::dram + at));
    write(queue(number, control::queue::STREAM_HI), (address::dram + at) >> 32);
    write(queue(number, control::queue::STREAM_BYTES), static_cast<std::uint32_t>(bytes.size()));
  }
  void run(const std::function<void()>& body) {
    bool ended = false;
    sc_core::sc_spawn([&] {
      body();
      ended = true;
    });
    sc_core::sc_start();
    CHECK(ended);
  }
};

inline void wait_ns(double ns) { sc_core::wait(ns, sc_core::SC_NS); }

}  // namespace steppe::test
