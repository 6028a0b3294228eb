// SPDX-License-Identifier: Apache-2.0
//
// A compute loop for measuring the control core's speed: a CRC, a small matrix product and an insertion sort
// over the same 1 KiB, so that arithmetic, multiplications, loads, stores and branches all have their share.
// Ends by writing 1 to `tohost` if the result is the one that the same C gives on any other machine.
typedef unsigned int u32;

volatile u32 tohost;

enum { WORDS = 256, SIDE = 16, ROUNDS = 4000 };
static const u32 expected = 0x698817c2u;
static u32 data[WORDS];
static u32 product[WORDS];

static u32 crc(u32 value) {
  for (u32 i = 0; i < WORDS; ++i) {
    value ^= data[i];
    for (u32 bit = 0; bit < 8; ++bit) value = value & 1 ? value >> 1 ^ 0xedb88320u : value >> 1;
  }
  return value;
}

static void multiply(void) {
  for (u32 row = 0; row < SIDE; ++row) {
    for (u32 column = 0; column < SIDE; ++column) {
      u32 sum = 0;
      for (u32 k = 0; k < SIDE; ++k) sum += data[row * SIDE + k] * data[k * SIDE + column];
      product[row * SIDE + column] = sum;
    }
  }
}

static void sort(u32* from, u32 count) {
  for (u32 i = 1; i < count; ++i) {
    const u32 value = from[i];
    u32 at = i;
    for (; at > 0 && from[at - 1] > value; --at) from[at] = from[at - 1];
    from[at] = value;
  }
}

int main(void) {
  u32 state = 1;
  for (u32 round = 0; round < ROUNDS; ++round) {
    for (u32 i = 0; i < WORDS; ++i) data[i] = state = state * 1664525u + 1013904223u;
    multiply();
    for (u32 row = 0; row < SIDE; ++row) sort(data + row * SIDE, SIDE);
    state = crc(state ^ product[round % WORDS]);
  }
  tohost = state == expected ? 1 : state << 1 | 1;
  for (;;) {
  }
}
