// SPDX-License-Identifier: Apache-2.0
// Runs the public ONNX model tests through `steppe compile` and `steppe run`; see README.md.
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <boost/program_options.hpp>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <thread>

#include "models/base/error.h"
#include "sim/files.h"
#include "sim/samples.h"
#include "tests/support/model_case.h"

using namespace steppe;
namespace fs = std::filesystem;
using graph::DataType;
using graph::Tensor;
using nlohmann::ordered_json;
using test::Fixing;
using test::ModelCase;

namespace {

constexpr std::array categories{"node", "pytorch-operator", "pytorch-converted", "simple"};

/// How far a real number may be from the expected one: absolute is a share of the largest expected
/// magnitude. README.md gives the reasons.
struct Tolerance {
  double relative = 1e-3;
  double absolute = 1e-7;
  double of_largest = 0;
};
/// `card`: the precision of what the card computed, where it computed anything.
Tolerance tolerance_of(DataType type, bool engine, const std::string& card) {
  if (card == "bf16") return {.relative = 0x1p-6, .absolute = 1e-7, .of_largest = 0x1p-6};
  if (engine) return {.relative = 0x1p-7, .absolute = 1e-7, .of_largest = 0x1p-6};
  if (type == DataType::bf16) return {.relative = 1.6e-2};
  if (type == DataType::fp16) return {.relative = 2e-3};
  return {};
}

/// Empty where the array of a file is what is expected.
std::string difference(const npy::Array& got, const Tensor& raw, bool engine,
                       const std::string& card) {
  const Tensor expected = test::as_type(raw, npy::is_real(got.type) ? DataType::bf16 : raw.type);
  const std::vector<std::uint64_t> shape(expected.shape.begin(), expected.shape.end());
  if (got.shape != shape) {
    return fmt::format("{} instead of {}", npy::text(got.shape), npy::text(shape));
  }
  const bool real = graph::is_real(expected.type);
  if (real != npy::is_real(got.type) || (!real && sim::type_of(got.type) != expected.type)) {
    return fmt::format("{} instead of {}", npy::name_of(got.type), graph::text(expected.type));
  }
  if (!real) {
    for (std::size_t i = 0; i < got.integers.size(); ++i) {
      if (got.integers[i] == expected.int64[i]) continue;
      return fmt::format("[{}] {} instead of {}", i, got.integers[i], expected.int64[i]);
    }
    return {};
  }
  const std::vector<double> wanted = graph::reals(expected);
  const Tolerance tolerance = tolerance_of(expected.type, engine, card);
  double largest = 0;
  for (const double x : wanted) {
    if (std::isfinite(x)) largest = std::max(largest, std::abs(x));
  }
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const double x = double{got.reals[i]};
    const double y = wanted[i];
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;
    const double allowed =
        tolerance.absolute + tolerance.of_largest * largest + tolerance.relative * std::abs(y);
    if (!(std::abs(x - y) <= allowed)) return fmt::format("[{}] {} instead of {}", i, x, y);
  }
  return {};
}

constexpr std::array fixing_names{"none", "integers", "all"};

/// `folded`: all inputs were fixed, and the compiler computed everything.
enum class Outcome : std::uint8_t { card, host, folded, unsupported, wrong };
constexpr std::array outcome_names{"card", "host", "folded", "unsupported", "wrong"};

struct Result {
  std::string name;
  std::set<std::string> operators;
  Outcome outcome = Outcome::unsupported;
  Fixing fixed = Fixing::none;
  std::string reason;
  std::vector<std::string> on_host;  ///< operators
};

std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

/// What a command ended with, and its last line of errors.
struct Ended {
  int code = 0;
  std::string error;
};
Ended execute(const std::string& command, const fs::path& folder) {
  const fs::path log = folder / "log";
  const int status = std::system((command + " >/dev/null 2>" + quoted(log)).c_str());
  Ended ended{.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status)};
  std::ifstream file(log);
  for (std::string line; std::getline(file, line);) {
    if (ended.error.empty()) ended.error = line;
  }
  const std::string front = "steppe: error: ";
  if (ended.error.starts_with(front)) ended.error = ended.error.substr(front.size());
  return ended;
}

class Runner {
 public:
  Runner(fs::path steppe, fs::path folder, std::string precision)
      : steppe_(std::move(steppe)), folder_(std::move(folder)), precision_(std::move(precision)) {
    fs::create_directories(folder_);
  }

  Result judge(const fs::path& test, const std::string& name) {
    Result result{.name = name};
    ModelCase c;
    try {
      c = test::read_case(test);
    } catch (const UserError& error) {
      result.reason = error.what();
      return result;
    }
    for (const graph::RawNode& node : c.model.nodes) result.operators.insert(node.op);
    for (const Fixing fixing : {Fixing::none, Fixing::integers, Fixing::all}) {
      result.fixed = fixing;
      try {
        run(test, c, fixing, result);
      } catch (const UserError& error) {
        result.reason = error.what();
      }
      if (result.outcome != Outcome::unsupported) break;
    }
    return result;
  }

