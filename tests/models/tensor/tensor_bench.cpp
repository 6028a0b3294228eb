// SPDX-License-Identifier: Apache-2.0
//
// How fast the functional kernel is: effective (non-zero) multiply-accumulates per wall second.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <systemc>

#include "models/tensor/conv_kernel.h"
#include "models/tensor/tensor_timing.h"
#include "tests/models/tensor/conv_case.h"

using namespace steppe;

namespace {

/// The fastest of several runs, in seconds: what else the machine does only adds to it.
double seconds(const isa::Conv& conv) {
  using Clock = std::chrono::steady_clock;
  test::Random random(1);
  test::ConvCase c = test::place(random, conv, 0);
  Workers workers(1);
  ConvKernel<std::int8_t> kernel(workers);
  double fastest = 1e9;
  for (int i = 0; i < 15; ++i) {
    const auto begin = Clock::now();
    kernel.run(c.conv, test::operands_of(c));
    fastest = std::min(fastest, std::chrono::duration<double>(Clock::now() - begin).count());
  }
  return fastest;
}

double report(const char* name, const isa::Conv& conv) {
  const ConvCost cost = conv_cost(conv, {});
  const double time = seconds(conv);
  fmt::print("{:34} {:9.3f} ms {:8.2f} GMAC/s effective {:8.2f} GMAC/s dense\n", name, time * 1e3,
             static_cast<double>(cost.effective_macs) / time / 1e9,
             static_cast<double>(cost.dense_macs) / time / 1e9);
  return time;
}

isa::Conv strided(isa::Conv conv) {
  conv.stride_h = conv.stride_w = 2;
  conv.out_h = (conv.in_h + 1) / 2;
  conv.out_w = (conv.in_w + 1) / 2;
  return conv;
}

/// Every convolution of ResNet-50 at 224 x 224, with its ratio; the first layer stays dense.
double resnet50(std::uint32_t ratio_log2) {
  double total = seconds(strided(test::same_conv(224, 224, 3, 64, 7, 0)));
  std::uint32_t in_c = 64;
  const std::uint32_t depth[] = {3, 4, 6, 3};
  for (std::uint32_t stage = 0; stage < 4; ++stage) {
    const std::uint32_t size = 56U >> stage;
    const std::uint32_t width = 64U << stage;
    const bool halves = stage > 0;
    const std::uint32_t before = halves ? 2 * size : size;
    const auto conv = [&](std::uint32_t from, std::uint32_t to, std::uint32_t kernel) {
      return test::same_conv(size, size, from, to, kernel, ratio_log2);
    };
    // The first block of a stage: halving in its 3x3 and in its shortcut.
    total += seconds(test::same_conv(before, before, in_c, width, 1, ratio_log2));
    const isa::Conv wide = test::same_conv(before, before, width, width, 3, ratio_log2);
    const isa::Conv shortcut = test::same_conv(before, before, in_c, 4 * width, 1, ratio_log2);
    total += seconds(halves ? strided(wide) : wide) + seconds(conv(width, 4 * width, 1));
    total += seconds(halves ? strided(shortcut) : shortcut);
    total +=
        (depth[stage] - 1) * (seconds(conv(4 * width, width, 1)) + seconds(conv(width, width, 3)) +
                              seconds(conv(width, 4 * width, 1)));
    in_c = 4 * width;
  }
  return total + seconds(test::same_conv(1, 1, 2048, 1000, 1, ratio_log2));
}

}  // namespace

int sc_main(int, char**) {
  report("3x3 256->256 14x14, 16x", test::same_conv(14, 14, 256, 256, 3, 4));
  report("1x1 1024->256 14x14, 16x", test::same_conv(14, 14, 1024, 256, 1, 4));
  report("1x1 256->1024 14x14, 16x", test::same_conv(14, 14, 256, 1024, 1, 4));
  report("1x1 64->64 56x56, 16x", test::same_conv(56, 56, 64, 64, 1, 4));
  report("3x3 512->512 7x7, 16x", test::same_conv(7, 7, 512, 512, 3, 4));
  report("3x3 256->256 14x14, dense", test::same_conv(14, 14, 256, 256, 3, 0));
  report("7x7/2 3->64 224x224, dense", strided(test::same_conv(224, 224, 3, 64, 7, 0)));
  isa::Conv depthwise = test::same_conv(56, 56, 1, 144, 3, 0);
  depthwise.groups = 144;
  report("3x3 depthwise 144 56x56", depthwise);
  report("product 4096->4096, 1 position, 16x", test::same_conv(1, 1, 4096, 4096, 1, 4));
  report("product 4096->1024, 1 position", test::same_conv(1, 1, 4096, 1024, 1, 0));
  fmt::print("ResNet-50 convolutions, 16x: {:.3f} s\n", resnet50(4));
  return 0;
}
