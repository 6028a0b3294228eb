// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <random>

#include "models/base/error.h"
#include "onnx_model.h"
#include "workloads/graph/float_executor.h"
#include "workloads/graph/import.h"
#include "workloads/passes/lower.h"
#include "workloads/reference/executor.h"

using namespace steppe;
using namespace steppe::graph;
using test::Dims;
using test::Model;
using test::set;

namespace {

using Reals = std::vector<float>;
using Random = std::mt19937;

std::int64_t draw(Random& random, std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(random() % static_cast<std::uint32_t>(high - low + 1));
}

/// Whole numbers from -4 to 4, so that sums are exact in any order.
Reals draw_all(Random& random, std::int64_t count) {
  Reals values(static_cast<std::size_t>(count));
  for (float& value : values) value = static_cast<float>(draw(random, -4, 4));
  return values;
}

struct Case {
  std::int64_t n, groups, ic, oc;  ///< channels of one group
  std::int64_t in[2], kernel[2], stride[2], dilation[2], begin[2], end[2], extra[2];
  Reals x, w, bias;

  [[nodiscard]] std::int64_t out(int i) const {
    return stride[i] * (in[i] - 1) + extra[i] + (kernel[i] - 1) * dilation[i] + 1 - begin[i] -
           end[i];
  }
};

Case draw_case(Random& random) {
  for (;;) {
    Case c{draw(random, 1, 2),
           draw(random, 1, 2),
           draw(random, 1, 3),
           draw(random, 1, 3),
           {},
           {},
           {},
           {},
           {},
           {},
           {},
           {},
           {},
           {}};
    for (int i = 0; i < 2; ++i) {
      c.in[i] = draw(random, 1, 5);
      c.kernel[i] = draw(random, 1, 4);
      c.stride[i] = draw(random, 1, 3);
      c.dilation[i] = draw(random, 1, 2);
      c.begin[i] = draw(random, 0, 2);
      c.end[i] = draw(random, 0, 2);
      c.extra[i] = draw(random, 0, c.stride[i] - 1);
    }
    if (c.out(0) < 1 || c.out(1) < 1) continue;
    c.x = draw_all(random, c.n * c.groups * c.ic * c.in[0] * c.in[1]);
    c.w = draw_all(random, c.groups * c.ic * c.oc * c.kernel[0] * c.kernel[1]);
    c.bias = draw_all(random, c.groups * c.oc);
    return c;
  }
}

/// ONNX's definition: every input adds its product with the kernel where it falls.
Reals scattered(const Case& c) {
  const std::int64_t height = c.out(0);
  const std::int64_t width = c.out(1);
  const std::int64_t channels = c.groups * c.oc;
  Reals y(static_cast<std::size_t>(c.n * channels * height * width));
  for (std::size_t i = 0; i < y.size(); ++i) {
    y[i] =
        c.bias[(i / static_cast<std::size_t>(height * width)) % static_cast<std::size_t>(channels)];
  }
  std::size_t at = 0;
  for (std::int64_t n = 0; n < c.n; ++n)
    for (std::int64_t ch = 0; ch < c.groups * c.ic; ++ch)
      for (std::int64_t row = 0; row < c.in[0]; ++row)
        for (std::int64_t column = 0; column < c.in[1]; ++column, ++at)
          for (std::int64_t m = 0; m < c.oc; ++m)
            for (std::int64_t i = 0; i < c.kernel[0]; ++i)
              for (std::int64_t j = 0; j < c.kernel[1]; ++j) {
                const std::int64_t to_row = row * c.stride[0] + i * c.dilation[0] - c.begin[0];
                const std::int64_t to = column * c.stride[1] + j * c.dilation[1] - c.begin[1];
                if (to_row < 0 || to_row >= height || to < 0 || to >= width) continue;
                const std::int64_t channel = ch / c.ic * c.oc + m;
                const float weight = c.w[static_cast<std::size_t>(
                    ((ch * c.oc + m) * c.kernel[0] + i) * c.kernel[1] + j)];
                y[static_cast<std::size_t>(((n * channels + channel) * height + to_row) * width +
                                           to)] += c.x[at] * weight;
              }
  return y;
}

Graph imported(const Case& c) {
  Model m;
  m.input("x", {c.n, c.groups * c.ic, c.in[0], c.in[1]}).output("y");
  m.reals("w", {c.groups * c.ic, c.oc, c.kernel[0], c.kernel[1]}, c.w);
  m.reals("b", {c.groups * c.oc}, c.bias);
  auto& node = m.node("ConvTranspose", {"x", "w", "b"}, {"y"});
  set(node, "group", c.groups);
  set(node, "strides", Dims{c.stride[0], c.stride[1]});
  set(node, "dilations", Dims{c.dilation[0], c.dilation[1]});
  set(node, "pads", Dims{c.begin[0], c.begin[1], c.end[0], c.end[1]});
  set(node, "output_padding", Dims{c.extra[0], c.extra[1]});
  return m.import();
}

}  // namespace

TEST_CASE("a transposed convolution is what its definition says, for any sizes") {
  Random random(1);
  for (int i = 0; i < 200; ++i) {
    const Case c = draw_case(random);
    const Graph graph = imported(c);
    CHECK(graph.value(graph.outputs.at(0)).shape == Dims{c.n, c.groups * c.oc, c.out(0), c.out(1)});
    FloatExecutor executor(graph);
    executor.run({{"x", c.x}});
    CHECK(executor.value(graph.outputs.at(0)) == scattered(c));
  }
}

TEST_CASE("a transposed convolution compiles to the card's layers") {
  Random random(2);
  for (int i = 0; i < 20; ++i) {
    const Case c = draw_case(random);
    const Graph graph = imported(c);
    passes::LowerOptions options;
    options.pruning.ratio = net::balanced(1);
    options.samples = {{{"x", c.x}}};
    const net::Net network = passes::lower(graph, options);
    reference::Executor executor(network);
    const std::vector<float> got = executor.run({c.x}).at(0);
    const Reals wanted = scattered(c);
    REQUIRE(got.size() == wanted.size());
    float largest = 1;
    for (const float value : wanted) largest = std::max(largest, std::abs(value));
    for (std::size_t k = 0; k < got.size(); ++k) {
      CHECK(std::abs(got[k] - wanted[k]) <= 0.05F * largest);  // a few steps of 1 / 127
    }
  }
}

TEST_CASE("transposed convolutions that cannot be are refused") {
  Random random(3);
  Case c = draw_case(random);
  c.end[0] += c.out(0);  // nothing left
  CHECK_THROWS_WITH_AS(imported(c), doctest::Contains("output of 0"), ModelError);
}