 private:
  void run(const fs::path& test, const ModelCase& c, Fixing fixing, Result& result) {
    std::string compile =
        fmt::format("{} compile {} --precision {} --sparsity 1 --target s4 -o {}", quoted(steppe_),
                    quoted(test / "model.onnx"), precision_, quoted(folder_ / "p.shards"));
    std::string simulate = fmt::format("{} run {} --out {}", quoted(steppe_),
                                       quoted(folder_ / "p.shards"), quoted(folder_ / "out"));
    std::size_t files = 0;
    for (const graph::RawInput& input : c.model.inputs) {
      const auto given = c.inputs.find(input.name);
      if (given == c.inputs.end()) {
        result.reason = fmt::format("the test has no data for input '{}'", input.name);
        return;
      }
      const Tensor& tensor = given->second;
      const fs::path file = folder_ / fmt::format("{}.npy", files++);
      npy::write(file, sim::array_of(tensor));
      const std::string pair = quoted(input.name + "=" + file.string());
      if (is_fixed(tensor, fixing)) {
        compile += " --fix " + pair;
        continue;
      }
      simulate += " --input " + pair;
      for (std::size_t i = 0; i < input.axes.size() && i < tensor.shape.size(); ++i) {
        if (input.axes[i].extent >= 0) continue;
        compile += " --bind " + quoted(fmt::format("{}.{}={}", input.name, i, tensor.shape[i]));
      }
    }
    fs::remove_all(folder_ / "out");
    const Ended compiled = execute(compile, folder_);
    if (compiled.code != 0) return refuse(compiled, result);
    const Ended ran = execute(simulate, folder_);
    if (ran.code != 0) return refuse(ran, result);
    compare(c, result);
  }

  /// Codes 2 and 3 say that the model is not taken; all others are faults.
  static void refuse(const Ended& ended, Result& result) {
    result.outcome = ended.code == 2 || ended.code == 3 ? Outcome::unsupported : Outcome::wrong;
    result.reason = result.outcome == Outcome::wrong
                        ? fmt::format("exit code {}: {}", ended.code, ended.error)
                        : ended.error;
  }

  void compare(const ModelCase& c, Result& result) {
    std::ifstream file(folder_ / "out" / "summary.json");
    const ordered_json summary = ordered_json::parse(file);
    result.on_host.clear();
    if (summary.contains("host")) {
      for (const ordered_json& part : summary["host"]) {
        for (const ordered_json& node : part["nodes"]) result.on_host.push_back(node["operator"]);
      }
    }
    result.outcome = !result.on_host.empty()       ? Outcome::host
                     : result.fixed == Fixing::all ? Outcome::folded
                                                   : Outcome::card;
    result.reason.clear();
    const bool engine = summary["dense_macs"].get<std::uint64_t>() > 0;
    for (std::size_t i = 0; i < c.outputs.size(); ++i) {
      const std::string& output = c.model.outputs.at(i);
      const npy::Array got =
          npy::read(folder_ / "out" / "outputs" / (sim::file_name(output) + ".npy"));
      const std::string wrong = difference(got, c.outputs[i], engine, precision_);
      if (wrong.empty()) continue;
      result.outcome = Outcome::wrong;
      result.reason = fmt::format("output '{}': {}", output, wrong);
      return;
    }
  }

  fs::path steppe_, folder_;
  std::string precision_;
};

using Counts = std::array<int, outcome_names.size()>;

void print(const std::vector<Result>& results) {
  std::map<std::string, Counts> by_operator;
  Counts totals{};
  std::array<int, fixing_names.size()> fixed{};
  for (const Result& result : results) {
    const auto at = static_cast<std::size_t>(result.outcome);
    for (const std::string& op : result.operators) ++by_operator[op][at];
    ++totals[at];
    if (at < 3) ++fixed[static_cast<std::size_t>(result.fixed)];
  }
  const auto row = [](const std::string& name, const Counts& counts) {
    int sum = 0;
    for (const int count : counts) sum += count;
    fmt::print("{:<28}{:>6}{:>8}{:>8}{:>8}{:>13}{:>7}\n", name, sum, counts[0], counts[1],
               counts[2], counts[3], counts[4]);
  };
  fmt::print("{:<28}{:>6}{:>8}{:>8}{:>8}{:>13}{:>7}\n", "operator", "tests", "card", "host",
             "folded", "unsupported", "wrong");
  for (const auto& [op, counts] : by_operator) row(op, counts);
  fmt::print("\n");
  row("all tests", totals);
  fmt::print(
      "passed: {}, of them {} with lists of integers fixed; folded by the compiler with all "
      "inputs fixed: {}\n",
      totals[0] + totals[1], fixed[1], totals[2]);
  for (const Outcome outcome : {Outcome::unsupported, Outcome::wrong}) {
    fmt::print("\n{}:\n", outcome_names[static_cast<std::size_t>(outcome)]);
    for (const Result& result : results) {
      if (result.outcome == outcome) fmt::print("  {}: {:.160}\n", result.name, result.reason);
    }
  }
}

