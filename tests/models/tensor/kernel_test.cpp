// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cstring>

#include "tests/models/tensor/conv_case.h"

using namespace steppe;
using test::ConvCase;

namespace {

/// The kernels of both input types, with buffers that stay from one case to the next.
struct Kernels {
  explicit Kernels(std::size_t threads = 1) : workers(threads) {}
  Workers workers;
  ConvKernel<std::int8_t> int8{workers};
  ConvKernel<numerics::Bf16> bf16{workers};

  void run(ConvCase& c) {
    if (c.conv.in_type == 0) {
      int8.run(c.conv, test::operands_of(c));
    } else {
      bf16.run(c.conv, test::operands_of(c));
    }
  }
};

/// Runs the kernel on a copy and compares all of the memory: what lies between and around the
/// results has to stay as it was.
bool agrees(Kernels& kernels, const ConvCase& conv_case) {
  ConvCase computed = conv_case;
  kernels.run(computed);
  return computed.memory == test::reference(conv_case);
}

void set_pair(ConvCase& c, std::uint32_t channel, std::int32_t bias, float multiplier) {
  std::memcpy(&c.memory[c.conv.scales_offset + channel * 8], &bias, 4);
  std::memcpy(&c.memory[c.conv.scales_offset + channel * 8 + 4], &multiplier, 4);
}

}  // namespace

TEST_CASE("conv kernel: a 2x2 image by hand") {
  // One channel in, one out, 1x1 kernel of weight 3, bias 1, multiplier 0.5, output zero point -1:
  // x -> rint((3 x + 1) / 2) - 1.
  test::Random random(1);
  ConvCase c = test::place(random, test::same_conv(2, 2, 1, 1, 1, 0), 0);
  c.conv.out_zero = -1;
  const std::int8_t in[] = {0, 1, -1, 2};
  std::memcpy(&c.memory[c.conv.in_offset], in, 4);
  c.memory[c.conv.weights_offset] = 3;
  set_pair(c, 0, 1, 0.5F);
  Kernels().run(c);
  // 0.5 -> 0, 2, -1, 3.5 -> 4; each less 1.
  const std::int8_t expected[] = {-1, 1, -2, 3};
  CHECK(std::memcmp(&c.memory[c.conv.out_offset], expected, 4) == 0);
}

TEST_CASE("conv kernel: every field drawn, against the element-wise reference") {
  test::Random random(2);
  Kernels kernel;  // one for all: buffers left by a case must not show in the next
  std::uint32_t wrong = 0;
  for (int i = 0; i < 1500; ++i) {
    if (!agrees(kernel, test::random_case(random))) ++wrong;
  }
  CHECK(wrong == 0);
}

TEST_CASE("conv kernel: any number of threads gives the same memory") {
  test::Random random(8);
  Kernels threaded(4);
  std::uint32_t wrong = 0;
  for (int i = 0; i < 300; ++i) {
    if (!agrees(threaded, test::random_case(random))) ++wrong;
  }
  // Many tiles; few tiles, whose channels are shared out.
  for (const std::uint32_t positions : {400U, 10U}) {
    const isa::Conv conv = test::same_conv(1, positions, 70, 130, 1, 2);
    if (!agrees(threaded, test::place(random, conv, 5))) ++wrong;
  }
  CHECK(wrong == 0);
}

