// SPDX-License-Identifier: Apache-2.0
#include "workloads/graph/float_executor.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "models/base/config.h"
#include "models/base/error.h"
#include "workloads/graph/kernels.h"
#include "workloads/graph/shape.h"

namespace steppe::graph {
namespace {

void check_inputs(const Graph& graph, const std::map<std::string, std::vector<float>>& inputs) {
  std::vector<std::string> names;
  for (const ValueId id : graph.inputs) names.push_back(graph.value(id).name);
  for (const auto& [name, elements] : inputs) {
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      throw ModelError("'{}' has no input '{}'; it has {}", graph.name, name,
                       fmt::join(names, ", "));
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
      if (value.type == DataType::fp32 ? !value.fp32 : !value.int64) {
        throw ModelError("constant '{}' has no elements; such a model can be timed, not computed",
                         value.name);
      }
    }
  }
  clear_states();
}

void FloatExecutor::clear_states() {
  for (ValueId id = 0; id < graph_.values.size(); ++id) {
    if (graph_.value(id).state) values_[id].assign(graph_.value(id).elements(), 0.0F);
  }
}

void FloatExecutor::set_state(ValueId id, std::vector<float> elements) {
  STEPPE_CHECK(graph_.value(id).state && elements.size() == graph_.value(id).elements());
  values_[id] = std::move(elements);
}

const std::vector<float>& FloatExecutor::value(ValueId id) const {
  const Value& value = graph_.value(id);
  return value.constant && value.fp32 ? *value.fp32 : values_[id];
}

void FloatExecutor::run(const std::map<std::string, std::vector<float>>& inputs) {
  check_inputs(graph_, inputs);
  for (const ValueId id : graph_.inputs) {
    const Value& value = graph_.value(id);
    const auto given = inputs.find(value.name);
    if (given == inputs.end()) {
      throw ModelError("'{}' gets no input '{}', {}", graph_.name, value.name, text(value.shape));
    }
    if (given->second.size() != value.elements()) {
      throw ModelError("input '{}' of {} gets {} elements", value.name, text(value.shape),
                       given->second.size());
    }
    values_[id] = given->second;
  }
  for (const Node& node : graph_.nodes) run_node(node);
}

void FloatExecutor::run_node(const Node& node) {
  const ValueId result = node.outputs[0];
  std::vector<float>& out = values_[result];
  out.resize(graph_.value(result).elements());
  Call<float> call{graph_, node, {}, out.data()};
  for (const ValueId id : node.inputs) {
    const bool readable = id != no_value && graph_.value(id).type == DataType::fp32;
    call.in.push_back(readable ? value(id).data() : nullptr);
  }
  if (node.op != "CacheStore") return run_kernel(call);
  std::vector<float>& cache = values_[node.inputs[1]];
  const Shape steps = row_major_steps(graph_.value(result).shape);
  const auto axis = static_cast<std::size_t>(node.integer("axis"));
  const Shape& shape = call.in_shape(0);
  copy_strided(shape, call.in[0], row_major_steps(shape),
               cache.data() + node.integer("position") * steps[axis], steps);
  out = cache;
}

}  // namespace steppe::graph
