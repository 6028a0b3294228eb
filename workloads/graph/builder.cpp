// SPDX-License-Identifier: Apache-2.0
#include "workloads/graph/builder.h"

#include <algorithm>

#include "models/base/error.h"
#include "workloads/graph/kernels.h"

namespace steppe::graph {

std::string Builder::unique(const std::string& name, std::unordered_set<std::string>& taken) {
  std::string result = name;
  for (int i = 2; !taken.insert(result).second; ++i) result = fmt::format("{}.{}", name, i);
  return result;
}

ValueId Builder::add_value(Value value) {
  value.name = unique(value.name, value_names_);
  graph_.values.push_back(std::move(value));
  return static_cast<ValueId>(graph_.values.size() - 1);
}

ValueId Builder::input(const std::string& name, DataType type, Shape shape) {
  checked_elements(shape, fmt::format("input '{}'", name));
  Value value;
  value.name = name;
  value.type = type;
  value.shape = std::move(shape);
  graph_.inputs.push_back(add_value(std::move(value)));
  return graph_.inputs.back();
}

ValueId Builder::state(const std::string& name, Shape shape) {
  Value value;
  value.name = name;
  value.shape = std::move(shape);
  value.state = true;
  return add_value(std::move(value));
}

ValueId Builder::constant(Value value) {
  value.constant = true;
  return add_value(std::move(value));
}

ValueId Builder::constant(const std::string& name, Shape shape) {
  Value value;
  value.name = name;
  value.shape = std::move(shape);
  return constant(std::move(value));
}

ValueId Builder::constant(const std::string& name, Shape shape, std::vector<float> elements) {
  const ValueId id = constant(name, std::move(shape));
  STEPPE_CHECK(elements.size() == value(id).elements(), "{}", name);
  graph_.values[id].fp32 = std::make_shared<const std::vector<float>>(std::move(elements));
  return id;
}

ValueId Builder::integers(const std::string& name, Shape shape,
                          std::vector<std::int64_t> elements) {
  const ValueId id = constant(name, std::move(shape));
  STEPPE_CHECK(elements.size() == value(id).elements(), "{}", name);
  graph_.values[id].type = DataType::int64;
  graph_.values[id].int64 = std::make_shared<const std::vector<std::int64_t>>(std::move(elements));
  return id;
}

ValueId Builder::scalar(float x) { return constant(scope_ + "/constant", {}, {x}); }

bool Builder::known(ValueId id) const {
  const Value& v = value(id);
  return v.constant && (v.type == DataType::fp32 ? v.fp32 != nullptr : v.int64 != nullptr);
}

void Builder::rename(ValueId id, const std::string& name) {
  std::string& current = graph_.values[id].name;
  if (current == name) return;
  value_names_.erase(current);
  current = unique(name, value_names_);
}

/// Booleans count as integers; indices are integers whatever they index.
void Builder::check_types(const Node& node) const {
  const bool real = value(node.inputs.at(0)).type == DataType::fp32;
  for (std::size_t i = 1; i < node.inputs.size(); ++i) {
    const bool indices = node.op == "Gather";
    if (node.inputs[i] == no_value) continue;
    const bool other = value(node.inputs[i]).type == DataType::fp32;
    if (indices ? other : other != real) {
      throw ModelError("{}: '{}' has the wrong element type", described(node),
                       value(node.inputs[i]).name);
    }
  }
}

ValueId Builder::add(const std::string& op, std::vector<ValueId> inputs, Attributes attributes,
                     const Shape& target) {
  Node node;
  node.op = op;
  node.name = node_names_.contains(scope_) ? scope_ + "/" + op : scope_;
  node.inputs = std::move(inputs);
  node.attributes = std::move(attributes);
  check_types(node);
  std::vector<Shape> shapes;
  bool constant = true;
  for (const ValueId id : node.inputs) {
    shapes.push_back(id == no_value ? Shape{} : shape(id));
    if (id == no_value || value(id).constant) continue;
    constant = false;
    if (value(id).type != DataType::fp32) {
      throw ModelError("{}: '{}' holds integers that are known only when the model runs",
                       described(node), value(id).name);
    }
  }
  Value result;
  result.shape = infer_shape(node, shapes, target);
  result.type = value(node.inputs.at(0)).type;
  result.constant = constant;
  if (!constant) node.name = unique(node.name, node_names_);
  result.name = node.name + ":0";
  node.outputs = {add_value(std::move(result))};
  const ValueId out = node.outputs[0];
  if (constant) {
    fold(node);
  } else {
    graph_.nodes.push_back(std::move(node));
  }
  return out;
}

void Builder::fold(const Node& node) {
  Value& out = graph_.values[node.outputs[0]];
  const bool all_known = std::all_of(node.inputs.begin(), node.inputs.end(),
                                     [&](ValueId id) { return id == no_value || known(id); });
  if (!all_known) return;
  const std::int64_t size = checked_elements(out.shape, described(node));
  if (size > max_folded) {
    throw ModelError("{}: a constant of {} is too large", described(node), text(out.shape));
  }
  const auto compute = [&](auto type, auto data) {
    using T = decltype(type);
    std::vector<T> elements(static_cast<std::size_t>(size));
    Call<T> call{graph_, node, {}, elements.data()};
    for (const ValueId id : node.inputs) {
      const auto& from = id == no_value ? nullptr : value(id).*data;
      call.in.push_back(from ? from->data() : nullptr);
    }
    run_kernel(call);
    out.*data = std::make_shared<const std::vector<T>>(std::move(elements));
  };
  if (out.type == DataType::fp32) {
    compute(float{}, &Value::fp32);
  } else {
    compute(std::int64_t{}, &Value::int64);
  }
}

ValueId Builder::reshape(ValueId x, const Shape& target) {
  return target == shape(x) ? x : add("Reshape", {x}, {}, target);
}

ValueId Builder::slice(ValueId x, std::int64_t axis, std::int64_t start, std::int64_t end) {
  return add(
      "Slice", {x},
      {{"axes", Shape{axis}}, {"starts", Shape{start}}, {"ends", Shape{end}}, {"steps", Shape{1}}});
}

}  // namespace steppe::graph
