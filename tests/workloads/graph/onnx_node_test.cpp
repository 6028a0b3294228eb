// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <set>
#include <sstream>

#include "models/base/error.h"
#include "onnx_model.h"
#include "workloads/graph/float_executor.h"
#include "workloads/graph/raw_model.h"

using namespace steppe;
using namespace steppe::graph;

namespace {

namespace fs = std::filesystem;

/// ONNX's own node tests, from Debian's package libonnx-testdata.
fs::path collection() {
  const char* given = std::getenv("STEPPE_ONNX_TESTDATA");
  return fs::path(given != nullptr ? given : "/usr/share/libonnx-testdata") / "data";
}

template <typename Proto>
Proto loaded(const fs::path& path) {
  Proto proto;
  std::ifstream stream(path, std::ios::binary);
  REQUIRE(proto.ParseFromIstream(&stream));
  return proto;
}

/// The elements by way of the reader: the tensor becomes the initialiser of a model.
Value value_of(const onnx::TensorProto& tensor) {
  test::Model model;
  *model.proto.mutable_graph()->add_initializer() = tensor;
  const test::TemporaryFile file(model.bytes());
  return read_onnx(file.path()).initialisers.at(0);
}

enum class Outcome : std::uint8_t { equal, different, refused };

/// `all`: every input but the first is a constant, as weights, slopes and scales are in real
/// models.
Outcome run_case(const fs::path& folder, bool all) {
  auto model = loaded<onnx::ModelProto>(folder / "model.onnx");
  std::map<std::string, std::vector<float>> inputs;
  for (int i = 0; i < model.graph().input_size(); ++i) {
    const fs::path file = folder / "test_data_set_0" / ("input_" + std::to_string(i) + ".pb");
    if (!fs::exists(file)) return Outcome::refused;
    auto tensor = loaded<onnx::TensorProto>(file);
    tensor.set_name(model.graph().input(i).name());
    const bool real = tensor.data_type() == onnx::TensorProto::FLOAT && tensor.dims_size() > 0;
    if (real && (i == 0 || !all)) {
      inputs[tensor.name()] = *value_of(tensor).fp32;
    } else {  // shapes, indices, bounds: constants in a real model
      *model.mutable_graph()->add_initializer() = tensor;
    }
  }
  const test::TemporaryFile file(model.SerializeAsString());
  Graph graph;
  try {
    graph = import_onnx(file.path());
  } catch (const UserError& error) {
    if (std::getenv("STEPPE_ONNX_VERBOSE") != nullptr)
      MESSAGE(folder.filename() << ": " << std::string(error.what()));
    return Outcome::refused;
  }
  FloatExecutor executor(graph);
  executor.run(inputs);
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    const Value wanted = value_of(loaded<onnx::TensorProto>(
        folder / "test_data_set_0" / ("output_" + std::to_string(i) + ".pb")));
    const std::vector<float>& result = executor.value(graph.outputs[i]);
    if (wanted.shape != graph.value(graph.outputs[i]).shape || !wanted.fp32)
      return Outcome::different;
    for (std::size_t k = 0; k < result.size(); ++k) {
      const float w = (*wanted.fp32)[k];
      if (!(std::abs(result[k] - w) <= 1e-5F + 1e-4F * std::abs(w)) &&
          !(std::isnan(w) && std::isnan(result[k])) && w != result[k]) {
        return Outcome::different;
      }
    }
  }
  return Outcome::equal;
}

void run_all(const char* set, int least) {
  if (!fs::exists(collection() / set)) {
    MESSAGE("skipped: libonnx-testdata is not installed");
    return;
  }
  int equal = 0;
  int refused = 0;
  for (const auto& entry : fs::directory_iterator(collection() / set)) {
    // Half precision is computed as fp32, which those tests tell apart.
    const std::string name = entry.path().filename().string();
    if (name.find("_to_FLOAT16") != name.npos || name.find("_to_BFLOAT16") != name.npos) continue;
    Outcome outcome = Outcome::refused;
    try {
      outcome = run_case(entry.path(), false);
      if (outcome != Outcome::different) {
        const Outcome second = run_case(entry.path(), true);
        outcome = second == Outcome::refused ? outcome : second;
      }
    } catch (const UserError&) {  // a tensor of a kind that is not read
    }
    CHECK_MESSAGE(outcome != Outcome::different, name);
    equal += outcome == Outcome::equal ? 1 : 0;
    refused += outcome == Outcome::refused ? 1 : 0;
  }
  MESSAGE(std::string(set) << ": " << equal << " equal, " << refused << " refused");
  CHECK(equal >= least);
}

}  // namespace

TEST_CASE("ONNX's node tests are computed or refused") { run_all("node", 250); }

TEST_CASE("ONNX's tests of operators from PyTorch are computed or refused") {
  run_all("pytorch-operator", 0);
}

TEST_CASE("ONNX's tests of layers from PyTorch are computed or refused") {
  run_all("pytorch-converted", 2);
}
