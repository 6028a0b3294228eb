// SPDX-License-Identifier: Apache-2.0
//
// What moves values without computing: lut, permute, gather, scatter.
#include <algorithm>

#include "models/numerics/bf16.h"
#include "models/vector/elements.h"
#include "models/vector/vector_kernels.h"

namespace steppe::vector_kernels {
namespace {

template <std::size_t bytes>
void move_items(const std::uint8_t* from, std::int64_t in_step, std::uint8_t* to,
                std::int64_t out_step, std::uint32_t count) {
  for (std::uint32_t i = 0; i < count; ++i) {
    std::array<std::uint8_t, bytes> item;
    std::memcpy(item.data(), from + std::int64_t{i} * in_step, bytes);
    std::memcpy(to + std::int64_t{i} * out_step, item.data(), bytes);
  }
}

void move_row(std::uint32_t bytes, const std::uint8_t* from, std::int64_t in_step, std::uint8_t* to,
              std::int64_t out_step, std::uint32_t count) {
  if (in_step == bytes && out_step == bytes) {
    std::memmove(to, from, std::size_t{count} * bytes);
  } else if (bytes == 1) {
    move_items<1>(from, in_step, to, out_step, count);
  } else if (bytes == 2) {
    move_items<2>(from, in_step, to, out_step, count);
  } else {
    move_items<4>(from, in_step, to, out_step, count);
  }
}

void add_row(const isa::Scatter& op, const std::uint8_t* from, std::uint8_t* to) {
  for (std::uint32_t i = 0; i < op.elements; ++i) {
    const std::size_t at = std::size_t{i} * item_bytes(op.type);
    if (op.type == fp32) {
      const float sum = read_as<float>(to + at) + read_as<float>(from + at);
      write_as(to + at, numerics::canonical(sum));
    } else if (op.type == bf16) {
      const float sum = numerics::to_float(read_as<numerics::Bf16>(to + at)) +
                        numerics::to_float(read_as<numerics::Bf16>(from + at));
      write_as(to + at, numerics::to_bf16(sum));
    } else {
      write_as(to + at, read_as<std::uint32_t>(to + at) + read_as<std::uint32_t>(from + at));
    }
  }
}

}  // namespace

void run(const isa::Lut& op, const std::uint8_t* in, const std::uint8_t* table, std::uint8_t* out) {
  for (std::uint32_t row = 0; row < op.rows; ++row) {
    const std::uint8_t* from = in + std::size_t{row} * op.in_pitch;
    std::uint8_t* to = out + std::size_t{row} * op.out_pitch;
    for (std::uint32_t i = 0; i < op.elements; ++i) to[i] = table[from[i] ^ 0x80U];
  }
}

void run(const isa::Permute& op, const std::uint8_t* in, std::uint8_t* out) {
  const std::uint32_t bytes = 1U << op.item;
  for (std::uint32_t i0 = 0; i0 < op.size0; ++i0) {
    for (std::uint32_t i1 = 0; i1 < op.size1; ++i1) {
      for (std::uint32_t i2 = 0; i2 < op.size2; ++i2) {
        const std::int64_t in2 = std::int64_t{i0} * op.in_step0 + std::int64_t{i1} * op.in_step1 +
                                 std::int64_t{i2} * op.in_step2;
        const std::int64_t out2 = std::int64_t{i0} * op.out_step0 +
                                  std::int64_t{i1} * op.out_step1 + std::int64_t{i2} * op.out_step2;
        for (std::uint32_t i3 = 0; i3 < op.size3; ++i3) {
          move_row(bytes, in + in2 + std::int64_t{i3} * op.in_step3, op.in_step4,
                   out + out2 + std::int64_t{i3} * op.out_step3, op.out_step4, op.size4);
        }
      }
    }
  }
}

std::uint32_t run(const isa::Gather& op, const std::uint8_t* in, const std::uint8_t* indices,
                  std::uint8_t* out) {
  std::uint32_t missed = 0;
  for (std::uint32_t row = 0; row < op.rows; ++row) {
    const auto index = read_as<std::int32_t>(indices + std::size_t{row} * 4);
    std::uint8_t* to = out + std::size_t{row} * op.out_pitch;
    if (index < 0 || static_cast<std::uint32_t>(index) >= op.in_rows) {
      std::memset(to, 0, op.row_bytes);
      ++missed;
    } else {
      std::memmove(to, in + static_cast<std::size_t>(index) * op.in_pitch, op.row_bytes);
    }
  }
  return missed;
}

std::uint32_t run(const isa::Scatter& op, const std::uint8_t* in, const std::uint8_t* indices,
                  std::uint8_t* out) {
  std::uint32_t missed = 0;
  for (std::uint32_t row = 0; row < op.rows; ++row) {
    const auto index = read_as<std::int32_t>(indices + std::size_t{row} * 4);
    if (index < 0 || static_cast<std::uint32_t>(index) >= op.out_rows) {
      ++missed;
      continue;
    }
    const std::uint8_t* from = in + std::size_t{row} * op.in_pitch;
    std::uint8_t* to = out + static_cast<std::size_t>(index) * op.out_pitch;
    if (op.add != 0) {
      add_row(op, from, to);
    } else {
      std::memmove(to, from, std::size_t{op.elements} * item_bytes(op.type));
    }
  }
  return missed;
}

}  // namespace steppe::vector_kernels
