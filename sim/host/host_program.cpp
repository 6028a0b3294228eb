// SPDX-License-Identifier: Apache-2.0
#include "sim/host/host_program.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "models/base/error.h"
#include "sim/report/text.h"
#include "sim/stream_check.h"
#include "workloads/graph/cost.h"
#include "workloads/graph/serial.h"
#include "workloads/operators/host.h"

namespace steppe::sim {
namespace {

using graph::Graph;
using graph::Tensor;

constexpr double max_operations = 1e18;

graph::Graph read_graph(const package::Package& package, std::size_t index) {
  try {
    return graph::deserialise(package.host[index].graph);
  } catch (const ModelError& error) {
    throw PackageError("host[{}]: {}", index, error.what());
  }
}

std::vector<Signature> signatures(const Graph& graph, const std::vector<graph::ValueId>& ids) {
  std::vector<Signature> result;
  result.reserve(ids.size());
  for (const graph::ValueId id : ids) result.push_back(signature_of(graph.value(id)));
  return result;
}

HostPart timed(const Graph& graph, const char* name, const ProcessorParams& processor) {
  HostPart part{.processor = name, .nodes = {}, .call_seconds = processor.call};
  for (const graph::Node& node : graph.nodes) {
    const graph::Cost cost = graph::cost_of(graph, node);
    const bool host = node.op.starts_with(graph::host_prefix);
    part.nodes.push_back({node.name, host ? node.op.substr(graph::host_prefix.size()) : node.op,
                          processor.call + std::max(cost.operations / processor.operations,
                                                    cost.bytes / processor.bandwidth)});
  }
  return part;
}

double bytes_of(const Graph& graph, const std::vector<graph::ValueId>& ids) {
  double bytes = 0;
  for (const graph::ValueId id : ids) {
    const graph::Value& value = graph.value(id);
    bytes += static_cast<double>(value.elements() * graph::bits_of(value.type)) / 8;
  }
  return bytes;
}

}  // namespace

ProcessorParams::ProcessorParams(const Scope& scope, double operations_, double bandwidth_,
                                 double call_)
    : operations(scope, "operations", operations_, "1/s", "a multiply-accumulate is two; 0: none",
                 {0, max_operations}),
      bandwidth(scope, "bandwidth", bandwidth_, "B/s", "of its memory", {1e6, 1e15}),
      call(scope, "call", call_, "s", "that each part and each of its nodes takes besides",
           {0, 1}) {}

HostProcessors::HostProcessors(const Scope& host)
    : cpu(host.child("cpu"), 1e12, 100e9, 2e-6),
      gpu(host.child("gpu"), 0, 900e9, 5e-6),
      gpu_link(host.child("gpu"), "link", 12e9, "B/s", "between it and the host's memory",
               {1e6, 1e15}) {
  if (cpu.operations == 0) throw ConfigError("host.cpu.operations: 0; a host has a CPU");
}

double HostPart::seconds() const {
  double sum = call_seconds + transfer_seconds;
  for (const HostNode& node : nodes) sum += node.seconds;
  return sum;
}

HostProgram::HostProgram(const package::Package& package) {
  for (const package::Port& port : package.inputs) inputs_.push_back(signature_of(port));
  for (const package::Port& port : package.outputs) outputs_.push_back(signature_of(port));
  for (const Signature& input : inputs_) card_inputs_.push_back(input.name);
  for (const Signature& output : outputs_) card_outputs_.push_back(output.name);
  if (package.host.empty()) return;
  before_ = std::make_unique<Shard>(read_graph(package, 0));
  after_ = std::make_unique<Shard>(read_graph(package, 1));
  check_names(package);
  inputs_ = signatures(before_->graph, before_->graph.inputs);
  outputs_ = signatures(after_->graph, after_->graph.outputs);
}

/// Everything that is taken is made, with the same type and size.
void HostProgram::check_names(const package::Package& package) const {
  std::map<std::string, Signature> made;
  for (const Signature& value : signatures(before_->graph, before_->graph.outputs)) {
    made[value.name] = value;
  }
  const auto need = [&](const Signature& wanted, const std::string& field) {
    const auto found = made.find(wanted.name);
    if (found == made.end()) {
      throw PackageError("{}: '{}' is made by nothing in front of it", field, wanted.name);
    }
    if (found->second.dims == wanted.dims && found->second.type == wanted.type) return;
    throw PackageError("{}: '{}' is {} of {} but made as {} of {}", field, wanted.name,
                       npy::text(wanted.dims), graph::text(wanted.type),
                       npy::text(found->second.dims), graph::text(found->second.type));
  };
  for (const package::Port& port : package.inputs) need(signature_of(port), "inputs");
  for (const package::Port& port : package.outputs) made[port.name] = signature_of(port);
  for (const Signature& value : signatures(after_->graph, after_->graph.inputs)) {
    need(value, "host[1].inputs");
  }
}

HostProgram::Frame HostProgram::before(std::vector<Tensor> user) {
  if (!before_) return {std::move(user), {}};
  std::map<std::string, Tensor> inputs;
  for (std::size_t i = 0; i < user.size(); ++i) inputs[inputs_[i].name] = std::move(user[i]);
  before_->executor.run_tensors(inputs);
  Frame frame;
  for (const graph::ValueId id : before_->graph.outputs) {
    frame.kept[before_->graph.value(id).name] = before_->executor.tensor(id);
  }
  for (const std::string& name : card_inputs_) frame.card.push_back(frame.kept.at(name));
  return frame;
}

std::vector<Tensor> HostProgram::after(Frame frame, std::vector<Tensor> card) {
  if (!after_) return card;
  for (std::size_t i = 0; i < card.size(); ++i) frame.kept[card_outputs_[i]] = std::move(card[i]);
  std::map<std::string, Tensor> inputs;
  for (const graph::ValueId id : after_->graph.inputs) {
    const std::string& name = after_->graph.value(id).name;
    inputs[name] = frame.kept.at(name);
  }
  after_->executor.run_tensors(inputs);
  std::vector<Tensor> outputs;
  for (const graph::ValueId id : after_->graph.outputs) {
    outputs.push_back(after_->executor.tensor(id));
  }
  return outputs;
}

std::vector<HostPart> HostProgram::parts(const HostProcessors& processors) const {
  std::vector<HostPart> parts;
  for (const Shard* shard : {before_.get(), after_.get()}) {
    if (shard == nullptr) return {};
    HostPart part = timed(shard->graph, "CPU", processors.cpu);
    if (processors.gpu.operations > 0 && !part.nodes.empty()) {
      HostPart other = timed(shard->graph, "GPU", processors.gpu);
      other.transfer_seconds = (bytes_of(shard->graph, shard->graph.inputs) +
                                bytes_of(shard->graph, shard->graph.outputs)) /
                               processors.gpu_link;
      if (other.seconds() < part.seconds()) part = std::move(other);
    }
    parts.push_back(std::move(part));
  }
  return parts;
}

HostProgram checked_program(const package::Package& package, const std::string& path) {
  try {
    check_streams(package);
    return HostProgram(package);
  } catch (const PackageError& error) {
    throw PackageError("{}: {}", path, error.what());
  }
}

nlohmann::ordered_json to_json(const std::vector<HostPart>& parts) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  constexpr std::array phases{"before", "after"};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    nlohmann::ordered_json nodes = nlohmann::ordered_json::array();
    for (const HostNode& node : parts[i].nodes) {
      nodes.push_back({{"node", node.name}, {"operator", node.op}, {"seconds", node.seconds}});
    }
    json.push_back({{"phase", phases.at(i)},
                    {"processor", parts[i].processor},
                    {"seconds", parts[i].seconds()},
                    {"transfer_seconds", parts[i].transfer_seconds},
                    {"nodes", nodes}});
  }
  return json;
}

std::string format_lines(const std::vector<HostPart>& parts) {
  std::string text;
  constexpr std::array phases{"before the card", "after it"};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].nodes.empty()) continue;
    std::map<std::string, std::size_t> count;
    for (const HostNode& node : parts[i].nodes) ++count[node.op];
    std::vector<std::string> operators;
    operators.reserve(count.size());
    for (const auto& [op, times] : count) {
      operators.push_back(times == 1 ? op : fmt::format("{} {}", times, op));
    }
    text += fmt::format("host {}           {} node(s) {} take {} a run: {}\n", parts[i].processor,
                        parts[i].nodes.size(), phases.at(i), format_seconds(parts[i].seconds()),
                        fmt::join(operators, ", "));
  }
  return text;
}

}  // namespace steppe::sim
