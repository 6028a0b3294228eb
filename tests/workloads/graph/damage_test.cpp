// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <fstream>
#include <random>
#include <sstream>

#include "models/base/error.h"
#include "onnx_model.h"
#include "workloads/graph/shape.h"

using namespace steppe;
using namespace steppe::graph;

namespace {

std::string contents(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << stream.rdbuf();
  return bytes.str();
}

/// Imports; counts the models that are taken. Anything but a UserError is a failure.
int taken(const std::string& bytes) {
  const test::TemporaryFile file(bytes);
  try {
    check(import_onnx(file.path()));
    return 1;
  } catch (const UserError& error) {
    return 0;
  }
}

std::string shipped() {
  return contents(std::filesystem::path(STEPPE_SOURCE_DIR) / "workloads/digits/digits.onnx");
}

/// A model of many operators in few bytes, so that most damage hits structure and not weights.
std::string small() {
  using test::Dims;
  using test::set;
  test::Model m;
  m.input("x", {1, 2, 4, 4}).output("y");
  m.reals("w", {2, 2, 3, 3}, std::vector<float>(36, 0.5F)).reals("b", {2}, {1, 2});
  m.reals("v", {8, 3}, std::vector<float>(24, 0.5F)).integers("target", {2}, {1, -1});
  m.integers("s", {1}, {0}).integers("e", {1}, {1});
  set(set(m.node("Conv", {"x", "w", "b"}, {"c"}), "pads", Dims{1, 1, 1, 1}), "group",
      std::int64_t{1});
  m.node("BatchNormalization", {"c", "b", "b", "b", "b"}, {"n"});
  m.node("Relu", {"n"}, {"r"});
  set(set(m.node("MaxPool", {"r"}, {"p"}), "kernel_shape", Dims{2, 2}), "strides", Dims{2, 2});
  m.node("Shape", {"p"}, {"shape"});
  m.node("Slice", {"shape", "s", "e"}, {"batch"});
  set(m.node("Concat", {"p", "p"}, {"pp"}), "axis", std::int64_t{1});
  set(m.node("Split", {"pp"}, {"left", "right"}), "axis", std::int64_t{1});
  m.node("Reshape", {"left", "target"}, {"f"});
  set(m.node("Gemm", {"f", "v"}, {"g"}), "alpha", 2.0F);
  m.node("Add", {"g", "batch2"}, {"sum"});
  set(m.node("Cast", {"batch"}, {"batch2"}), "to", std::int64_t{1});
  set(m.node("Softmax", {"sum"}, {"y"}), "axis", std::int64_t{1});
  return m.bytes();
}

}  // namespace

TEST_CASE("the small model and the shipped one are taken") {
  CHECK(taken(small()) == 1);
  CHECK(taken(shipped()) == 1);
}

TEST_CASE("a model cut off anywhere is refused or still a model") {
  const std::string good = small();
  int count = 0;
  for (std::size_t size = 0; size < good.size(); ++size) count += taken(good.substr(0, size));
  CHECK(count < 8);
}

TEST_CASE("bits flipped and bytes changed: a model or a UserError") {
  const std::string good = small();
  std::mt19937 random(11);
  int count = 0;
  for (int round = 0; round < 6000; ++round) {
    std::string bytes = good;
    for (std::uint32_t n = random() % 3 + 1; n > 0; --n) {
      char& byte = bytes[random() % bytes.size()];
      byte = random() % 2 == 0 ? static_cast<char>(byte ^ (1 << random() % 8))
                               : static_cast<char>(random());
    }
    count += taken(bytes);
  }
  CHECK(count > 500);  // names and weights may change
}

TEST_CASE("attributes and constants of hostile sizes: a model or a UserError") {
  onnx::ModelProto good;
  REQUIRE(good.ParseFromString(small()));
  constexpr std::int64_t hostile[] = {
      0, -1, 2, 7, 1 << 20, 1LL << 31, 1LL << 40, 1LL << 62, -1 << 20, INT64_MIN, INT64_MAX, 3};
  std::mt19937 random(13);
  const auto pick = [&] { return hostile[random() % std::size(hostile)]; };
  for (int round = 0; round < 4000; ++round) {
    onnx::ModelProto model = good;
    auto& graph = *model.mutable_graph();
    switch (random() % 4) {
      case 0: {
        auto& node = *graph.mutable_node(static_cast<int>(random() % graph.node_size()));
        if (node.attribute_size() == 0) break;
        auto& attribute =
            *node.mutable_attribute(static_cast<int>(random() % node.attribute_size()));
        if (attribute.ints_size() > 0) {
          attribute.set_ints(static_cast<int>(random() % attribute.ints_size()), pick());
        } else {
          attribute.set_i(pick());
        }
        break;
      }
      case 1: {
        auto& tensor =
            *graph.mutable_initializer(static_cast<int>(random() % graph.initializer_size()));
        if (tensor.int64_data_size() > 0) tensor.set_int64_data(0, pick());
        break;
      }
      case 2: {
        auto& tensor =
            *graph.mutable_initializer(static_cast<int>(random() % graph.initializer_size()));
        tensor.set_dims(0, pick());
        break;
      }
      default: {
        auto& dims =
            *graph.mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
        dims.mutable_dim(static_cast<int>(random() % dims.dim_size()))->set_dim_value(pick());
      }
    }
    taken(model.SerializeAsString());
  }
}

TEST_CASE("the shipped model with damage") {
  const std::string good = shipped();
  std::mt19937 random(17);
  for (int round = 0; round < 100; ++round) {
    std::string bytes = good;
    // The structure is in the first and last bytes around the weights.
    const std::size_t at = random() % 2 == 0 ? random() % std::min<std::size_t>(8000, bytes.size())
                                             : bytes.size() - 1 - random() % 2000;
    bytes[at] = static_cast<char>(random());
    taken(bytes);
    taken(good.substr(0, random() % good.size()));
  }
}
