// SPDX-License-Identifier: Apache-2.0
//
// Mutates ONNX files and imports them: each must be taken or refused with an error of the user's
// kind. import_fuzz COUNT SEED FILE…
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "models/base/error.h"
#include "workloads/graph/float_executor.h"
#include "workloads/graph/import.h"

namespace {

/// SplitMix64 (Steele, Lea, Flood 2014).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15U);
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31U);
  }
  std::size_t below(std::size_t n) { return n == 0 ? 0 : next() % n; }

 private:
  std::uint64_t state_;
};

/// One to eight changes: a byte, a bit, an extreme number, a piece repeated, moved or cut out.
std::string mutated(std::string bytes, Random& random) {
  for (std::size_t n = 1 + random.below(8); n > 0 && !bytes.empty(); --n) {
    const std::size_t at = random.below(bytes.size());
    const std::size_t length = 1 + random.below(std::min<std::size_t>(32, bytes.size() - at));
    switch (random.below(6)) {
      case 0:
        bytes[at] = static_cast<char>(random.next());
        break;
      case 1:
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << random.below(8)));
        break;
      case 2:
        bytes[at] = std::string("\x00\x01\x7f\x80\xff\x08", 6)[random.below(6)];
        break;
      case 3:
        bytes.insert(random.below(bytes.size()), bytes.substr(at, length));
        break;
      case 4:
        bytes.erase(at, length);
        break;
      default:
        bytes.replace(at, length, bytes.substr(random.below(bytes.size()), length));
    }
  }
  return bytes;
}

/// Runs the model on zeros where it is small.
void import_and_run(const std::filesystem::path& file, bool exact_types) {
  using namespace steppe::graph;
  ImportOptions options;
  options.exact_types = exact_types;
  const Graph graph = import_onnx(file, options);
  std::map<std::string, Tensor> inputs;
  for (const ValueId id : graph.inputs) {
    const Value& value = graph.value(id);
    if (value.elements() > 65536) return;
    inputs[value.name] = zeros(value.type, value.shape);
  }
  for (const Value& value : graph.values) {
    if (value.elements() > 1048576) return;
  }
  FloatExecutor(graph).run_tensors(inputs);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const long count = std::atol(argv[1]);
  const std::uint64_t seed = std::strtoull(argv[2], nullptr, 10);
  std::vector<std::string> files;
  for (int i = 3; i < argc; ++i) {
    std::ifstream stream(argv[i], std::ios::binary);
    files.emplace_back(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
    if (files.back().empty()) files.pop_back();
  }
  if (files.empty()) {
    fmt::print("no file to mutate; skipped\n");
    return 0;
  }
  const auto path = std::filesystem::temp_directory_path() /
                    fmt::format("steppe_import_fuzz_{}_{}.onnx", ::getpid(), seed);
  long taken = 0;
  std::size_t digest = 0;  // tells runs apart: of all mutations, in order
  for (long i = 0; i < count; ++i) {
    Random random(seed * 0x100000001b3U + static_cast<std::uint64_t>(i));
    const std::string bytes = mutated(files[random.below(files.size())], random);
    digest = digest * 31 + std::hash<std::string>{}(bytes);
    std::ofstream(path, std::ios::binary) << bytes;
    try {
      import_and_run(path, random.below(2) == 0);
      ++taken;
    } catch (const steppe::UserError&) {
      continue;
    } catch (const std::exception& error) {
      fmt::print("seed {}, mutation {}: {} (kept in {})\n", seed, i, error.what(), path.string());
      return 1;
    }
  }
  std::filesystem::remove(path);
  fmt::print("{} mutations: {} taken, {} refused; digest {:016x}\n", count, taken, count - taken,
             digest);
  return 0;
}
