// SPDX-License-Identifier: Apache-2.0
//
// Firmware of a chip's control core: takes commands from the submission ring in host memory, copies,
// loads programs and runs them on the queues, and reports each command in the completion ring.
//
// It sleeps in `wfi` with interrupts disabled in mstatus: a pending and enabled interrupt wakes the core
// without a trap, and what woke it is read from IRQ_PENDING.
#include "registers.h"

typedef unsigned int u32;
typedef unsigned long long u64;

#define CONTROL_BASE 0x10000000u
#define REG(offset) (*(volatile u32*)(CONTROL_BASE + (offset)))
#define QUEUE(number, offset) REG(QUEUE_REGISTERS + (number) * QUEUE_STRIDE + (offset))

enum { SQE_BATCH = 8, MAX_PROGRAM_ENTRIES = 512 };

struct submission {
  u32 opcode;
  u32 command_id;
  u64 argument[5];
  u64 zero[2];
};

struct completion {
  u32 command_id;
  u32 status;
  u32 sequence;
  u32 fault_queue;
  u32 fault_code;
  u32 fault_tag;
  u64 fault_address;
};

struct program_entry {
  u32 queue;
  u32 bytes;
  u64 address;
};

struct program {
  u32 entries;
  struct program_entry entry[MAX_PROGRAM_ENTRIES];
};

_Static_assert(sizeof(struct submission) == SQE_BYTES, "layout of a submission");
_Static_assert(sizeof(struct completion) == CQE_BYTES, "layout of a completion");
_Static_assert(sizeof(struct program_entry) == PROGRAM_ENTRY_BYTES, "layout of a program entry");

struct batch {
  struct submission entry[SQE_BATCH];
  u32 count;
};

static struct batch batches[2];           // the one at hand, and the next as far as it is fetched
static struct completion report;
static struct program programs[PROGRAM_SLOTS];
static u32 current_slot = PROGRAM_SLOTS;  // none
static u32 sq_head;                       // entries taken
static u32 completions;                   // entries posted
static const struct submission* staged;   // run whose input has been copied ahead

// The compiler makes calls to this for structures.
void* memset(void* to, int value, unsigned long bytes) {
  unsigned char* at = to;
  while (bytes-- != 0) *at++ = (unsigned char)value;
  return to;
}

// Sleeps until one of the sources in `mask` is pending; acknowledges and returns those that are.
static u32 wait_for(u32 mask) {
  u32 pending;
  REG(IRQ_ENABLE) = mask;
  while ((pending = REG(IRQ_PENDING) & mask) == 0) __asm__ volatile("wfi");
  REG(IRQ_PENDING) = pending;
  return pending;
}

static void start_copy(u64 from, u64 to, u64 bytes) {
  REG(DMA_SRC_LO) = (u32)from;
  REG(DMA_SRC_HI) = (u32)(from >> 32);
  REG(DMA_DST_LO) = (u32)to;
  REG(DMA_DST_HI) = (u32)(to >> 32);
  REG(DMA_BYTES_LO) = (u32)bytes;
  REG(DMA_BYTES_HI) = (u32)(bytes >> 32);
  REG(DMA_START) = 1;
}

// Copies with the control DMA; 0 on an address error.
static int copy(u64 from, u64 to, u64 bytes) {
  start_copy(from, to, bytes);
  wait_for(IRQ_DMA);
  return REG(DMA_STATUS) == 2;
}

static u64 local(const void* at) { return (u64)(u32)at; }

static u64 register_pair(u32 low) { return REG(low) | (u64)REG(low + 4) << 32; }

static void complete(u32 command_id, u32 status) {
  while (completions - REG(CQ_HEAD) >= REG(CQ_ENTRIES)) wait_for(IRQ_DOORBELL);
  const u32 index = completions & (REG(CQ_ENTRIES) - 1);
  report.command_id = command_id;
  report.status = status;
  report.sequence = ++completions;
  copy(local(&report), register_pair(CQ_BASE_LO) + (u64)index * CQE_BYTES, CQE_BYTES);
  REG(MSIX_RAISE) = 1;
}

static u32 load_program(const struct submission* command) {
  const u64 entries = command->argument[1];
  const u64 slot = command->argument[2];
  if (slot >= PROGRAM_SLOTS || entries > MAX_PROGRAM_ENTRIES) return STATUS_BAD_COMMAND;
  struct program* program = &programs[slot];
  program->entries = 0;
  current_slot = PROGRAM_SLOTS;
  if (entries != 0 &&
      !copy(command->argument[0], local(program->entry), entries * PROGRAM_ENTRY_BYTES)) {
    return STATUS_BAD_ADDRESS;
  }
  const u32 queues = REG(QUEUES);
  for (u32 i = 0; i < entries; ++i) {
    // An empty stream would start nothing, and its end would be waited for.
    if (program->entry[i].queue >= queues || program->entry[i].bytes == 0) {
      return STATUS_BAD_COMMAND;
    }
  }
  program->entries = (u32)entries;
  return STATUS_OK;
}