ordered_json to_json(const std::vector<Result>& results, const std::string& precision) {
  ordered_json tests = ordered_json::array();
  Counts totals{};
  for (const Result& result : results) {
    ++totals[static_cast<std::size_t>(result.outcome)];
    ordered_json test{{"test", result.name},
                      {"operators", result.operators},
                      {"outcome", outcome_names[static_cast<std::size_t>(result.outcome)]},
                      {"fixed_inputs", fixing_names[static_cast<std::size_t>(result.fixed)]}};
    if (!result.on_host.empty()) test["host_operators"] = result.on_host;
    if (!result.reason.empty()) test["reason"] = result.reason;
    tests.push_back(std::move(test));
  }
  ordered_json sums = ordered_json::object();
  for (std::size_t i = 0; i < totals.size(); ++i) sums[outcome_names[i]] = totals[i];
  return {{"precision", precision}, {"totals", sums}, {"tests", tests}};
}

std::vector<std::pair<fs::path, std::string>> find_tests(const fs::path& data) {
  std::vector<std::pair<fs::path, std::string>> tests;
  for (const char* category : categories) {
    if (!fs::exists(data / category)) continue;
    for (const auto& entry : fs::directory_iterator(data / category)) {
      if (!fs::exists(entry.path() / "model.onnx")) continue;
      tests.emplace_back(entry.path(),
                         fmt::format("{}/{}", category, entry.path().filename().string()));
    }
  }
  std::ranges::sort(tests, {}, [](const auto& test) { return test.second; });
  return tests;
}

std::vector<Result> run_all(const std::vector<std::pair<fs::path, std::string>>& tests,
                            const fs::path& steppe, const std::string& precision) {
  std::string name = fs::temp_directory_path() / "steppe-conformance-XXXXXX";
  if (mkdtemp(name.data()) == nullptr) throw ConfigError("no temporary folder can be made");
  const fs::path folder = name;
  std::vector<Result> results(tests.size());
  std::atomic<std::size_t> next{0};
  std::vector<std::jthread> workers;
  const unsigned count = std::clamp(std::thread::hardware_concurrency(), 1U, 16U);
  for (unsigned worker = 0; worker < count; ++worker) {
    workers.emplace_back([&, worker] {
      Runner runner(steppe, folder / std::to_string(worker), precision);
      for (std::size_t i = next++; i < tests.size(); i = next++) {
        try {
          results[i] = runner.judge(tests[i].first, tests[i].second);
        } catch (const std::exception& error) {
          results[i] = {.name = tests[i].second, .outcome = Outcome::wrong, .reason = error.what()};
        }
      }
    });
  }
  workers.clear();
  fs::remove_all(folder);
  return results;
}

int run(int argc, char** argv) {
  namespace options = boost::program_options;
  std::string steppe, data, json, precision;
  int passed = 0, card = 0, wrong = 0;
  options::options_description described("options");
  auto add = described.add_options();
  add("steppe", options::value(&steppe)->required(), "the program");
  add("data", options::value(&data)->default_value("/usr/share/libonnx-testdata/data"),
      "folder of the tests, by category");
  add("precision", options::value(&precision)->default_value("fp32"), "fp32 or bf16");
  add("json", options::value(&json), "FILE: every test's outcome");
  add("passed", options::value(&passed), "fail where fewer tests pass");
  add("card", options::value(&card), "fail where fewer pass without a host shard");
  add("wrong", options::value(&wrong)->default_value(0), "fail where more are wrong");
  add("help,h", "print this");
  options::positional_options_description place;
  place.add("steppe", 1);
  options::variables_map values;
  options::store(
      options::command_line_parser(argc, argv).options(described).positional(place).run(), values);
  if (values.count("help") != 0) {
    std::cout << "usage: steppe-conformance STEPPE [OPTION …]\n\n" << described;
    return 0;
  }
  options::notify(values);
  if (precision != "fp32" && precision != "bf16") {
    throw ConfigError("--precision {}: fp32 or bf16 are right", precision);
  }
  const auto tests = find_tests(data);
  if (tests.empty()) {
    fmt::print("skipped: {} holds no model tests; the package libonnx-testdata has them\n", data);
    return 0;
  }
  const std::vector<Result> results = run_all(tests, steppe, precision);
  print(results);
  if (!json.empty()) sim::write_file(json, to_json(results, precision).dump(1) + "\n");
  Counts totals{};
  for (const Result& result : results) ++totals[static_cast<std::size_t>(result.outcome)];
  return totals[4] > wrong || totals[0] + totals[1] < passed || totals[0] < card ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "steppe-conformance: error: " << error.what() << '\n';
    return 2;
  }
}

// SystemC's library asks for one; nothing is simulated in this process.
int sc_main(int, char**) { return 0; }
