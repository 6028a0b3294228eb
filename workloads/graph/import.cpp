// SPDX-License-Identifier: Apache-2.0
#include "workloads/graph/import.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <new>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "models/base/config.h"
#include "models/base/error.h"
#include "workloads/graph/context.h"
#include "workloads/graph/random_weights.h"
#include "workloads/graph/simplify.h"
#include "workloads/operators/host.h"

namespace steppe::graph {
namespace {

constexpr std::int64_t oldest_opset = 7;  ///< the first with today's broadcasting

std::string name_of_axis(const RawInput& input, std::size_t axis) {
  return fmt::format("{}.{}", input.name, axis);
}

/// The extents of the inputs, from the file and the bindings.
class Binder {
 public:
  explicit Binder(const std::map<std::string, std::int64_t>& bindings) : bindings_(bindings) {}

  Shape shape_of(const RawInput& input) {
    if (!input.shaped)
      throw ModelError("input '{}': the file does not say how many axes it has", input.name);
    Shape shape;
    for (std::size_t i = 0; i < input.axes.size(); ++i) shape.push_back(extent(input, i));
    return shape;
  }

  void check_all_used() const {
    for (const auto& [name, extent] : bindings_) {
      if (used_.contains(name)) continue;
      const std::string near = nearest_name(name, names_);
      throw ConfigError("the model has no open extent '{}'{}", name,
                        near.empty() ? "" : "; did you mean '" + near + "'?");
    }
  }

 private:
  std::int64_t extent(const RawInput& input, std::size_t i) {
    const RawAxis& axis = input.axes[i];
    const std::string position = name_of_axis(input, i);
    names_.push_back(position);
    if (!axis.symbol.empty()) names_.push_back(axis.symbol);
    std::optional<std::int64_t> bound = find(position);
    if (!axis.symbol.empty()) {
      const std::optional<std::int64_t> named = find(axis.symbol);
      if (!bound) bound = named;
    }
    if (axis.extent >= 0) {
      if (bound && *bound != axis.extent) {
        throw ConfigError("'{}' is {} in the file and cannot be {}", position, axis.extent, *bound);
      }
      return axis.extent;
    }
    if (!bound) {
      const bool symbolic = !axis.symbol.empty();
      throw ConfigError("input '{}': the extent of axis {} is open; bind {}{}=N", input.name, i,
                        symbolic ? axis.symbol + "=N or " : "", position);
    }
    if (*bound < 1) throw ConfigError("'{}' cannot be {}; extents are positive", position, *bound);
    return *bound;
  }

  std::optional<std::int64_t> find(const std::string& name) {
    const auto found = bindings_.find(name);
    if (found == bindings_.end()) return std::nullopt;
    used_.insert(name);
    return found->second;
  }

  const std::map<std::string, std::int64_t>& bindings_;
  std::set<std::string> used_;
  std::vector<std::string> names_;
};

class Importer {
 public:
  Importer(RawModel& raw, const ImportOptions& options)
      : raw_(raw), options_(options), builder_(raw.name) {}

  Graph run() {
    if (raw_.opset < oldest_opset) {
      throw ModelError("it is of operator set {}; {} and later are supported", raw_.opset,
                       oldest_opset);
    }
    hoist_constants(raw_);
    if (options_.random_weights_seed) {
      randomise(raw_, *options_.random_weights_seed, options_.randomise_all);
    }
    index();
    for (const std::size_t node : needed_in_order()) convert(raw_.nodes[node]);
    take_outputs();
    simplify(builder_.graph());
    check(builder_.graph());
    return std::move(builder_.graph());
  }

 private:
  void index() {
    Binder binder(options_.bindings);
    for (const RawInput& input : raw_.inputs) {
      claim(input.name, "an input");
      values_[input.name] = fixed_or_open(input, binder);
      named_.insert(values_[input.name]);
    }
    binder.check_all_used();
    for (const Value& value : raw_.initialisers) {
      claim(value.name, "an initialiser");
      const ValueId id = builder_.constant(value);
      values_[value.name] = id;
      named_.insert(id);
    }
    read_.insert(raw_.outputs.begin(), raw_.outputs.end());
    for (std::size_t i = 0; i < raw_.nodes.size(); ++i) {
      read_.insert(raw_.nodes[i].inputs.begin(), raw_.nodes[i].inputs.end());
      for (const std::string& output : raw_.nodes[i].outputs) {
        if (output.empty()) continue;
        claim(output, "node '" + raw_.nodes[i].name + "'");
        producer_[output] = i;
      }
    }
  }

