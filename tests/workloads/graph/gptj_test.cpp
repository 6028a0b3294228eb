// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cmath>
#include <map>

#include "models/base/error.h"
#include "workloads/graph/float_executor.h"
#include "workloads/graph/zoo.h"

using namespace steppe;
using namespace steppe::graph;

namespace {

using Vector = std::vector<double>;

constexpr GptJ tiny{
    .layers = 2, .hidden = 16, .heads = 2, .rotary = 4, .inner = 24, .vocabulary = 10};
constexpr std::size_t head = 8;

/// GPT-J decoded from its definition, with a list of past keys and values for each layer and head.
class Reference {
 public:
  explicit Reference(const Graph& graph) {
    for (const Value& value : graph.values) {
      if (value.fp32) constants_[value.name] = {value.fp32->begin(), value.fp32->end()};
    }
  }

  Vector step(Vector x, int position) {
    for (int l = 0; l < tiny.layers; ++l) {
      const std::string name = "layer." + std::to_string(l);
      const Vector normed = norm(name + ".norm", x);
      const Vector attended = attention(name, normed, position);
      Vector up = linear(name + ".feed_forward.up", normed, true);
      for (double& u : up) u = 0.5 * u * (1.0 + std::erf(u / std::sqrt(2.0)));
      const Vector forward = linear(name + ".feed_forward.down", up, true);
      for (std::size_t i = 0; i < x.size(); ++i) x[i] += attended[i] + forward[i];
    }
    return linear("head", norm("final.norm", x), true);
  }

 private:
  Vector linear(const std::string& name, const Vector& x, bool bias) {
    const Vector& w = constants_.at(name + ".weight");
    const std::size_t out = w.size() / x.size();
    Vector y = bias ? constants_.at(name + ".bias") : Vector(out, 0.0);
    for (std::size_t i = 0; i < x.size(); ++i) {
      for (std::size_t o = 0; o < out; ++o) y[o] += x[i] * w[i * out + o];
    }
    return y;
  }

  Vector norm(const std::string& name, const Vector& x) {
    double mean = 0.0;
    double square = 0.0;
    for (const double v : x) mean += v / static_cast<double>(x.size());
    for (const double v : x) square += (v - mean) * (v - mean) / static_cast<double>(x.size());
    Vector y;
    for (std::size_t i = 0; i < x.size(); ++i) {
      y.push_back((x[i] - mean) / std::sqrt(square + 1e-5) * constants_.at(name + ".gain")[i] +
                  constants_.at(name + ".shift")[i]);
    }
    return y;
  }

  static void rotate(double* x, int position) {
    for (int i = 0; i < tiny.rotary; i += 2) {
      const double angle = position * std::pow(10000.0, -static_cast<double>(i) / tiny.rotary);
      const double a = x[i];
      const double b = x[i + 1];
      x[i] = a * std::cos(angle) - b * std::sin(angle);
      x[i + 1] = b * std::cos(angle) + a * std::sin(angle);
    }
  }

  Vector attention(const std::string& layer, const Vector& x, int position) {
    const std::string name = layer + ".attention";
    Vector q = linear(name + ".query", x, false);
    Vector k = linear(name + ".key", x, false);
    const Vector v = linear(name + ".value", x, false);
    Vector mixed(x.size(), 0.0);
    for (std::size_t h = 0; h < x.size() / head; ++h) {
      rotate(&q[h * head], position);
      rotate(&k[h * head], position);
      auto& past = past_[layer + std::to_string(h)];
      past.push_back({{k.begin() + h * head, k.begin() + (h + 1) * head},
                      {v.begin() + h * head, v.begin() + (h + 1) * head}});
      Vector weights;
      double sum = 0.0;
      for (const auto& [key, value] : past) {
        double score = 0.0;
        for (std::size_t i = 0; i < head; ++i) score += q[h * head + i] * key[i];
        weights.push_back(std::exp(score / std::sqrt(8.0)));
        sum += weights.back();
      }
      for (std::size_t p = 0; p < past.size(); ++p) {
        for (std::size_t i = 0; i < head; ++i) {
          mixed[h * head + i] += weights[p] / sum * past[p].second[i];
        }
      }
    }
    return linear(name + ".out", mixed, false);
  }

  std::map<std::string, Vector> constants_;
  std::map<std::string, std::vector<std::pair<Vector, Vector>>> past_;
};

std::vector<float> token(int seed) {
  std::vector<float> x;
  for (int i = 0; i < tiny.hidden; ++i) {
    x.push_back(static_cast<float>((seed * 31 + i * 17) % 23) / 11.0F - 1.0F);
  }
  return x;
}

}  // namespace

