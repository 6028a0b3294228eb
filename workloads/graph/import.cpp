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

constexpr std::int64_t oldest_opset = 6;
constexpr std::int64_t max_iterations = 4096;  ///< of a loop that is unrolled

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
      note_reads(raw_.nodes[i]);
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
      for (const std::string& input : reads(node)) {
        if (!input.empty()) need(input, fmt::format("node '{}' ({})", node.name, node.op));
      }
    }
    return sorted(needed);
  }

  static std::vector<const RawModel*> bodies(const RawNode& node) {
    std::vector<const RawModel*> result;
    for (const auto& [key, attribute] : node.attributes) {
      const auto* body = std::get_if<std::shared_ptr<const RawModel>>(&attribute);
      if (body != nullptr) result.push_back(body->get());
    }
    return result;
  }

  /// What a node takes from outside, what its bodies take among it.
  static std::vector<std::string> reads(const RawNode& node) {
    std::vector<std::string> names = node.inputs;
    for (const RawModel* body : bodies(node)) {
      std::set<std::string> own;
      for (const Value& value : body->initialisers) own.insert(value.name);
      for (const RawInput& input : body->inputs) own.insert(input.name);
      for (const RawNode& inner : body->nodes)
        own.insert(inner.outputs.begin(), inner.outputs.end());
      const auto take = [&](const std::string& name) {
        if (!own.contains(name)) names.push_back(name);
      };
      for (const RawNode& inner : body->nodes) {
        for (const std::string& name : reads(inner)) take(name);
      }
      for (const std::string& name : body->outputs) take(name);
    }
    return names;
  }

  void note_reads(const RawNode& node) {
    read_.insert(node.inputs.begin(), node.inputs.end());
    for (const RawModel* body : bodies(node)) {
      read_.insert(body->outputs.begin(), body->outputs.end());
      for (const RawNode& inner : body->nodes) note_reads(inner);
    }
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
      for (const std::string& input : reads(raw_.nodes[i])) {
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
    if (raw.op == "If" || raw.op == "Loop" || raw.op == "Scan") return convert_control(raw);
    const auto conversion = conversions().find(raw.op);
    const bool on_host = host_operators().contains(raw.op);
    if (conversion == conversions().end() && !on_host) {
      const std::string near = nearest_name(raw.op, supported_operators());
      throw ModelError("node '{}': the operator '{}' is not supported{}; supported are {}",
                       raw.name, raw.op, near.empty() ? "" : " (nearest: " + near + ")",
                       fmt::join(supported_operators(), ", "));
    }
    std::vector<ValueId> inputs = operands(raw);
    builder_.set_scope(raw.name);
    if (raw_.opset < 7) modernise(raw, inputs);
    const std::size_t count = results_read(raw);
    if (conversion == conversions().end()) return take_results(raw, host(raw, inputs, count));
    Context context(raw, raw_.opset, inputs, builder_, !options_.exact_types);
    const std::size_t nodes = builder_.graph().nodes.size();
    try {
      conversion->second(context);
    } catch (const ModelError& error) {
      builder_.graph().nodes.resize(nodes);
      if (!on_host) throw;
      const std::optional<std::vector<ValueId>> made = try_host(raw, inputs, count);
      if (!made) throw;
      if (builder_.graph().nodes.size() > nodes) {
        builder_.graph().nodes.back().refusal = reason_of(raw, error.what());
      }
      return take_results(raw, *made);
    }
    if (context.outputs.size() < count && on_host) {
      return take_results(raw, host(raw, inputs, count));
    }
    take_results(raw, context.outputs);
  }

  /// Before operator set 7 a second operand had to be told to be broadcast, from which axis on.
  void modernise(const RawNode& raw, std::vector<ValueId>& inputs) {
    if (inputs.size() < 2 || inputs[0] == no_value || inputs[1] == no_value) return;
    const auto integer = [&](const char* key, std::int64_t absent) {
      const auto* value = attribute_of<std::int64_t>(raw, key);
      return value == nullptr ? absent : *value;
    };
    const auto rank = static_cast<std::int64_t>(builder_.shape(inputs[0]).size());
    Shape shape = builder_.shape(inputs[1]);
    const auto own = static_cast<std::int64_t>(shape.size());
    const bool slopes = raw.op == "PRelu" && own == 1 && rank > 1;
    const bool placed = integer("broadcast", 0) != 0 && raw.attributes.contains("axis");
    if (!slopes && !placed) return;
    std::int64_t axis = slopes ? 1 : integer("axis", 0);
    if (axis < 0) axis += rank;
    if (axis < 0 || axis + own > rank) {
      throw ModelError("node '{}' ({}): {} does not lie at axis {} of {} axes", raw.name, raw.op,
                       text(shape), axis, rank);
    }
    shape.resize(static_cast<std::size_t>(rank - axis), 1);
    inputs[1] = builder_.reshape(inputs[1], shape);
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

  template <typename... Args>
  [[noreturn]] static void fail(const RawNode& raw, fmt::format_string<Args...> format,
                                Args&&... args) {
    throw ModelError("node '{}' ({}): {}", raw.name, raw.op,
                     fmt::format(format, std::forward<Args>(args)...));
  }

  static const RawModel& body_of(const RawNode& raw, const std::string& key) {
    const auto* body = attribute_of<std::shared_ptr<const RawModel>>(raw, key);
    if (body == nullptr) fail(raw, "it has no '{}'", key);
    return **body;
  }

  /// The nodes of a body in place of the node; what they name is seen by them alone.
  std::vector<ValueId> inlined(const RawNode& raw, const RawModel& body,
                               const std::vector<ValueId>& inputs) {
    if (inputs.size() != body.inputs.size()) {
      fail(raw, "its body has {} inputs and gets {}", body.inputs.size(), inputs.size());
    }
    if (++inlined_ > max_iterations)
      fail(raw, "its loops have more than {} rounds", max_iterations);
    if (std::find(inputs.begin(), inputs.end(), no_value) != inputs.end()) {
      fail(raw, "an operand is missing");
    }
    const std::unordered_map<std::string, ValueId> outside = values_;
    for (std::size_t i = 0; i < inputs.size(); ++i) values_[body.inputs[i].name] = inputs[i];
    for (const Value& value : body.initialisers) values_[value.name] = builder_.constant(value);
    for (const RawNode& node : body.nodes) convert(node);
    std::vector<ValueId> results;
    for (const std::string& name : body.outputs) {
      const auto found = values_.find(name);
      if (found == values_.end()) fail(raw, "nothing makes '{}' of its body", name);
      results.push_back(found->second);
    }
    values_ = outside;
    builder_.set_scope(raw.name);
    return results;
  }

  std::int64_t known_scalar(const RawNode& raw, ValueId id, const char* what) const {
    if (id == no_value) fail(raw, "its {} is missing", what);
    const Value& value = builder_.value(id);
    if (!builder_.known(id) || value.elements() != 1) {
      fail(raw,
           "its {} '{}' must be known when the model is imported; --fix gives an input's value",
           what, value.name);
    }
    return integers(tensor_of(value)).front();
  }

  ValueId host_one(const std::string& op, std::vector<ValueId> inputs, Attributes attributes) {
    attributes["opset"] = std::int64_t{13};
    return builder_.add_host(op, std::move(inputs), std::move(attributes), 1).front();
  }

  /// Arrays of one shape as one, along a new axis.
  ValueId stacked(const RawNode& raw, const std::vector<ValueId>& parts, std::int64_t axis) {
    if (parts.empty()) fail(raw, "a loop of no rounds has no elements to collect");
    const auto rank = static_cast<std::int64_t>(builder_.shape(parts[0]).size()) + 1;
    if (axis < -rank || axis >= rank) fail(raw, "axis {} of {} axes", axis, rank);
    if (axis < 0) axis += rank;
    std::vector<ValueId> rows;
    rows.reserve(parts.size());
    for (const ValueId part : parts) {
      rows.push_back(host_one("Unsqueeze", {part}, {{"axes", Shape{axis}}}));
    }
    return host_one("Concat", rows, {{"axis", axis}});
  }

  /// A loop unrolled, the branch that is taken.
  void convert_control(const RawNode& raw) {
    const std::vector<ValueId> inputs = operands(raw);
    builder_.set_scope(raw.name);
    if (raw.op == "If") {
      if (inputs.size() != 1) fail(raw, "it takes one operand");
      const bool taken = known_scalar(raw, inputs[0], "condition") != 0;
      return take_results(raw,
                          inlined(raw, body_of(raw, taken ? "then_branch" : "else_branch"), {}));
    }
    take_results(raw, raw.op == "Loop" ? unrolled(raw, inputs) : scanned(raw, inputs));
  }

  std::vector<ValueId> unrolled(const RawNode& raw, const std::vector<ValueId>& inputs) {
    const RawModel& body = body_of(raw, "body");
    if (inputs.size() < 2) fail(raw, "it takes two operands or more");
    const std::int64_t most =
        inputs[0] == no_value ? max_iterations + 1 : known_scalar(raw, inputs[0], "trip count");
    bool going = inputs[1] == no_value || known_scalar(raw, inputs[1], "condition") != 0;
    std::vector<ValueId> carried(inputs.begin() + 2, inputs.end());
    if (body.outputs.size() < carried.size() + 1) fail(raw, "its body has too few outputs");
    std::vector<std::vector<ValueId>> collected(body.outputs.size() - carried.size() - 1);
    for (std::int64_t i = 0; i < most && going; ++i) {
      const ValueId round = builder_.integers(raw.name + "/round", {}, {i});
      const ValueId go = builder_.integers(raw.name + "/go", {}, {1}, DataType::boolean);
      std::vector<ValueId> passed{round, go};
      passed.insert(passed.end(), carried.begin(), carried.end());
      const std::vector<ValueId> results = inlined(raw, body, passed);
      going = known_scalar(raw, results[0], "condition") != 0;
      const auto middle = results.begin() + 1 + static_cast<std::ptrdiff_t>(carried.size());
      for (std::size_t k = 0; k < collected.size(); ++k) {
        collected[k].push_back(middle[static_cast<std::ptrdiff_t>(k)]);
      }
      carried.assign(results.begin() + 1, middle);
    }
    for (const auto& parts : collected) carried.push_back(stacked(raw, parts, 0));
    return carried;
  }

  /// Scan of operator set 9 and later.
  std::vector<ValueId> scanned(const RawNode& raw, const std::vector<ValueId>& inputs) {
    const RawModel& body = body_of(raw, "body");
    if (raw_.opset < 9) fail(raw, "operator sets before 9 are not supported");
    const auto* number = attribute_of<std::int64_t>(raw, "num_scan_inputs");
    if (number == nullptr || *number < 1 || *number > static_cast<std::int64_t>(inputs.size())) {
      fail(raw, "'num_scan_inputs' does not fit {} operands", inputs.size());
    }
    for (const char* key : {"scan_input_axes", "scan_input_directions", "scan_output_axes",
                            "scan_output_directions"}) {
      const auto* list = attribute_of<Shape>(raw, key);
      if (list != nullptr && std::count(list->begin(), list->end(), 0) != std::ssize(*list)) {
        fail(raw, "'{}' other than 0 is not supported", key);
      }
    }
    const std::size_t states = inputs.size() - static_cast<std::size_t>(*number);
    if (body.outputs.size() < states) fail(raw, "its body has too few outputs");
    for (const ValueId id : inputs) {
      if (id == no_value) fail(raw, "an operand is missing");
    }
    const Shape& first = builder_.shape(inputs[states]);
    if (first.empty()) fail(raw, "a scalar cannot be scanned");
    const std::int64_t rounds = first[0];
    std::vector<ValueId> carried(inputs.begin(),
                                 inputs.begin() + static_cast<std::ptrdiff_t>(states));
    std::vector<std::vector<ValueId>> collected(body.outputs.size() - states);
    for (std::int64_t i = 0; i < rounds; ++i) {
      std::vector<ValueId> passed = carried;
      for (std::size_t k = states; k < inputs.size(); ++k) {
        const ValueId index = builder_.integers(raw.name + "/round", {}, {i});
        passed.push_back(host_one("Gather", {inputs[k], index}, {{"axis", std::int64_t{0}}}));
      }
      const std::vector<ValueId> results = inlined(raw, body, passed);
      carried.assign(results.begin(), results.begin() + static_cast<std::ptrdiff_t>(states));
      for (std::size_t k = 0; k < collected.size(); ++k)
        collected[k].push_back(results[states + k]);
    }
    for (const auto& parts : collected) carried.push_back(stacked(raw, parts, 0));
    return carried;
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

  /// What an error says, without the node that it names in front.
  static std::string reason_of(const RawNode& raw, const std::string& text) {
    const std::string front = fmt::format("node '{}' ({}): ", raw.name, raw.op);
    return text.starts_with(front) ? text.substr(front.size()) : text;
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
    check_declared();
  }

  /// What the file says of its outputs has to be what the nodes make.
  void check_declared() const {
    for (const RawInput& output : raw_.declared) {
      const Value& value = builder_.value(values_.at(output.name));
      // Real numbers may have been widened.
      bool fits = value.shape.size() == output.axes.size() &&
                  (value.type == output.type || (is_real(value.type) && is_real(output.type)));
      std::vector<std::string> declared;
      for (std::size_t i = 0; i < output.axes.size(); ++i) {
        const std::int64_t extent = output.axes[i].extent;
        fits = fits && (extent < 0 || extent == value.shape[i]);
        declared.push_back(extent < 0 ? "?" : std::to_string(extent));
      }
      if (fits) continue;
      throw ModelError("the output '{}' is [{}] of {} by the file; its node makes {} of {}",
                       output.name, fmt::join(declared, ","), text(output.type), text(value.shape),
                       text(value.type));
    }
  }

  RawModel& raw_;
  const ImportOptions& options_;
  Builder builder_;
  std::unordered_map<std::string, ValueId> values_;
  std::unordered_map<std::string, std::size_t> producer_;
  std::int64_t inlined_ = 0;  ///< bodies so far
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