  ValueId fixed_or_open(const RawInput& input, Binder& binder) {
    const auto fixed = options_.fixed.find(input.name);
    if (fixed == options_.fixed.end()) {
      return builder_.input(input.name, input.type, binder.shape_of(input));
    }
    if (fixed->second.type != input.type) {
      throw ConfigError("input '{}' is of {} and cannot be fixed to {}", input.name,
                        text(input.type), text(fixed->second.type));
    }
    return builder_.constant(value_of(fixed->second, input.name));
  }

  void claim(const std::string& name, const std::string& by) {
    if (name.empty()) throw ModelError("{} has no name", by);
    if (!claimed_.insert(name).second)
      throw ModelError("'{}' is made twice, again by {}", name, by);
  }

  /// The nodes that the outputs need, in the order of the file where that is possible.
  std::vector<std::size_t> needed_in_order() {
    std::vector<bool> needed(raw_.nodes.size(), false);
    std::vector<std::size_t> open;
    const auto need = [&](const std::string& name, const std::string& reader) {
      const auto found = producer_.find(name);
      if (found == producer_.end()) {
        if (values_.contains(name)) return;
        throw ModelError("{} reads '{}', which nothing makes", reader, name);
      }
      if (!needed[found->second]) open.push_back(found->second);
      needed[found->second] = true;
    };
    for (const std::string& output : raw_.outputs) need(output, "the list of outputs");
    while (!open.empty()) {
      const RawNode& node = raw_.nodes[open.back()];
      open.pop_back();
      for (const std::string& input : node.inputs) {
        if (!input.empty()) need(input, fmt::format("node '{}' ({})", node.name, node.op));
      }
    }
    return sorted(needed);
  }

  /// Kahn's algorithm; of the nodes that may come next the first in the file does.
  std::vector<std::size_t> sorted(const std::vector<bool>& needed) {
    std::vector<std::size_t> waits(raw_.nodes.size(), 0);
    std::vector<std::vector<std::size_t>> readers(raw_.nodes.size());
    std::set<std::size_t> ready;
    std::size_t count = 0;
    for (std::size_t i = 0; i < raw_.nodes.size(); ++i) {
      if (!needed[i]) continue;
      ++count;
      for (const std::string& input : raw_.nodes[i].inputs) {
        const auto found = producer_.find(input);
        if (found == producer_.end()) continue;
        readers[found->second].push_back(i);
        ++waits[i];
      }
      if (waits[i] == 0) ready.insert(i);
    }
    std::vector<std::size_t> order;
    while (!ready.empty()) {
      order.push_back(*ready.begin());
      ready.erase(ready.begin());
      for (const std::size_t reader : readers[order.back()]) {
        if (--waits[reader] == 0) ready.insert(reader);
      }
    }
    for (std::size_t i = 0; i < waits.size() && order.size() < count; ++i) {
      if (needed[i] && waits[i] > 0) {
        throw ModelError("node '{}' ({}) needs its own result: the graph has a cycle",
                         raw_.nodes[i].name, raw_.nodes[i].op);
      }
    }
    return order;
  }

  /// Into canonical nodes where that is possible, else into a host operator.
  void convert(const RawNode& raw) {
    const auto conversion = conversions().find(raw.op);
    const bool on_host = host_operators().contains(raw.op);
    if (conversion == conversions().end() && !on_host) {
      const std::string near = nearest_name(raw.op, supported_operators());
      throw ModelError("node '{}': the operator '{}' is not supported{}; supported are {}",
                       raw.name, raw.op, near.empty() ? "" : " (nearest: " + near + ")",
                       fmt::join(supported_operators(), ", "));
    }
    const std::vector<ValueId> inputs = operands(raw);
    const std::size_t count = results_read(raw);
    builder_.set_scope(raw.name);
    if (conversion == conversions().end()) return take_results(raw, host(raw, inputs, count));
    Context context(raw, raw_.opset, inputs, builder_, !options_.exact_types);
    const std::size_t nodes = builder_.graph().nodes.size();
    try {
      conversion->second(context);
    } catch (const ModelError&) {
      builder_.graph().nodes.resize(nodes);
      if (!on_host) throw;
      const std::optional<std::vector<ValueId>> made = try_host(raw, inputs, count);
      if (!made) throw;
      return take_results(raw, *made);
    }
    if (context.outputs.size() < count && on_host) {
      return take_results(raw, host(raw, inputs, count));
    }
    take_results(raw, context.outputs);
  }

