// SPDX-License-Identifier: Apache-2.0
#include "workloads/graph/builder.h"

#include <algorithm>

#include "models/base/error.h"
#include "workloads/graph/kernels.h"
#include "workloads/operators/host.h"

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

ValueId Builder::integers(const std::string& name, Shape shape, std::vector<std::int64_t> elements,
                          DataType type) {
  const ValueId id = constant(name, std::move(shape));
  STEPPE_CHECK(elements.size() == value(id).elements(), "{}", name);
  graph_.values[id].type = type;
  graph_.values[id].int64 = std::make_shared<const std::vector<std::int64_t>>(std::move(elements));
  return id;
}

ValueId Builder::scalar(float x) { return constant(scope_ + "/constant", {}, {x}); }

bool Builder::known(ValueId id) const {
  const Value& v = value(id);
  return v.constant && (v.fp32 || v.fp64 || v.int64);
}

void Builder::rename(ValueId id, const std::string& name) {
  std::string& current = graph_.values[id].name;
  if (current == name) return;
  value_names_.erase(current);
  current = unique(name, value_names_);
}

/// Of a node that is computed at once, booleans count as integers; indices are integers whatever
/// they index. All else is for host operators.
void Builder::check_constants(const Node& node) const {
  for (const ValueId id : node.inputs) {
    if (id == no_value) continue;
    const DataType type = value(id).type;
    if ((is_real(type) && type != DataType::fp32) || type == DataType::uint64) {
      throw ModelError("{}: '{}' is of {}, which only the host has", described(node),
                       value(id).name, text(type));
    }
  }
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
  std::vector<Shape> shapes;
  bool constant = true;
  for (const ValueId id : node.inputs) {
    shapes.push_back(id == no_value ? Shape{} : shape(id));
    constant = constant && (id == no_value || value(id).constant);
  }
  Value result;
  result.shape = infer_shape(node, shapes, target);
  if (constant && !computed_by_operators(op)) {
    check_constants(node);
    result.type = value(node.inputs.at(0)).type;
  } else {
    result.type = infer_type(graph_, node);
  }
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
  if (computed_by_operators(node.op)) {
    std::vector<Tensor> storage;
    storage.reserve(node.inputs.size());
    std::vector<const Tensor*> operands;
    for (const ValueId id : node.inputs)
      operands.push_back(&storage.emplace_back(tensor_of(value(id))));
    const Value result = value_of(std::move(run_host(node, operands).at(0)), out.name);
    out.fp32 = result.fp32;
    out.int64 = result.int64;
    return;
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
    if constexpr (std::is_integral_v<T>) {
      for (T& x : elements) x = wrapped(out.type, x);
    }
    out.*data = std::make_shared<const std::vector<T>>(std::move(elements));
  };
  if (out.type == DataType::fp32) {
    compute(float{}, &Value::fp32);
  } else {
    compute(std::int64_t{}, &Value::int64);
  }
}

std::vector<ValueId> Builder::add_host(const std::string& op, std::vector<ValueId> inputs,
                                       Attributes attributes, std::size_t count) {
  Node node;
  node.op = host_prefix + op;
  node.name = scope_;
  node.inputs = std::move(inputs);
  node.attributes = std::move(attributes);
  const HostOperator& rule = host_operators().at(op);
  bool constant = true;
  std::vector<Tensor> storage(node.inputs.size());
  std::vector<const Tensor*> operands;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const ValueId id = node.inputs[i];
    operands.push_back(id == no_value ? nullptr : &storage[i]);
    if (id == no_value) continue;
    const Value& from = value(id);
    const bool shapes =
        rule.by == Shaping::by_values ||
        std::find(rule.shaping.begin(), rule.shaping.end(), i) != rule.shaping.end();
    if (!known(id) && (from.constant || shapes)) {
      throw ModelError("{}: '{}' must be known when the model is imported: {}", described(node),
                       from.name,
                       shapes ? "the shape of the result depends on its elements" : "it has none");
    }
    constant = constant && known(id);
    if (!known(id) && checked_elements(from.shape, from.name) > max_host_elements) {
      throw ModelError("{}: '{}' of {} is too large for the host", described(node), from.name,
                       text(from.shape));
    }
    storage[i] = known(id) ? tensor_of(from) : zeros(from.type, from.shape);
  }
  std::vector<Tensor> results = run_host(node, operands);
  if (results.size() < count) {
    throw ModelError("{}: it has {} results at most", described(node), results.size());
  }
  results.resize(count);
  if (!constant) node.name = unique(node.name, node_names_);
  for (std::size_t i = 0; i < count; ++i) {
    Value result = value_of(std::move(results[i]), fmt::format("{}:{}", node.name, i));
    if (!constant) {
      result.constant = false;
      result.fp32 = nullptr;
      result.fp64 = nullptr;
      result.int64 = nullptr;
    }
    node.outputs.push_back(add_value(std::move(result)));
  }
  std::vector<ValueId> outputs = node.outputs;
  if (!constant) graph_.nodes.push_back(std::move(node));
  return outputs;
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
