// SPDX-License-Identifier: Apache-2.0
#include "sim/model_source.h"

#include <algorithm>
#include <charconv>

#include "models/base/error.h"
#include "sim/samples.h"
#include "workloads/graph/import.h"
#include "workloads/graph/zoo.h"

namespace steppe::sim {

graph::Graph load_model(const ModelOptions& options) {
  constexpr std::string_view zoo = "zoo:";
  if (options.model.starts_with(zoo)) {
    return graph::zoo_model(options.model.substr(zoo.size()),
                            {.batch = options.batch,
                             .context = options.context,
                             .random_weights_seed = options.random_seed});
  }
  graph::ImportOptions import{.bindings = options.bindings,
                              .random_weights_seed = options.random_seed};
  for (const auto& [name, file] : options.fixed) {
    const npy::Array array = npy::read(file);
    import.fixed[name] = tensor_of(array, type_of(array.type), file);
  }
  return graph::import_onnx(options.model, import);
}

std::int64_t parse_whole(const std::string& where, const std::string& text) {
  std::int64_t number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || rest != text.data() + text.size() || number < 1) {
    throw ConfigError("{}: '{}' is not a whole number of at least 1", where, text);
  }
  return number;
}

std::optional<std::uint64_t> parse_weights(const std::string& text) {
  constexpr std::string_view random = "random:";
  if (text.empty()) return {};
  if (!text.starts_with(random)) {
    throw ConfigError("--weights {}: expected random:SEED, as in random:1", text);
  }
  return static_cast<std::uint64_t>(parse_whole("--weights " + text, text.substr(random.size())));
}

bool holds_shapes_only(const net::Net& network) {
  return std::ranges::any_of(network.layers, [](const net::Layer& layer) {
    const auto* conv = std::get_if<net::Conv>(&layer.op);
    return conv != nullptr && !conv->weights.has_data();
  });
}

}  // namespace steppe::sim