  std::vector<ValueId> operands(const RawNode& raw) const {
    std::vector<ValueId> inputs;
    for (const std::string& name : raw.inputs) {
      const auto found = values_.find(name);
      if (!name.empty() && found == values_.end()) {
        throw ModelError("node '{}' ({}) reads '{}', an output that is not supported", raw.name,
                         raw.op, name);
      }
      inputs.push_back(name.empty() ? no_value : found->second);
    }
    return inputs;
  }

  /// The number of results up to the last that something reads.
  std::size_t results_read(const RawNode& raw) const {
    std::size_t count = 1;
    for (std::size_t i = 0; i < raw.outputs.size(); ++i) {
      if (read_.contains(raw.outputs[i])) count = i + 1;
    }
    return count;
  }

  std::vector<ValueId> host(const RawNode& raw, const std::vector<ValueId>& inputs,
                            std::size_t count) {
    Attributes attributes{{"opset", raw_.opset},
                          {"results", static_cast<std::int64_t>(raw.outputs.size())}};
    for (const auto& [key, attribute] : raw.attributes) {
      std::visit(
          [&, name = key](const auto& x) {
            if constexpr (std::is_constructible_v<Attribute, decltype(x)>) {
              attributes[name] = x;
            } else {
              throw ModelError(
                  "node '{}' ({}): the attribute '{}' is of a kind that is not "
                  "supported",
                  raw.name, raw.op, name);
            }
          },
          attribute);
    }
    return builder_.add_host(raw.op, inputs, std::move(attributes), count);
  }

  std::optional<std::vector<ValueId>> try_host(const RawNode& raw,
                                               const std::vector<ValueId>& inputs,
                                               std::size_t count) {
    try {
      return host(raw, inputs, count);
    } catch (const ModelError&) {
      return std::nullopt;  // the other reason is told
    }
  }

  void take_results(const RawNode& raw, const std::vector<ValueId>& results) {
    for (std::size_t i = 0; i < raw.outputs.size(); ++i) {
      const std::string& name = raw.outputs[i];
      if (name.empty()) continue;
      if (i >= results.size()) continue;  // an error where something reads it
      values_[name] = results[i];
      if (named_.insert(results[i]).second) builder_.rename(results[i], name);
    }
  }

  /// An output that is an input, or another output as well, becomes a copy of it.
  void take_outputs() {
    std::set<ValueId> taken(builder_.graph().inputs.begin(), builder_.graph().inputs.end());
    if (raw_.outputs.empty()) throw ModelError("it has no outputs");
    for (const std::string& name : raw_.outputs) {
      if (!values_.contains(name)) throw ModelError("the output '{}' is not supported", name);
      ValueId id = values_.at(name);
      if (builder_.value(id).constant && !options_.exact_types) {
        throw ModelError("the output '{}' does not depend on any input", name);
      }
      if (taken.contains(id)) {
        builder_.set_scope(name);
        const Shape shape = builder_.shape(id);
        id = builder_.value(id).type == DataType::fp32
                 ? builder_.add("Reshape", {id}, {}, shape)
                 : builder_.add_host("Identity", {id}, {}, 1).front();
      }
      taken.insert(id);
      builder_.rename(id, name);
      builder_.graph().outputs.push_back(id);
    }
  }

  RawModel& raw_;
  const ImportOptions& options_;
  Builder builder_;
  std::unordered_map<std::string, ValueId> values_;
  std::unordered_map<std::string, std::size_t> producer_;
  std::unordered_set<std::string> claimed_;
  std::unordered_set<std::string> read_;  ///< by nodes or as outputs
  std::unordered_set<ValueId> named_;     ///< values that have their name from the file
};

}  // namespace

Graph import_onnx(const std::filesystem::path& path, const ImportOptions& options) {
  RawModel raw;
  try {
    raw = read_onnx(path, !options.exact_types);
    return Importer(raw, options).run();
  } catch (const ModelError& error) {
    throw ModelError("{}: {}", path.filename().string(), error.what());
  } catch (const std::bad_alloc&) {
    throw ModelError("{}: it does not fit into this machine's memory", path.filename().string());
  }
}

std::vector<std::string> supported_operators() {
  std::vector<std::string> names;
  for (const auto& [name, conversion] : conversions()) names.push_back(name);
  for (const auto& [name, kernel] : host_operators()) names.push_back(name);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

}  // namespace steppe::graph