// Points the queues to the streams of a program; queues without one are left out of START_ALL.
static void select_program(u32 slot) {
  const u32 queues = REG(QUEUES);
  for (u32 queue = 0; queue < queues; ++queue) QUEUE(queue, STREAM_BYTES) = 0;
  const struct program* program = &programs[slot];
  for (u32 i = 0; i < program->entries; ++i) {
    const struct program_entry* entry = &program->entry[i];
    QUEUE(entry->queue, STREAM_LO) = (u32)entry->address;
    QUEUE(entry->queue, STREAM_HI) = (u32)(entry->address >> 32);
    QUEUE(entry->queue, STREAM_BYTES) = entry->bytes;
  }
  current_slot = slot;
}

static void broadcast_base(u32 index, u64 value) {
  REG(BROADCAST_BASE_INDEX) = index;
  REG(BROADCAST_BASE_LO) = (u32)value;
  REG(BROADCAST_BASE_HI) = (u32)(value >> 32);
}

static void read_fault(void) {
  const u32 queue = REG(FAULT_QUEUE);
  report.fault_queue = queue;
  report.fault_code = QUEUE(queue, FAULT_CODE);
  report.fault_tag = QUEUE(queue, FAULT_TAG);
  report.fault_address = QUEUE(queue, FAULT_ADDRESS_LO) | (u64)QUEUE(queue, FAULT_ADDRESS_HI) << 32;
}

// While a program runs, the control DMA copies the input of the run behind it to where its submission
// says, so that it need not wait for the host's link.
static u32 run(const struct submission* command, const struct submission* next) {
  const u64 slot = command->argument[0];
  if (slot >= PROGRAM_SLOTS) return STATUS_BAD_COMMAND;
  if (programs[slot].entries == 0) return STATUS_OK;
  if (current_slot != slot) select_program((u32)slot);
  broadcast_base(BASE_INPUT, command->argument[staged == command ? 4 : 1]);
  broadcast_base(BASE_OUTPUT, command->argument[2]);
  staged = 0;
  const int ahead = next != 0 && next->opcode == OP_RUN && next->argument[3] != 0;
  REG(IRQ_PENDING) = IRQ_QUEUES_DONE | IRQ_FAULT;
  REG(START_ALL) = 1;
  if (ahead) start_copy(next->argument[1], next->argument[4], next->argument[3]);
  u32 pending = 0;
  while ((pending & (IRQ_QUEUES_DONE | IRQ_FAULT)) == 0 || (ahead && (pending & IRQ_DMA) == 0)) {
    pending |= wait_for(IRQ_QUEUES_DONE | IRQ_FAULT | IRQ_DMA);
  }
  if (ahead && REG(DMA_STATUS) == 2) staged = next;
  if ((pending & IRQ_FAULT) == 0) return STATUS_OK;

  read_fault();
  const u32 queues = REG(QUEUES);
  for (u32 queue = 0; queue < queues; ++queue) QUEUE(queue, CONTROL) = 2;
  // A queue stops at the end of its instruction and may signal until then.
  while (REG(QUEUES_RUNNING) != 0) wait_for(IRQ_QUEUES_DONE);
  REG(SEMAPHORE_RESET) = 1;
  return STATUS_QUEUE_FAULT;
}

static u32 execute(const struct submission* command, const struct submission* next) {
  switch (command->opcode) {
    case OP_COPY:
      return copy(command->argument[0], command->argument[1], command->argument[2])
                 ? STATUS_OK
                 : STATUS_BAD_ADDRESS;
    case OP_LOAD_PROGRAM:
      return load_program(command);
    case OP_RUN:
      return run(command, next);
    default:
      return STATUS_BAD_COMMAND;
  }
}

// Fetches what stands contiguously in the ring, up to a batch; 0 where the ring cannot be read.
static int fetch(struct batch* batch) {
  const u32 tail = REG(SQ_TAIL);
  const u32 entries = REG(SQ_ENTRIES);
  const u32 index = sq_head & (entries - 1);
  u32 count = tail - sq_head;
  if (count > entries - index) count = entries - index;
  if (count > SQE_BATCH) count = SQE_BATCH;
  batch->count = 0;
  if (count == 0) return 1;
  if (!copy(register_pair(SQ_BASE_LO) + (u64)index * SQE_BYTES, local(batch->entry),
            count * SQE_BYTES)) {
    return 0;
  }
  sq_head += count;
  batch->count = count;
  return 1;
}

// The ring itself cannot be read: nobody to tell but the register.
static void give_up(void) {
  REG(READY) = 2;
  for (;;) wait_for(IRQ_DOORBELL);
}

int main(void) {
  REG(READY) = 1;
  struct batch* batch = &batches[0];
  struct batch* behind = &batches[1];
  for (;;) {
    while (batch->count == 0) {
      while (REG(SQ_TAIL) == sq_head) wait_for(IRQ_DOORBELL);
      if (!fetch(batch)) give_up();
    }
    behind->count = 0;
    for (u32 i = 0; i < batch->count; ++i) {
      const struct submission* next = &batch->entry[i + 1];
      if (i + 1 == batch->count) {
        if (!fetch(behind)) give_up();
        next = behind->count != 0 ? &behind->entry[0] : 0;
      }
      memset(&report, 0, sizeof report);
      complete(batch->entry[i].command_id, execute(&batch->entry[i], next));
    }
    struct batch* done = batch;
    batch = behind;
    behind = done;
  }
}
