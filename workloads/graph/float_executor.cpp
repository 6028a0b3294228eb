// SPDX-License-Identifier: Apache-2.0
#include "workloads/graph/float_executor.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "models/base/config.h"
#include "models/base/error.h"
#include "workloads/graph/kernels.h"
#include "workloads/graph/shape.h"
#include "workloads/operators/host.h"

namespace steppe::graph {
namespace {

bool by_operators(const Node& node) {
  return node.op.starts_with(host_prefix) || computed_by_operators(node.op);
}

template <typename T>
void check_inputs(const Graph& graph, const std::map<std::string, T>& inputs) {
  std::vector<std::string> names;
  for (const ValueId id : graph.inputs) names.push_back(graph.value(id).name);
  for (const auto& [name, elements] : inputs) {
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      throw ModelError("'{}' has no input '{}'; it has {}", graph.name, name,
                       fmt::join(names, ", "));
    }
  }
  for (const ValueId id : graph.inputs) {
    const Value& value = graph.value(id);
    if (!inputs.contains(value.name)) {
      throw ModelError("'{}' gets no input '{}', {}", graph.name, value.name, text(value.shape));
    }
  }
}

}  // namespace

FloatExecutor::FloatExecutor(const Graph& graph) : graph_(graph), values_(graph.values.size()) {
  check(graph);
  for (const Node& node : graph.nodes) {
    for (const ValueId id : node.inputs) {
      if (id == no_value || !graph.value(id).constant) continue;
      const Value& value = graph.value(id);
      if (!value.fp32 && !value.fp64 && !value.int64) {
        throw ModelError("constant '{}' has no elements; such a model can be timed, not computed",
                         value.name);
      }
      if (by_operators(node)) values_[id] = tensor_of(value);
    }
  }
  clear_states();
}

void FloatExecutor::clear_states() {
  for (ValueId id = 0; id < graph_.values.size(); ++id) {
    if (graph_.value(id).state) values_[id] = zeros(DataType::fp32, graph_.value(id).shape);
  }
}

void FloatExecutor::set_state(ValueId id, std::vector<float> elements) {
  STEPPE_CHECK(graph_.value(id).state && elements.size() == graph_.value(id).elements());
  values_[id].fp32 = std::move(elements);
}

const std::vector<float>& FloatExecutor::value(ValueId id) const {
  const Value& value = graph_.value(id);
  return value.constant && value.fp32 ? *value.fp32 : values_[id].fp32;
}

const std::vector<float>& FloatExecutor::numbers(ValueId id, std::vector<float>& storage) const {
  const Value& value = graph_.value(id);
  if (is_real(value.type)) return this->value(id);
  const std::vector<std::int64_t>& integers =
      value.constant && value.int64 ? *value.int64 : values_[id].int64;
  storage.assign(integers.begin(), integers.end());
  return storage;
}

Tensor FloatExecutor::tensor(ValueId id) const {
  const Value& value = graph_.value(id);
  return value.constant ? tensor_of(value) : values_[id];
}

void FloatExecutor::take(ValueId id, Tensor given) {
  const Value& value = graph_.value(id);
  const std::size_t size = given.fp32.size() + given.fp64.size() + given.int64.size();
  if (size != value.elements()) {
    throw ModelError("input '{}' of {} gets {} elements", value.name, text(value.shape), size);
  }
  if (given.type != value.type) {
    throw ModelError("input '{}' is of {} and gets {}", value.name, text(value.type),
                     text(given.type));
  }
  given.shape = value.shape;
  values_[id] = std::move(given);
}

void FloatExecutor::run(const std::map<std::string, std::vector<float>>& inputs) {
  check_inputs(graph_, inputs);
  for (const ValueId id : graph_.inputs) {
    const Value& value = graph_.value(id);
    Tensor tensor{.type = value.type};
    const std::vector<float>& given = inputs.at(value.name);
    if (is_real(value.type)) {
      tensor.fp32 = given;
    } else {
      tensor.int64.assign(given.begin(), given.end());
    }
    take(id, std::move(tensor));
  }
  for (const Node& node : graph_.nodes) run_node(node);
}

void FloatExecutor::run_tensors(const std::map<std::string, Tensor>& inputs) {
  check_inputs(graph_, inputs);
  for (const ValueId id : graph_.inputs) take(id, inputs.at(graph_.value(id).name));
  for (const Node& node : graph_.nodes) run_node(node);
}

void FloatExecutor::run_host_node(const Node& node) {
  std::vector<const Tensor*> operands;
  for (const ValueId id : node.inputs) {
    operands.push_back(id == no_value ? nullptr : &values_[id]);
  }
  std::vector<Tensor> results = run_host(node, operands);
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    const Value& declared = graph_.value(node.outputs[i]);
    if (i >= results.size() || results[i].shape != declared.shape ||
        results[i].type != declared.type) {
      throw ModelError("{}: its result is not what '{}' is declared to be", described(node),
                       declared.name);
    }
    values_[node.outputs[i]] = std::move(results[i]);
  }
}

/// Elements in `int64`, which are moved alone.
void FloatExecutor::run_movement_of_integers(const Node& node) {
  std::vector<std::int64_t>& out = values_[node.outputs[0]].int64;
  out.resize(graph_.value(node.outputs[0]).elements());
  Call<std::int64_t> call{graph_, node, {}, out.data()};
  for (const ValueId id : node.inputs) {
    const Value& value = graph_.value(id);
    call.in.push_back(value.int64 ? value.int64->data() : values_[id].int64.data());
  }
  run_kernel(call);
}

void FloatExecutor::run_node(const Node& node) {
  if (by_operators(node)) return run_host_node(node);
  const ValueId result = node.outputs[0];
  values_[result].shape = graph_.value(result).shape;
  values_[result].type = graph_.value(result).type;
  if (!is_real(values_[result].type)) return run_movement_of_integers(node);
  std::vector<float>& out = values_[result].fp32;
  out.resize(graph_.value(result).elements());
  Call<float> call{graph_, node, {}, out.data()};
  for (const ValueId id : node.inputs) {
    const bool readable = id != no_value && graph_.value(id).type == DataType::fp32;
    call.in.push_back(readable ? value(id).data() : nullptr);
  }
  if (node.op != "CacheStore") return run_kernel(call);
  std::vector<float>& cache = values_[node.inputs[1]].fp32;
  const Shape steps = row_major_steps(graph_.value(result).shape);
  const auto axis = static_cast<std::size_t>(node.integer("axis"));
  const Shape& shape = call.in_shape(0);
  copy_strided(shape, call.in[0], row_major_steps(shape),
               cache.data() + node.integer("position") * steps[axis], steps);
  out = cache;
}

}  // namespace steppe::graph