TEST_CASE("conv kernel: bf16 of every size, infinities, NaN and subnormals") {
  test::Random random(9);
  Kernels kernels;
  // Random bytes are bf16 numbers of all magnitudes already; here the extremes are frequent.
  constexpr std::uint16_t extremes[] = {0x0000, 0x8000, 0x7f80, 0xff80, 0x7fc0, 0x7fa5, 0x0001,
                                        0x807f, 0x0080, 0x7f7f, 0xff7f, 0x3f80, 0x3f81, 0xbf80};
  std::uint32_t wrong = 0;
  for (int i = 0; i < 300; ++i) {
    isa::Conv conv = test::random_case(random).conv;
    conv.in_type = 1;
    conv.encoding = 0;
    conv.out_type = test::draw(random, 0, 3);
    ConvCase c = test::place(random, conv, 0);
    const auto sprinkle = [&](std::uint64_t begin, std::uint64_t end) {
      for (; begin + 2 <= end; begin += 2) {
        if (random() % 4 != 0) continue;
        const std::uint16_t bits = extremes[random() % std::size(extremes)];
        std::memcpy(&c.memory[begin], &bits, 2);
      }
    };
    sprinkle(c.conv.in_offset, c.conv.in_offset + conv.in_h * c.conv.in_row);
    sprinkle(c.conv.weights_offset, c.conv.weights_offset + conv.out_c * c.conv.weight_pitch);
    if (!agrees(kernels, c)) ++wrong;
  }
  CHECK(wrong == 0);
}

TEST_CASE("conv kernel: bf16 by hand") {
  // 1.5 * 2 + 0.5 * -4 = 1, bias 0.00390625 (2^-8), multiplier 1: 1 + 2^-8 lies half way between
  // the bf16 numbers 1 and 1 + 2^-7, and goes to the even one, 1 (0x3f80).
  test::Random random(10);
  isa::Conv conv = test::same_conv(1, 1, 2, 1, 1, 0);
  conv.in_type = 1;
  conv.out_type = 2;
  ConvCase c = test::place(random, conv, 0);
  const std::uint16_t in[] = {0x3fc0, 0x3f00};
  const std::uint16_t weights[] = {0x4000, 0xc080};
  const float bias = 0x1p-8F;
  const float multiplier = 1;
  std::memcpy(&c.memory[c.conv.in_offset], in, 4);
  std::memcpy(&c.memory[c.conv.weights_offset], weights, 4);
  std::memcpy(&c.memory[c.conv.scales_offset], &bias, 4);
  std::memcpy(&c.memory[c.conv.scales_offset + 4], &multiplier, 4);
  Kernels().run(c);
  std::uint16_t out = 0;
  std::memcpy(&out, &c.memory[c.conv.out_offset], 2);
  CHECK(out == 0x3f80);
}

TEST_CASE("conv kernel: K in two parts through partial sums gives the bits of one") {
  test::Random random(11);
  for (const std::uint32_t in_type : {0U, 1U}) {
    isa::Conv whole = test::same_conv(3, 5, 96, 20, 1, 0);
    whole.in_type = in_type;
    whole.out_type = 2 * in_type;
    ConvCase expected = test::place(random, whole, 0);
    ConvCase parts = expected;
    Kernels kernels;
    kernels.run(expected);
    // Input channels 0 to 39, whose sums go to a place of their own, then 40 to 95. Dense records
    // may be cut anywhere: the pitch stays, the start moves.
    const std::uint64_t item = test::in_bytes(whole);
    const std::uint64_t sums = parts.memory.size();
    parts.memory.resize(sums + std::size_t{15} * 20 * 4);
    isa::Conv first = parts.conv;
    first.in_c = 40;
    first.out_type = 3;
    first.out_offset = sums;
    first.out_pixel = 20 * 4;
    first.out_row = 5 * first.out_pixel;
    isa::Conv second = parts.conv;
    second.in_c = 56;
    second.in_offset += 40 * item;
    second.weights_offset += 40 * item;
    second.has_partial = 1;
    second.partial_offset = sums;
    second.partial_pixel = first.out_pixel;
    second.partial_row = first.out_row;
    parts.conv = first;
    kernels.run(parts);
    parts.conv = second;
    kernels.run(parts);
    parts.memory.resize(sums);
    CHECK(parts.memory == expected.memory);
  }
}

