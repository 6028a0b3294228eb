// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "models/base/param.h"
#include "sim/samples.h"
#include "workloads/graph/float_executor.h"
#include "workloads/package/package.h"

namespace steppe::sim {

/// A processor of the host, described by its roofline: a node takes the longer of its operations
/// and its bytes, and a fixed time.
struct ProcessorParams {
  ProcessorParams(const Scope& scope, double operations, double bandwidth, double call);
  Param<double> operations;  ///< 0: there is none
  Param<double> bandwidth;
  Param<double> call;
};
/// What runs the host shards: the CPU, or a GPU where there is one and it is faster, arrays moved
/// over its link.
struct HostProcessors {
  explicit HostProcessors(const Scope& host);
  ProcessorParams cpu;
  ProcessorParams gpu;
  Param<double> gpu_link;
};

/// A node of a host shard and its time.
struct HostNode {
  std::string name;
  std::string op;  ///< ONNX's name
  double seconds = 0;
};
struct HostPart {
  std::string processor;  ///< "CPU" or "GPU"
  std::vector<HostNode> nodes;
  double call_seconds = 0;      ///< to begin with it
  double transfer_seconds = 0;  ///< to the GPU and back
  [[nodiscard]] double seconds() const;
};

/// The host's share of a package: what turns the user's arrays into those of the card's ports, and
/// back. Without host shards they are the same.
class HostProgram {
 public:
  /// Throws PackageError naming the field where a host shard cannot be taken, or does not make what
  /// the card and the other one need.
  explicit HostProgram(const package::Package& package);

  [[nodiscard]] const std::vector<Signature>& inputs() const { return inputs_; }
  [[nodiscard]] const std::vector<Signature>& outputs() const { return outputs_; }

  /// What one run has behind the first part: the card's inputs, and what waits for the second.
  struct Frame {
    std::vector<graph::Tensor> card;
    std::map<std::string, graph::Tensor> kept;
  };
  /// `user` by `inputs()`. Throws ModelError where a node meets elements it is not defined for.
  Frame before(std::vector<graph::Tensor> user);
  /// `card` by the package's outputs; the result by `outputs()`.
  std::vector<graph::Tensor> after(Frame frame, std::vector<graph::Tensor> card);

  /// Both parts and what they take on this host; empty without host shards.
  [[nodiscard]] std::vector<HostPart> parts(const HostProcessors& processors) const;

 private:
  struct Shard {
    explicit Shard(graph::Graph g) : graph(std::move(g)), executor(graph) {}
    graph::Graph graph;
    graph::FloatExecutor executor;
  };
  void check_names(const package::Package& package) const;

  std::vector<std::string> card_inputs_, card_outputs_;
  std::vector<Signature> inputs_, outputs_;
  std::unique_ptr<Shard> before_, after_;
};

/// Judges everything in a package that running it relies on and gives its host's share. Throws
/// PackageError naming the file `path`.
HostProgram checked_program(const package::Package& package, const std::string& path);

nlohmann::ordered_json to_json(const std::vector<HostPart>& parts);
/// One line a part: how many nodes of which operators, and their time; empty where nothing runs.
std::string format_lines(const std::vector<HostPart>& parts);

}  // namespace steppe::sim
