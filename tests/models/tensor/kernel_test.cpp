// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cstring>

#include "tests/models/tensor/conv_case.h"

using namespace steppe;
using test::ConvCase;

namespace {

/// Runs the kernel on a copy and compares all of the memory: what lies between and around the
/// results has to stay as it was.
bool agrees(ConvKernel& kernel, const ConvCase& conv_case) {
  ConvCase computed = conv_case;
  kernel.run(computed.conv, test::operands_of(computed));
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
  ConvKernel().run(c.conv, test::operands_of(c));
  // 0.5 -> 0, 2, -1, 3.5 -> 4; each less 1.
  const std::int8_t expected[] = {-1, 1, -2, 3};
  CHECK(std::memcmp(&c.memory[c.conv.out_offset], expected, 4) == 0);
}

TEST_CASE("conv kernel: every field drawn, against the element-wise reference") {
  test::Random random(2);
  ConvKernel kernel;  // one for all: buffers left by a case must not show in the next
  std::uint32_t wrong = 0;
  for (int i = 0; i < 1500; ++i) {
    if (!agrees(kernel, test::random_case(random))) ++wrong;
  }
  CHECK(wrong == 0);
}

TEST_CASE("conv kernel: sizes of real layers") {
  test::Random random(3);
  ConvKernel kernel;
  for (std::uint32_t ratio_log2 = 0; ratio_log2 <= 5; ++ratio_log2) {
    CAPTURE(ratio_log2);
    CHECK(agrees(kernel, test::place(random, test::same_conv(7, 9, 96, 40, 3, ratio_log2), 3)));
    CHECK(agrees(kernel, test::place(random, test::same_conv(13, 5, 200, 33, 1, ratio_log2), 3)));
  }
}

TEST_CASE("conv kernel: from 1 to 100 positions") {
  test::Random random(4);
  ConvKernel kernel;
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
  ConvKernel().run(c.conv, test::operands_of(c));
  float first = 0;
  std::memcpy(&first, &c.memory[c.conv.out_offset], 4);
  CHECK(first == static_cast<float>(-2147483648.0 + 1048576.0 - 1.0));
}

TEST_CASE("conv kernel: the most negative values all over") {
  test::Random random(6);
  ConvKernel kernel;
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
    ConvKernel().run(c.conv, test::operands_of(c));
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