/// A cache with one more position along the axis before the last (keys) or the last (values).
std::vector<float> extended(const std::vector<float>& cache, std::int64_t before, bool keys) {
  const std::size_t row =
      keys ? static_cast<std::size_t>(before) * head : static_cast<std::size_t>(before);
  const std::size_t more = keys ? head : 1;
  std::vector<float> result;
  for (std::size_t start = 0; start + row <= cache.size() && row > 0; start += row) {
    result.insert(result.end(), cache.begin() + static_cast<std::ptrdiff_t>(start),
                  cache.begin() + static_cast<std::ptrdiff_t>(start + row));
    result.insert(result.end(), more, 0.0F);
  }
  return result;
}

TEST_CASE("a small GPT-J decodes three tokens as its definition says") {
  Reference reference(gptj_decode("tiny", tiny, {1, 1, 7}));
  std::map<std::string, std::vector<float>> past;
  for (int p = 0; p < 3; ++p) {
    const Graph graph = gptj_decode("tiny", tiny, {1, p + 1, 7});
    FloatExecutor executor(graph);
    for (ValueId id = 0; id < graph.values.size(); ++id) {
      const Value& value = graph.value(id);
      if (!value.state || p == 0) continue;
      executor.set_state(id, extended(past[value.name], p, value.name.ends_with("keys")));
    }
    executor.run({{"hidden", token(p)}});
    const std::vector<float> x = token(p);
    const Vector wanted = reference.step({x.begin(), x.end()}, p);
    const std::vector<float>& logits = executor.value(graph.outputs.at(0));
    REQUIRE(logits.size() == wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      CHECK(double{logits[i]} == doctest::Approx(wanted[i]).epsilon(1e-4));
    }
    for (ValueId id = 0; id < graph.values.size(); ++id) {
      if (graph.value(id).state) past[graph.value(id).name] = executor.value(id);
    }
  }
}

TEST_CASE("sequences of a batch do not see each other") {
  const Graph graph = gptj_decode("tiny", tiny, {2, 4, 7});
  FloatExecutor executor(graph);
  std::vector<float> both = token(1);
  const std::vector<float> other = token(2);
  both.insert(both.end(), other.begin(), other.end());
  executor.run({{"hidden", both}});
  const std::vector<float> together = executor.value(graph.outputs[0]);
  const Graph single = gptj_decode("tiny", tiny, {1, 4, 7});
  FloatExecutor alone(single);
  alone.run({{"hidden", other}});
  for (std::size_t i = 0; i < 10; ++i) {
    CHECK(together[10 + i] == doctest::Approx(alone.value(single.outputs[0])[i]).epsilon(1e-5));
  }
}

TEST_CASE("GPT-J 6B has the published number of parameters and no elements") {
  const Graph graph = zoo_model("gptj-6b");
  std::uint64_t parameters = 0;
  for (const Value& value : graph.values) {
    if (!value.constant || value.fp32) continue;  // the rotation and the score's scale are known
    parameters += value.elements();
  }
  // 28 layers of 4 * 4096^2 + 2 * 4096 * 16384 weights, 16384 + 4096 biases, 2 * 4096 of the
  // normalisation; the last normalisation and the head of 4096 * 50400 + 50400.
  const std::uint64_t layer = 4ULL * 4096 * 4096 + 2ULL * 4096 * 16384 + 16384 + 4096 + 2 * 4096;
  CHECK(parameters == 28 * layer + 2 * 4096 + 4096ULL * 50400 + 50400);
  // 6,050,882,784 with the input embedding, as the public PyTorch implementation counts.
  CHECK(parameters + 4096ULL * 50400 == 6050882784ULL);
  CHECK(graph.value(graph.outputs.at(0)).shape == std::vector<std::int64_t>{1, 50400});
}

TEST_CASE("unknown models and sizes out of range") {
  CHECK_THROWS_WITH_AS(zoo_model("gptj-6"), doctest::Contains("gptj-6b"), ConfigError);
  CHECK_THROWS_WITH_AS(zoo_model("gptj-6b", {0, 256, {}}), doctest::Contains("batch"), ConfigError);
  CHECK_THROWS_WITH_AS(zoo_model("gptj-6b", {1, 0, {}}), doctest::Contains("context"), ConfigError);
}
