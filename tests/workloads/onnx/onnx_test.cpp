// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>

#include "tests/support/model_case.h"
#include "workloads/graph/float_executor.h"

using namespace steppe;
using namespace steppe::graph;
using namespace steppe::test;
namespace fs = std::filesystem;

namespace {

const fs::path root = "/usr/share/libonnx-testdata/data";

/// The tolerances of ONNX's own runner for fp32; one unit in the last place or two for the short
/// types; integers exactly.
bool near(DataType type, double got, double expected) {
  if (!is_real(type) || got == expected) return got == expected;
  if (std::isnan(got) || std::isnan(expected)) return std::isnan(got) && std::isnan(expected);
  const double relative = type == DataType::fp16 ? 2e-3 : type == DataType::bf16 ? 1.6e-2 : 1e-3;
  return std::abs(got - expected) <= 1e-7 + relative * std::abs(expected);
}

/// Empty where the two agree.
std::string difference(const Tensor& got, const Tensor& expected) {
  if (got.type != expected.type) {
    return fmt::format("{} instead of {}", text(got.type), text(expected.type));
  }
  if (got.shape != expected.shape) {
    return fmt::format("{} instead of {}", text(got.shape), text(expected.shape));
  }
  const std::vector<double> a = reals(got);
  const std::vector<double> b = reals(expected);
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!near(got.type, a[i], b[i])) return fmt::format("[{}] {} instead of {}", i, a[i], b[i]);
  }
  return {};
}

std::string run(const fs::path& test, const ModelCase& c, Fixing fixing) {
  ImportOptions options;
  options.exact_types = true;
  std::map<std::string, Tensor> fed;
  for (const RawInput& input : c.model.inputs) {
    const auto given = c.inputs.find(input.name);
    if (given == c.inputs.end()) throw ModelError("no data for '{}'", input.name);
    const Tensor& tensor = given->second;
    if (is_fixed(tensor, fixing)) {
      options.fixed[input.name] = tensor;
      continue;
    }
    fed[input.name] = tensor;
    for (std::size_t axis = 0; axis < input.axes.size() && axis < tensor.shape.size(); ++axis) {
      if (input.axes[axis].extent >= 0) continue;
      options.bindings[fmt::format("{}.{}", input.name, axis)] = tensor.shape[axis];
    }
  }
  const Graph graph = import_onnx(test / "model.onnx", options);
  FloatExecutor executor(graph);
  executor.run_tensors(fed);
  if (graph.outputs.size() != c.outputs.size()) {
    return fmt::format("{} outputs, {} expected", graph.outputs.size(), c.outputs.size());
  }
  for (std::size_t i = 0; i < c.outputs.size(); ++i) {
    const Tensor got = executor.tensor(graph.outputs[i]);
    const std::string wrong = difference(got, as_type(c.outputs[i], got.type));
    if (!wrong.empty()) return fmt::format("output {}: {}", i, wrong);
  }
  return {};
}

struct Outcome {
  enum Kind { right, wrong, refused } kind = right;
  std::string reason;
  Fixing fixing = Fixing::none;
};

Outcome judge(const fs::path& test) {
  std::string refusal;
  for (const Fixing fixing : {Fixing::none, Fixing::integers, Fixing::all}) {
    try {
      const std::string wrong = run(test, read_case(test), fixing);
      return {wrong.empty() ? Outcome::right : Outcome::wrong, wrong, fixing};
    } catch (const InternalError&) {
      throw;
    } catch (const std::exception& error) {
      refusal = error.what();
    }
  }
  return {Outcome::refused, refusal, Fixing::none};
}

/// Lines "category/name<tab>reason"; the reasons are for the reader.
std::map<std::string, std::string> expected_refusals() {
  std::map<std::string, std::string> result;
  std::ifstream file(fs::path(STEPPE_SOURCE_DIR) / "tests/workloads/onnx/refused.txt");
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    const std::size_t tab = line.find('\t');
    result[line.substr(0, tab)] = tab == std::string::npos ? "" : line.substr(tab + 1);
  }
  return result;
}

void run_category(const std::string& category) {
  if (!fs::exists(root / category)) {
    MESSAGE("libonnx-testdata is not installed; skipped");
    return;
  }
  std::map<std::string, std::string> expected = expected_refusals();
  std::map<Fixing, int> right;
  int refused = 0;
  std::vector<fs::path> tests;
  for (const auto& entry : fs::directory_iterator(root / category)) {
    if (fs::exists(entry.path() / "model.onnx")) tests.push_back(entry.path());
  }
  std::sort(tests.begin(), tests.end());
  const char* list = std::getenv("STEPPE_ONNX_LIST");  // prints what is not right, to a file
  std::ofstream report(list == nullptr ? "/dev/null" : list, std::ios::app);
  for (const fs::path& test : tests) {
    const std::string name = category + "/" + test.filename().string();
    CAPTURE(name);
    const Outcome outcome = judge(test);
    if (outcome.kind != Outcome::right) {
      report << (outcome.kind == Outcome::wrong ? "WRONG\t" : "") << name << '\t' << outcome.reason
             << '\n';
    }
    CHECK_MESSAGE(outcome.kind != Outcome::wrong, outcome.reason);
    const bool is_refused = outcome.kind == Outcome::refused;
    CHECK_MESSAGE(
        is_refused == expected.contains(name),
        (is_refused ? "refused: " + outcome.reason : std::string("not refused any more")));
    if (is_refused) ++refused;
    if (outcome.kind == Outcome::right) ++right[outcome.fixing];
  }
  MESSAGE(category << ": " << tests.size() << " tests; right " << right[Fixing::none] << ", "
                   << right[Fixing::integers] << " with fixed integers, " << right[Fixing::all]
                   << " with fixed inputs; refused " << refused);
}

}  // namespace

TEST_CASE("public model tests: single operators") { run_category("node"); }
TEST_CASE("public model tests: operators exported by PyTorch") { run_category("pytorch-operator"); }
TEST_CASE("public model tests: layers exported by PyTorch") { run_category("pytorch-converted"); }
TEST_CASE("public model tests: small models") { run_category("simple"); }
