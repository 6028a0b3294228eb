// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "models/base/error.h"
#include "workloads/graph/zoo.h"
#include "workloads/graph/zoo_builder.h"

namespace steppe::graph {
namespace {

class Encoder : private ZooBuilder {
 public:
  Encoder(const std::string& name, const Bert& sizes, const ZooOptions& options)
      : ZooBuilder(name, options), s_(sizes), head_(sizes.hidden / sizes.heads) {}

  Graph run() {
    ValueId x = b_.input("hidden", DataType::fp32, {o_.batch, o_.context, s_.hidden});
    for (std::int64_t i = 0; i < s_.layers; ++i) x = layer(fmt::format("layer.{}", i), x);
    return finish(x, "encoded");
  }

 private:
  /// Each half adds its result to what it got, and normalises the sum.
  ValueId layer(const std::string& name, ValueId x) {
    const ValueId attended =
        node(name + ".attended", "Add", {attention(name + ".attention", x), x});
    const ValueId middle = layer_norm(name + ".norm1", attended, 2, s_.hidden);
    ValueId y = linear(name + ".up", middle, s_.hidden, s_.inner, true);
    y = linear(name + ".down", node(name + ".gelu", "Gelu", {y}), s_.inner, s_.hidden, true);
    return layer_norm(name + ".norm2", node(name + ".sum", "Add", {y, middle}), 2, s_.hidden);
  }

  ValueId attention(const std::string& name, ValueId x) {
    const auto project = [&](const std::string& part) {
      const ValueId flat = linear(name + part, x, s_.hidden, s_.hidden, true);
      b_.set_scope(name + part + ".heads");
      const ValueId parts = b_.reshape(flat, {o_.batch, o_.context, s_.heads, head_});
      return b_.transpose(parts, {0, 2, 1, 3});
    };
    const ValueId query = project(".query");
    const ValueId key = project(".key");
    const ValueId value = project(".value");
    b_.set_scope(name + ".key.turned");
    const ValueId turned = b_.transpose(key, {0, 1, 3, 2});
    ValueId scores = node(name + ".scores", "MatMul", {query, turned});
    b_.set_scope(name + ".scale");
    scores = b_.add("Mul", {scores, b_.scalar(1.0F / std::sqrt(static_cast<float>(head_)))});
    const ValueId shares =
        node(name + ".softmax", "Softmax", {scores}, {{"axis", std::int64_t{3}}});
    const ValueId mixed = node(name + ".mix", "MatMul", {shares, value});
    b_.set_scope(name + ".joined");
    const ValueId joined =
        b_.reshape(b_.transpose(mixed, {0, 2, 1, 3}), {o_.batch, o_.context, s_.hidden});
    return linear(name + ".out", joined, s_.hidden, s_.hidden, true);
  }

  const Bert& s_;
  const std::int64_t head_;
};

class Product : private ZooBuilder {
 public:
  Product(const std::string& name, const ZooOptions& options) : ZooBuilder(name, options) {}

  Graph run(std::int64_t size) {
    const ValueId x = b_.input("a", DataType::fp32, {size * o_.batch, size});
    return finish(linear("product", x, size, size, false), "c");
  }
};

}  // namespace

Graph bert_encoder(const std::string& name, const Bert& sizes, const ZooOptions& options) {
  check_options(name, options);
  STEPPE_CHECK(sizes.heads > 0 && sizes.hidden % sizes.heads == 0);
  return Encoder(name, sizes, options).run();
}

Graph matrix_product(const std::string& name, std::int64_t size, const ZooOptions& options) {
  check_options(name, options);
  return Product(name, options).run(size);
}

}  // namespace steppe::graph
