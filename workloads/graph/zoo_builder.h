// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "workloads/graph/builder.h"
#include "workloads/graph/zoo.h"

namespace steppe::graph {

/// What the models of the zoo are put together from. Weights have elements where the options give
/// a seed.
class ZooBuilder {
 protected:
  ZooBuilder(const std::string& name, const ZooOptions& options) : o_(options), b_(name) {}

  ValueId node(const std::string& name, const std::string& op, std::vector<ValueId> inputs,
               Attributes attributes = {});
  /// x [..., in] by a weight [in, out], and a bias where asked for.
  ValueId linear(const std::string& name, ValueId x, std::int64_t in, std::int64_t out, bool bias);
  /// x [batch, ic, h, w] by a kernel of `size` x `size` with padding size / 2, and a bias.
  ValueId conv(const std::string& name, ValueId x, std::int64_t channels, std::int64_t size,
               std::int64_t stride);
  /// Over the last axis, `axis`, of `size` elements.
  ValueId layer_norm(const std::string& name, ValueId x, std::int64_t axis, std::int64_t size);
  /// The graph with that one output.
  Graph finish(ValueId output, const std::string& name);

  const ZooOptions& o_;
  Builder b_;

 private:
  /// Drawn for sums of `terms` products.
  ValueId weights(const std::string& name, const Shape& shape, std::int64_t terms);
  ValueId near(const std::string& name, const Shape& shape, float centre);
  /// Elements to draw; throws ConfigError where all together would fill the memory.
  std::size_t count(const std::string& name, const Shape& shape);

  std::int64_t drawn_ = 0;
};

/// Throws ConfigError for a batch or context out of range.
void check_options(const std::string& name, const ZooOptions& options);

}  // namespace steppe::graph
