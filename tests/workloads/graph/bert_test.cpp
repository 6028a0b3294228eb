// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "models/base/error.h"
#include "workloads/graph/float_executor.h"
#include "workloads/graph/zoo.h"

using namespace steppe;
using namespace steppe::graph;

namespace {

constexpr Bert tiny{.layers = 2, .hidden = 8, .heads = 2, .inner = 12};
constexpr std::size_t tokens = 3;
constexpr std::size_t head = 4;

using Vector = std::vector<double>;
using Rows = std::vector<Vector>;

/// The encoder of Devlin et al. 2019 (section 3) and Vaswani et al. 2017, in binary64, from the
/// graph's constants by name.
class Reference {
 public:
  explicit Reference(const Graph& graph) {
    for (const Value& value : graph.values) {
      if (value.constant && value.fp32) {
        constants_[value.name] = {value.fp32->begin(), value.fp32->end()};
      }
    }
  }

  [[nodiscard]] Rows run(Rows x) const {
    for (int i = 0; i < tiny.layers; ++i) {
      const std::string name = "layer." + std::to_string(i);
      x = norm(name + ".norm1", sum(attention(name + ".attention", x), x));
      Rows inner = linear(name + ".up", x);
      for (Vector& row : inner) {
        for (double& v : row) v = v / 2 * (1 + std::erf(v / std::sqrt(2.0)));
      }
      x = norm(name + ".norm2", sum(linear(name + ".down", inner), x));
    }
    return x;
  }

 private:
  [[nodiscard]] const Vector& get(const std::string& name) const { return constants_.at(name); }

  [[nodiscard]] Rows linear(const std::string& name, const Rows& x) const {
    const Vector& w = get(name + ".weight");
    const Vector& bias = get(name + ".bias");
    Rows result;
    for (const Vector& row : x) {
      Vector y = bias;
      for (std::size_t i = 0; i < row.size(); ++i) {
        for (std::size_t o = 0; o < y.size(); ++o) y[o] += row[i] * w[i * y.size() + o];
      }
      result.push_back(y);
    }
    return result;
  }

  static Rows sum(Rows a, const Rows& b) {
    for (std::size_t t = 0; t < a.size(); ++t) {
      for (std::size_t i = 0; i < a[t].size(); ++i) a[t][i] += b[t][i];
    }
    return a;
  }

  [[nodiscard]] Rows norm(const std::string& name, Rows x) const {
    for (Vector& row : x) {
      double mean = 0;
      double variance = 0;
      for (const double v : row) mean += v / static_cast<double>(row.size());
      for (const double v : row) {
        variance += (v - mean) * (v - mean) / static_cast<double>(row.size());
      }
      for (std::size_t i = 0; i < row.size(); ++i) {
        row[i] = (row[i] - mean) / std::sqrt(variance + 1e-5) * get(name + ".gain")[i] +
                 get(name + ".shift")[i];
      }
    }
    return x;
  }

  [[nodiscard]] Rows attention(const std::string& name, const Rows& x) const {
    const Rows q = linear(name + ".query", x);
    const Rows k = linear(name + ".key", x);
    const Rows v = linear(name + ".value", x);
    Rows mixed(x.size(), Vector(x[0].size()));
    for (std::size_t h = 0; h < x[0].size(); h += head) {
      for (std::size_t t = 0; t < x.size(); ++t) {
        Vector share;
        double total = 0;
        for (const Vector& key : k) {
          double score = 0;
          for (std::size_t i = h; i < h + head; ++i) score += q[t][i] * key[i];
          share.push_back(std::exp(score / std::sqrt(static_cast<double>(head))));
          total += share.back();
        }
        for (std::size_t s = 0; s < v.size(); ++s) {
          for (std::size_t i = h; i < h + head; ++i) mixed[t][i] += share[s] / total * v[s][i];
        }
      }
    }
    return linear(name + ".out", mixed);
  }

  std::map<std::string, Vector> constants_;
};

}  // namespace

TEST_CASE("a small BERT encodes as its definition says") {
  const Graph graph = bert_encoder("tiny", tiny, {1, tokens, 5});
  std::vector<float> hidden;
  Rows rows(tokens, Vector(tiny.hidden));
  for (std::size_t t = 0; t < tokens; ++t) {
    for (std::size_t i = 0; i < rows[t].size(); ++i) {
      hidden.push_back(static_cast<float>((t * 13 + i * 7) % 19) / 9.0F - 1.0F);
      rows[t][i] = hidden.back();
    }
  }
  FloatExecutor executor(graph);
  executor.run({{"hidden", hidden}});
  const std::vector<float>& encoded = executor.value(graph.outputs.at(0));
  const Rows expected = Reference(graph).run(rows);
  REQUIRE(encoded.size() == tokens * tiny.hidden);
  for (std::size_t i = 0; i < encoded.size(); ++i) {
    CHECK(double{encoded[i]} ==
          doctest::Approx(expected[i / tiny.hidden][i % tiny.hidden]).epsilon(1e-4));
  }
}

TEST_CASE("BERT-base and BERT-large have the published sizes") {
  const auto parameters = [](const char* name) {
    const Graph graph = zoo_model(name);
    std::uint64_t count = 0;
    for (const Value& value : graph.values) {
      if (value.constant && !value.fp32) count += value.elements();
    }
    return count;
  };
  // Without embeddings and pooler: 85,054,464 of BERT-base's 109,482,240 (12 layers of 4 * 768^2 +
  // 2
  // * 768 * 3072 weights, 5 * 768 + 3072 biases, 4 * 768 of the normalisations).
  CHECK(parameters("bert-base") == 85'054'464);
  CHECK(parameters("bert-base-layer") == 85'054'464 / 12);
  CHECK(parameters("bert-large") == 24ULL * (12 * 1024 * 1024 + 5 * 1024 + 4096 + 4 * 1024));
}

TEST_CASE("a product of matrices") {
  const Graph graph = matrix_product("gemm", 4, {1, 256, 3});
  std::vector<float> a(16, 0.0F);
  for (std::size_t i = 0; i < 4; ++i) a[5 * i] = 2.0F;  // twice the identity
  FloatExecutor executor(graph);
  executor.run({{"a", a}});
  const auto weights = std::find_if(graph.values.begin(), graph.values.end(),
                                    [](const Value& value) { return value.constant; });
  const std::vector<float>& c = executor.value(graph.outputs.at(0));
  for (std::size_t i = 0; i < 16; ++i) CHECK(c[i] == 2.0F * (*weights->fp32)[i]);
}

TEST_CASE("random values for a model that fills the memory are refused") {
  CHECK_THROWS_WITH_AS(zoo_model("gptj-6b", {1, 256, 1}), doctest::Contains("--weights"),
                       ConfigError);
}
