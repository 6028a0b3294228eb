// SPDX-License-Identifier: Apache-2.0
#include "tests/platform/test_host.h"

#include <doctest/doctest.h>

#include <cstring>

#include "models/isa/assembly.h"

namespace steppe::test {

namespace reg = control;

TestHost::TestHost(sc_core::sc_module_name name, Server& server)
    : sc_module(name), memory_(4 << 20, 0) {
  socket.register_b_transport(this, &TestHost::b_transport);
  socket.register_get_direct_mem_ptr(this, &TestHost::get_direct_mem_ptr);
  server.bind(socket, mmio.socket);
}

void TestHost::b_transport(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
  const std::uint64_t offset = payload.get_address() & ~address::host_bit;
  const std::uint64_t bytes = payload.get_data_length();
  if (offset >= sizes_only && payload.get_data_ptr() == nullptr) {
    payload.set_response_status(tlm::TLM_OK_RESPONSE);
    return;
  }
  if (offset >= memory_.size() || bytes > memory_.size() - offset) {
    payload.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
    return;
  }
  payload.set_response_status(tlm::TLM_OK_RESPONSE);
  if (payload.get_data_ptr() == nullptr) return;
  if (payload.is_read()) {
    std::memcpy(payload.get_data_ptr(), memory_.data() + offset, bytes);
    return;
  }
  std::memcpy(memory_.data() + offset, payload.get_data_ptr(), bytes);
  const std::uint64_t chip = (offset - messages_at) / 4;
  if (offset >= messages_at && chip < chips_.size()) {
    ++chips_[chip].messages;
    chips_[chip].message.notify(delay);
  }
}

bool TestHost::get_direct_mem_ptr(tlm::tlm_generic_payload&, tlm::tlm_dmi& dmi) {
  dmi.allow_read_write();
  dmi.set_start_address(address::host_bit);
  dmi.set_end_address(address::host_bit + memory_.size() - 1);
  dmi.set_dmi_ptr(memory_.data());
  return true;
}

void TestHost::run(const std::function<void()>& body) {
  bool ended = false;
  sc_core::sc_spawn([&] {
    body();
    ended = true;
  });
  sc_core::sc_start();
  CHECK_MESSAGE(ended, "the host waits for something that does not come");
}

std::uint32_t TestHost::read(std::uint32_t chip, std::uint32_t offset) {
  std::uint32_t value = 0;
  sc_core::sc_time delay;
  REQUIRE(mmio.read(address::on_chip(chip, address::control + offset), &value, 4, delay));
  sc_core::wait(delay);
  return value;
}

void TestHost::write(std::uint32_t chip, std::uint32_t offset, std::uint32_t value) {
  sc_core::sc_time delay;
  REQUIRE(mmio.write(address::on_chip(chip, address::control + offset), &value, 4, delay));
  sc_core::wait(delay);
}

void TestHost::start(std::uint32_t chip) {
  while (read(chip, reg::READY) == 0) sc_core::wait(1, sc_core::SC_US);
  REQUIRE(read(chip, reg::READY) == 1);
  constexpr auto high = static_cast<std::uint32_t>(address::host_bit >> 32);
  const auto low = static_cast<std::uint32_t>(rings(chip));
  write(chip, reg::SQ_BASE_LO, low);
  write(chip, reg::SQ_BASE_HI, high);
  write(chip, reg::SQ_ENTRIES, ring_entries);
  write(chip, reg::CQ_BASE_LO, low + ring_entries * reg::SQE_BYTES);
  write(chip, reg::CQ_BASE_HI, high);
  write(chip, reg::CQ_ENTRIES, ring_entries);
  write(chip, reg::MSIX_ADDRESS_LO, static_cast<std::uint32_t>(messages_at + 4 * chip));
  write(chip, reg::MSIX_ADDRESS_HI, high);
  write(chip, reg::MSIX_DATA, 0xabc0 + chip);
}

std::uint32_t TestHost::submit(std::uint32_t chip, std::uint32_t opcode,
                               std::array<std::uint64_t, 5> args, bool ring) {
  ChipState& state = chips_[chip];
  REQUIRE(state.submitted - state.completed < ring_entries);
  struct {
    std::uint32_t opcode, id;
    std::array<std::uint64_t, 5> args;
    std::uint64_t zero[2];
  } const entry{opcode, 1000 + state.submitted, args, {}};
  static_assert(sizeof entry == control::SQE_BYTES);
  std::memcpy(memory(rings(chip) + state.submitted % ring_entries * sizeof entry), &entry,
              sizeof entry);
  ++state.submitted;
  if (ring) ring_doorbell(chip);
  return entry.id;
}

void TestHost::ring_doorbell(std::uint32_t chip) {
  write(chip, reg::SQ_TAIL, chips_[chip].submitted);
}

Completion TestHost::wait(std::uint32_t chip) {
  ChipState& state = chips_[chip];
  Completion entry{};
  for (;;) {
    std::memcpy(&entry,
                memory(rings(chip) + ring_entries * reg::SQE_BYTES +
                       state.completed % ring_entries * sizeof entry),
                sizeof entry);
    if (entry.sequence == state.completed + 1) break;
    sc_core::wait(state.message);
  }
  ++state.completed;
  write(chip, reg::CQ_HEAD, state.completed);
  return entry;
}

Completion TestHost::command(std::uint32_t chip, std::uint32_t opcode,
                             std::array<std::uint64_t, 5> args) {
  const std::uint32_t id = submit(chip, opcode, args);
  const Completion completion = wait(chip);
  CHECK(completion.command_id == id);
  return completion;
}

void TestHost::put(std::uint32_t chip, std::uint64_t to, const std::vector<std::uint8_t>& bytes) {
  constexpr std::uint64_t staging = data + 0x10'0000;
  std::memcpy(memory(staging), bytes.data(), bytes.size());
  CHECK(command(chip, reg::OP_COPY, {address(staging), to, bytes.size()}).status == reg::STATUS_OK);
}

void TestHost::load_program(std::uint32_t chip, std::uint32_t slot,
                            const std::vector<StreamText>& streams) {
  constexpr std::uint64_t table = data + 0x18'0000;
  struct Entry {
    std::uint32_t queue, bytes;
    std::uint64_t address;
  };
  std::vector<Entry> entries;
  for (const StreamText& stream : streams) {
    const std::vector<std::uint8_t> bytes = isa::assemble(stream.text, "test");
    const std::uint64_t at = address::dram + 0x100'0000 + chips_[chip].next_stream;
    put(chip, at, bytes);
    chips_[chip].next_stream += align_up<std::uint64_t>(bytes.size(), 4096);
    entries.push_back({stream.queue, static_cast<std::uint32_t>(bytes.size()), at});
  }
  std::memcpy(memory(table), entries.data(), entries.size() * sizeof(Entry));
  CHECK(command(chip, reg::OP_LOAD_PROGRAM, {address(table), entries.size(), slot}).status ==
        reg::STATUS_OK);
}

}  // namespace steppe::test
