// SPDX-License-Identifier: Apache-2.0
#include "workloads/graph/zoo_builder.h"

#include "models/base/error.h"
#include "workloads/graph/random_weights.h"

namespace steppe::graph {

ValueId ZooBuilder::node(const std::string& name, const std::string& op,
                         std::vector<ValueId> inputs, Attributes attributes) {
  b_.set_scope(name);
  return b_.add(op, std::move(inputs), std::move(attributes));
}

ValueId ZooBuilder::linear(const std::string& name, ValueId x, std::int64_t in, std::int64_t out,
                           bool bias) {
  const ValueId product = node(name, "MatMul", {x, weights(name + ".weight", {in, out}, in)});
  return bias ? node(name + ".add", "Add", {product, near(name + ".bias", {out}, 0.0F)}) : product;
}

ValueId ZooBuilder::conv(const std::string& name, ValueId x, std::int64_t channels,
                         std::int64_t size, std::int64_t stride) {
  const std::int64_t in = b_.shape(x)[1];
  const std::int64_t pad = size / 2;
  return node(name, "Conv",
              {x, weights(name + ".weight", {channels, in, size, size}, in * size * size),
               near(name + ".bias", {channels}, 0.0F)},
              {{"kernel_shape", Shape{size, size}},
               {"strides", Shape{stride, stride}},
               {"pads", Shape{pad, pad, pad, pad}},
               {"dilations", Shape{1, 1}},
               {"group", std::int64_t{1}}});
}

ValueId ZooBuilder::layer_norm(const std::string& name, ValueId x, std::int64_t axis,
                               std::int64_t size) {
  return node(name, "LayerNormalization",
              {x, near(name + ".gain", {size}, 1.0F), near(name + ".shift", {size}, 0.0F)},
              {{"axis", axis}, {"epsilon", 1e-5F}});
}

Graph ZooBuilder::finish(ValueId output, const std::string& name) {
  b_.rename(output, name);
  b_.graph().outputs = {output};
  check(b_.graph());
  return std::move(b_.graph());
}

ValueId ZooBuilder::weights(const std::string& name, const Shape& shape, std::int64_t terms) {
  if (!o_.random_weights_seed) return b_.constant(name, shape);
  Random random(*o_.random_weights_seed, name);
  return b_.constant(name, shape,
                     he_weights(random, count(name, shape), static_cast<double>(terms)));
}

ValueId ZooBuilder::near(const std::string& name, const Shape& shape, float centre) {
  if (!o_.random_weights_seed) return b_.constant(name, shape);
  Random random(*o_.random_weights_seed, name);
  std::vector<float> elements(count(name, shape));
  for (float& x : elements) x = centre + 0.05F * random.normal();
  return b_.constant(name, shape, std::move(elements));
}

std::size_t ZooBuilder::count(const std::string& name, const Shape& shape) {
  constexpr std::int64_t most = std::int64_t{1} << 30;
  const std::int64_t elements = checked_elements(shape, name);
  drawn_ += elements;
  if (drawn_ > most) {
    throw ConfigError(
        "zoo model '{}': random values for more than {} weights; without --weights it has sizes "
        "alone and can be timed",
        b_.graph().name, most);
  }
  return static_cast<std::size_t>(elements);
}

void check_options(const std::string& name, const ZooOptions& options) {
  constexpr std::int64_t most = 65536;
  if (options.batch < 1 || options.batch > most) {
    throw ConfigError("zoo model '{}': a batch of {}; 1 to {} are possible", name, options.batch,
                      most);
  }
  if (options.context < 1 || options.context > most) {
    throw ConfigError("zoo model '{}': a context of {}; 1 to {} are possible", name,
                      options.context, most);
  }
}

}  // namespace steppe::graph
