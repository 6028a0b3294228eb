// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "models/base/error.h"
#include "workloads/graph/zoo.h"
#include "workloads/graph/zoo_builder.h"

namespace steppe::graph {
namespace {

class Decoder : private ZooBuilder {
 public:
  Decoder(const std::string& name, const GptJ& sizes, const ZooOptions& options)
      : ZooBuilder(name, options), s_(sizes), head_(sizes.hidden / sizes.heads) {}

  Graph run() {
    ValueId x = b_.input("hidden", DataType::fp32, {o_.batch, s_.hidden});
    make_rotation();
    for (std::int64_t i = 0; i < s_.layers; ++i) x = layer(fmt::format("layer.{}", i), x);
    x = norm("final.norm", x);
    x = linear("head", x, s_.hidden, s_.vocabulary, true);
    return finish(x, "logits");
  }

 private:
  /// x + attention(norm(x)) + feed-forward(norm(x)); each product adds one term to its result.
  ValueId layer(const std::string& name, ValueId x) {
    const ValueId normed = norm(name + ".norm", x);
    const ValueId attended = attention(name + ".attention", name, normed);
    const ValueId sum = node(name + ".attended", "Add", {attended, x});
    return node(name + ".sum", "Add", {feed_forward(name + ".feed_forward", normed), sum});
  }

  ValueId norm(const std::string& name, ValueId x) { return layer_norm(name, x, 1, s_.hidden); }

  ValueId feed_forward(const std::string& name, ValueId x) {
    const ValueId up = linear(name + ".up", x, s_.hidden, s_.inner, true);
    return linear(name + ".down", node(name + ".gelu", "Gelu", {up}), s_.inner, s_.hidden, true);
  }

  ValueId attention(const std::string& name, const std::string& layer, ValueId x) {
    const auto project = [&](const char* part) {
      return linear(name + part, x, s_.hidden, s_.hidden, false);
    };
    const ValueId query = heads(name + ".query", rotated(name + ".query", project(".query")));
    const ValueId key = heads(name + ".key", rotated(name + ".key", project(".key")));
    const ValueId value = heads(name + ".value", project(".value"));
    const ValueId keys = store(layer + ".keys", key, {o_.batch, s_.heads, o_.context, head_}, 2);
    b_.set_scope(name + ".value.turned");
    const ValueId column = b_.transpose(value, {0, 1, 3, 2});
    const ValueId values =
        store(layer + ".values", column, {o_.batch, s_.heads, head_, o_.context}, 3);
    b_.set_scope(name + ".keys.turned");
    ValueId scores = node(name + ".scores", "MatMul", {query, b_.transpose(keys, {0, 1, 3, 2})});
    b_.set_scope(name + ".scale");
    scores = b_.add("Mul", {scores, b_.scalar(1.0F / std::sqrt(static_cast<float>(head_)))});
    const ValueId weights =
        node(name + ".softmax", "Softmax", {scores}, {{"axis", std::int64_t{3}}});
    b_.set_scope(name + ".values.turned");
    const ValueId mixed =
        node(name + ".mix", "MatMul", {weights, b_.transpose(values, {0, 1, 3, 2})});
    b_.set_scope(name + ".joined");
    const ValueId joined = b_.reshape(mixed, {o_.batch, s_.hidden});
    return linear(name + ".out", joined, s_.hidden, s_.hidden, false);
  }

  ValueId heads(const std::string& name, ValueId x) {
    b_.set_scope(name + ".heads");
    return b_.reshape(x, {o_.batch, s_.heads, 1, head_});
  }

  /// Writes at the last position of a cache; gives the whole cache.
  ValueId store(const std::string& name, ValueId x, const Shape& shape, std::int64_t axis) {
    const ValueId cache = b_.state(name, shape);
    return node(name + ".store", "CacheStore", {x, cache},
                {{"axis", axis}, {"position", o_.context - 1}});
  }

  /// Rotary embedding (Su et al. 2021) of the first `rotary` numbers of each head, in pairs of
  /// neighbours: (x, y) becomes (x cos - y sin, y cos + x sin). The others turn by 0: a few
  /// products more, but no cutting and joining.
  ValueId rotated(const std::string& name, ValueId x) {
    b_.set_scope(name + ".pairs");
    const ValueId pairs = b_.reshape(x, {o_.batch, s_.hidden / 2, 2});
    b_.set_scope(name + ".swapped");
    const ValueId reversed = b_.add(
        "Slice", {pairs},
        {{"axes", Shape{2}}, {"starts", Shape{1}}, {"ends", Shape{-1}}, {"steps", Shape{-1}}});
    const ValueId swapped = b_.reshape(reversed, Shape(b_.shape(x)));
    const ValueId cosine = node(name + ".cosine", "Mul", {x, cosine_});
    const ValueId sine = node(name + ".sine", "Mul", {swapped, sine_});
    return node(name + ".rotated", "Add", {cosine, sine});
  }

  /// The angle of pair i at position p is p / 10000^(2 i / rotary).
  void make_rotation() {
    std::vector<float> cosine(static_cast<std::size_t>(s_.hidden), 1.0F);
    std::vector<float> sine(cosine.size(), 0.0F);
    for (std::size_t at = 0; at < cosine.size(); at += 2) {
      const std::int64_t i = static_cast<std::int64_t>(at) % head_;
      if (i >= s_.rotary) continue;
      const double power = static_cast<double>(i) / static_cast<double>(s_.rotary);
      const double angle = static_cast<double>(o_.context - 1) / std::pow(10000.0, power);
      cosine[at] = cosine[at + 1] = static_cast<float>(std::cos(angle));
      sine[at] = static_cast<float>(-std::sin(angle));
      sine[at + 1] = static_cast<float>(std::sin(angle));
    }
    cosine_ = b_.constant("rotary.cosine", {s_.hidden}, std::move(cosine));
    sine_ = b_.constant("rotary.sine", {s_.hidden}, std::move(sine));
  }

  const GptJ& s_;
  const std::int64_t head_;
  ValueId cosine_ = no_value, sine_ = no_value;
};

}  // namespace

Graph gptj_decode(const std::string& name, const GptJ& sizes, const ZooOptions& options) {
  check_options(name, options);
  STEPPE_CHECK(sizes.heads > 0 && sizes.hidden % sizes.heads == 0);
  STEPPE_CHECK(sizes.rotary % 2 == 0 && sizes.rotary <= sizes.hidden / sizes.heads);
  STEPPE_CHECK(sizes.hidden / sizes.heads % 2 == 0);
  return Decoder(name, sizes, options).run();
}

}  // namespace steppe::graph