TEST_CASE("conv kernel: sizes of real layers") {
  test::Random random(3);
  Kernels kernel;
  for (std::uint32_t ratio_log2 = 0; ratio_log2 <= 5; ++ratio_log2) {
    CAPTURE(ratio_log2);
    CHECK(agrees(kernel, test::place(random, test::same_conv(7, 9, 96, 40, 3, ratio_log2), 3)));
    CHECK(agrees(kernel, test::place(random, test::same_conv(13, 5, 200, 33, 1, ratio_log2), 3)));
  }
}

TEST_CASE("conv kernel: from 1 to 100 positions") {
  test::Random random(4);
  Kernels kernel;
  std::uint32_t wrong = 0;
  for (std::uint32_t positions = 1; positions <= 100; ++positions) {
    for (const std::uint32_t ratio_log2 : {0U, 3U}) {
      const isa::Conv conv = test::same_conv(1, positions, 70, 5, 1, ratio_log2);
      if (!agrees(kernel, test::place(random, conv, 5))) ++wrong;
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("conv kernel: sums wrap") {
  // 64 products of -128 * -128 make 2^20; with a bias of 2^31 - 1 the sum is -2^31 + 2^20 - 1.
  test::Random random(5);
  isa::Conv conv = test::same_conv(1, 3, 64, 1, 1, 0);
  conv.out_type = 1;
  ConvCase c = test::place(random, conv, 0);
  std::memset(&c.memory[c.conv.in_offset], 0x80, 3 * 64);
  std::memset(&c.memory[c.conv.weights_offset], 0x80, 64);
  set_pair(c, 0, 0x7fff'ffff, 1.0F);
  Kernels().run(c);
  float first = 0;
  std::memcpy(&first, &c.memory[c.conv.out_offset], 4);
  CHECK(first == static_cast<float>(-2147483648.0 + 1048576.0 - 1.0));
}

TEST_CASE("conv kernel: the most negative values all over") {
  test::Random random(6);
  Kernels kernel;
  for (std::uint32_t ratio_log2 = 0; ratio_log2 <= 5; ++ratio_log2) {
    ConvCase c = test::place(random, test::same_conv(4, 9, 64, 6, 3, ratio_log2), 0);
    c.conv.in_zero = -128;
    std::memset(&c.memory[c.conv.in_offset], 0x80, std::size_t{c.conv.in_h} * c.conv.in_row);
    const std::uint32_t values = c.k() >> ratio_log2;
    for (std::uint32_t channel = 0; channel < c.conv.out_c; ++channel) {
      std::memset(&c.memory[c.conv.weights_offset + channel * c.conv.weight_pitch], 0x80, values);
    }
    CAPTURE(ratio_log2);
    CHECK(agrees(kernel, c));
  }
}

TEST_CASE("conv kernel: results on a tie round to even, and saturate") {
  // 1x1, weight 1, multiplier 0.5: every input q gives rint(q / 2); with 4, saturation.
  test::Random random(7);
  for (const float multiplier : {0.5F, 4.0F}) {
    ConvCase c = test::place(random, test::same_conv(16, 16, 1, 1, 1, 0), 0);
    for (std::uint32_t i = 0; i < 256; ++i) {
      c.memory[c.conv.in_offset + i] = static_cast<std::uint8_t>(i);
    }
    c.memory[c.conv.weights_offset] = 1;
    set_pair(c, 0, 0, multiplier);
    Kernels().run(c);
    std::uint32_t wrong = 0;
    for (std::int32_t q = -128; q <= 127; ++q) {
      // An even number near q / 2, by integers: halves go to the even neighbour.
      const std::int32_t down = (q - (q & 1)) / 2;
      const std::int32_t half = (q & 1) == 0 ? q / 2 : down + (down & 1);
      const std::int32_t four = q < -32 ? -128 : q > 31 ? 127 : 4 * q;
      const auto got =
          static_cast<std::int8_t>(c.memory[c.conv.out_offset + static_cast<std::uint8_t>(q)]);
      if (got != (multiplier == 0.5F ? half : four)) ++wrong;
    }
    CHECK(wrong == 0);
  }
}
