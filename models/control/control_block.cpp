// SPDX-License-Identifier: Apache-2.0
#include "models/control/control_block.h"

#include <cstring>

#include "models/base/address.h"
#include "models/fabric/transport.h"

namespace steppe {
namespace {

namespace reg = control;

static_assert(address::semaphores == address::control + control::SEMAPHORE);
static_assert(isa::base_input == control::BASE_INPUT && isa::base_output == control::BASE_OUTPUT);

constexpr std::uint32_t semaphores_end = reg::SEMAPHORE + 4 * SemaphoreFile::count;
constexpr std::uint32_t bank_bytes = reg::SEMAPHORE;

enum : std::uint32_t { dma_idle = 0, dma_running = 1, dma_done = 2, dma_error = 3 };

const control::Access* access_of(std::uint32_t offset) {
  using control::Access;
  struct Entry {
    std::uint32_t offset;
    Access access;
  };
#define STEPPE_ENTRY(name, offset, access, doc) {offset, Access::access},
  static constexpr Entry entries[] = {STEPPE_CONTROL_REGISTERS(STEPPE_ENTRY)};
#undef STEPPE_ENTRY
  for (const Entry& entry : entries) {
    if (entry.offset == offset) return &entry.access;
  }
  return nullptr;
}

void set_low(std::uint64_t& value, std::uint32_t low) { value = (value & ~0xffffffffULL) | low; }
void set_high(std::uint64_t& value, std::uint32_t high) {
  value = (value & 0xffffffffULL) | std::uint64_t{high} << 32;
}

}  // namespace

ControlBlock::ControlBlock(sc_core::sc_module_name name, const Scope& scope, std::uint32_t chip,
                           std::uint32_t clusters, SemaphoreFile& semaphores,
                           std::vector<Queue*> queues)
    : sc_module(name),
      socket("socket"),
      chip_(chip),
      semaphores_(semaphores),
      queues_(std::move(queues)),
      dma_("dma", scope.child("dma"), Dma::Values::where_there_are),
      access_latency_(scope, "access_latency", 10e-9, "s", "of a register", {0, 1e-3}),
      access_time_(access_latency_, sc_core::SC_SEC),
      registers_(bank_bytes / 4, 0) {
  socket.register_b_transport(this, &ControlBlock::b_transport);
  at(reg::CHIP_ID) = chip_;
  at(reg::CLUSTERS) = clusters;
  at(reg::QUEUES) = static_cast<std::uint32_t>(queues_.size());
  for (Queue* queue : queues_) {
    queue->base[reg::BASE_DRAM] = address::dram;
    queue->on_stop = [this](Queue& stopped) { queue_stopped(stopped); };
  }
  scope.stat("doorbells", "", "doorbells the host rang", doorbells_);
  scope.stat("messages", "", "MSI-X messages sent", messages_);
  SC_THREAD(dma_process);
}

void ControlBlock::b_transport(int, tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
  const std::uint64_t address = payload.get_address() - address::control;
  const unsigned bytes = payload.get_data_length();
  payload.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
  if (address >= reg::CONTROL_BYTES || bytes > reg::CONTROL_BYTES - address) return;
  if (payload.get_data_ptr() == nullptr) {
    // A probe or a reservation: registers take no values that way, but the time.
    payload.set_response_status(tlm::TLM_OK_RESPONSE);
    delay += access_time_;
    return;
  }
  if (bytes != 4 || address % 4 != 0) {
    payload.set_response_status(tlm::TLM_BURST_ERROR_RESPONSE);
    return;
  }
  const auto offset = static_cast<std::uint32_t>(address);
  std::uint32_t value = 0;
  bool granted = false;
  if (payload.is_write()) {
    std::memcpy(&value, payload.get_data_ptr(), sizeof value);
    granted = write(offset, value);
  } else {
    granted = read(offset, value);
    std::memcpy(payload.get_data_ptr(), &value, sizeof value);
  }
  if (granted) payload.set_response_status(tlm::TLM_OK_RESPONSE);
  delay += access_time_;
}

Queue* ControlBlock::queue_at(std::uint32_t& offset) {
  if (offset < reg::QUEUE_REGISTERS) return nullptr;
  const std::uint32_t number = (offset - reg::QUEUE_REGISTERS) / reg::QUEUE_STRIDE;
  if (number >= queues_.size()) return nullptr;
  offset = (offset - reg::QUEUE_REGISTERS) % reg::QUEUE_STRIDE;
  return queues_[number];
}

bool ControlBlock::read(std::uint32_t offset, std::uint32_t& value) {
  std::uint32_t inner = offset;
  if (Queue* queue = queue_at(inner)) return read_queue(*queue, inner, value);
  const control::Access* access = access_of(offset);
  if (access == nullptr || *access == control::Access::wo) return false;
  value = offset == reg::QUEUES_RUNNING ? running_ : at(offset);
  return true;
}

bool ControlBlock::write(std::uint32_t offset, std::uint32_t value) {
  std::uint32_t inner = offset;
  if (Queue* queue = queue_at(inner)) return write_queue(*queue, inner, value);
  if (offset >= reg::SEMAPHORE && offset < semaphores_end) {
    semaphores_.give((offset - reg::SEMAPHORE) / 4, value, Giver::remote);
    return true;
  }
  const control::Access* access = access_of(offset);
  if (access == nullptr || *access == control::Access::ro) return false;
  switch (offset) {
    case reg::IRQ_PENDING:
      at(offset) &= ~value;
      update_interrupt();
      return true;
    case reg::IRQ_ENABLE:
      at(offset) = value;
      update_interrupt();
      return true;
    case reg::SQ_TAIL:
    case reg::CQ_HEAD:
      at(offset) = value;
      ++doorbells_;
      raise(reg::IRQ_DOORBELL);
      return true;
    case reg::MSIX_RAISE:
      if (value == 1) {
        message_pending_ = true;
        send_message();
      }
      return true;
    case reg::MSIX_MASK:
      at(offset) = value;
      send_message();
      return true;
    case reg::DMA_START:
      if (value == 1 && at(reg::DMA_STATUS) != dma_running) {
        at(reg::DMA_STATUS) = dma_running;
        dma_start_.notify(sc_core::SC_ZERO_TIME);
      }
      return true;
    case reg::BROADCAST_BASE_HI:
      for (Queue* queue : queues_) {
        queue->base[at(reg::BROADCAST_BASE_INDEX) % isa::base_registers] =
            at(reg::BROADCAST_BASE_LO) | std::uint64_t{value} << 32;
      }
      return true;
    case reg::SEMAPHORE_RESET:
      if (value == 1) semaphores_.reset();
      return true;
    case reg::START_ALL:
      for (Queue* queue : queues_) {
        if (value == 1 && queue->stream_bytes != 0) start(*queue);
      }
      return true;
    default:
      at(offset) = value;
      return true;
  }
}

bool ControlBlock::read_queue(Queue& queue, std::uint32_t offset, std::uint32_t& value) {
  namespace q = control::queue;
  if (offset >= q::BASE && offset < q::BASE + 8 * isa::base_registers && offset % 4 == 0) {
    const std::uint64_t base = queue.base[(offset - q::BASE) / 8];
    value = static_cast<std::uint32_t>(offset % 8 == 0 ? base : base >> 32);
    return true;
  }
  switch (offset) {
    case q::STATUS:
      value = static_cast<std::uint32_t>(queue.status());
      return true;
    case q::STREAM_LO:
      value = static_cast<std::uint32_t>(queue.stream_address);
      return true;
    case q::STREAM_HI:
      value = static_cast<std::uint32_t>(queue.stream_address >> 32);
      return true;
    case q::STREAM_BYTES:
      value = queue.stream_bytes;
      return true;
    case q::FAULT_CODE:
      value = static_cast<std::uint32_t>(queue.fault().code);
      return true;
    case q::FAULT_OFFSET:
      value = queue.fault().offset;
      return true;
    case q::FAULT_TAG:
      value = queue.fault().tag;
      return true;
    case q::FAULT_ADDRESS_LO:
      value = static_cast<std::uint32_t>(queue.fault().address);
      return true;
    case q::FAULT_ADDRESS_HI:
      value = static_cast<std::uint32_t>(queue.fault().address >> 32);
      return true;
    default:
      return false;
  }
}

bool ControlBlock::write_queue(Queue& queue, std::uint32_t offset, std::uint32_t value) {
  namespace q = control::queue;
  if (offset >= q::BASE && offset < q::BASE + 8 * isa::base_registers && offset % 4 == 0) {
    std::uint64_t& base = queue.base[(offset - q::BASE) / 8];
    offset % 8 == 0 ? set_low(base, value) : set_high(base, value);
    return true;
  }
  switch (offset) {
    case q::CONTROL:
      if (value == 1) start(queue);
      if (value == 2) queue.abort();
      return true;
    case q::STREAM_LO:
      set_low(queue.stream_address, value);
      return true;
    case q::STREAM_HI:
      set_high(queue.stream_address, value);
      return true;
    case q::STREAM_BYTES:
      queue.stream_bytes = value;
      return true;
    default:
      return false;
  }
}

void ControlBlock::raise(std::uint32_t sources) {
  at(reg::IRQ_PENDING) |= sources;
  update_interrupt();
}

void ControlBlock::update_interrupt() {
  const bool line = (at(reg::IRQ_PENDING) & at(reg::IRQ_ENABLE)) != 0;
  if (line == line_) return;
  line_ = line;
  if (on_interrupt) on_interrupt(line);
}

void ControlBlock::start(Queue& queue) {
  if (queue.start()) ++running_;
}

void ControlBlock::queue_stopped(Queue& queue) {
  --running_;
  if (queue.status() == QueueStatus::fault && (at(reg::IRQ_PENDING) & reg::IRQ_FAULT) == 0) {
    for (std::uint32_t number = 0; number < queues_.size(); ++number) {
      if (queues_[number] == &queue) at(reg::FAULT_QUEUE) = number;
    }
    raise(reg::IRQ_FAULT);
  }
  if (running_ == 0) raise(reg::IRQ_QUEUES_DONE);
}

/// A posted write behind those of the control DMA, which has completed when firmware asks for this.
/// While messages are masked, one stays pending and goes out when the mask is lifted.
void ControlBlock::send_message() {
  const std::uint64_t to = pair(reg::MSIX_ADDRESS_LO);
  if (!message_pending_ || at(reg::MSIX_MASK) != 0) return;
  message_pending_ = false;
  if (!address::is_host(to)) return;  // not set up: there is nobody to tell
  ++messages_;
  sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
  const std::uint32_t message = at(reg::MSIX_DATA);
  // A wrong address is the host's own mistake; the write is lost, as on a real bus.
  (void)dma_.port.write(to, &message, sizeof message, delay);
}

void ControlBlock::dma_process() {
  for (;;) {
    wait(dma_start_);
    const Fault fault =
        dma_.copy(pair(reg::DMA_SRC_LO), pair(reg::DMA_DST_LO), pair(reg::DMA_BYTES_LO));
    at(reg::DMA_STATUS) = fault ? dma_error : dma_done;
    raise(reg::IRQ_DMA);
  }
}

}  // namespace steppe
