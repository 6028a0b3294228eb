// SPDX-License-Identifier: Apache-2.0
#include "sim/pruning_table.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <ios>

#include "models/base/error.h"

namespace steppe::sim {
namespace {

PruningTable read_nodes(const YAML::Node& root, const std::string& path) {
  if (!root.IsMap()) throw ConfigError("{}: a pruning table is a map with 'layers'", path);
  PruningTable table;
  for (const auto& entry : root) {
    const auto key = entry.first.as<std::string>();
    const int line = entry.first.Mark().line + 1;
    if (key == "layers" && entry.second.IsMap()) {
      for (const auto& layer : entry.second) {
        const auto name = layer.first.as<std::string>();
        const std::string where =
            fmt::format("{}:{}: the ratio of '{}',", path, layer.first.Mark().line + 1, name);
        if (!layer.second.IsScalar()) throw ConfigError("{} has to be one word", where);
        if (table.layers.contains(name)) throw ConfigError("{} is there twice", where);
        table.layers[name] = passes::parse_ratio(where, layer.second.as<std::string>());
      }
    } else if (key == "layers") {
      throw ConfigError("{}:{}: 'layers' is a map from layers to ratios", path, line);
    } else if (key == "method" && entry.second.IsScalar()) {
      table.method = entry.second.as<std::string>();
      if (table.method != "magnitude" && table.method != "obs") {
        throw ConfigError("{}:{}: method '{}'; magnitude or obs are right", path, line,
                          table.method);
      }
    } else if (key != "model") {
      throw ConfigError("{}:{}: there is no entry '{}'; there are layers and method", path, line,
                        key);
    }
  }
  if (table.layers.empty()) throw ConfigError("{}: it holds no layers", path);
  return table;
}

}  // namespace

std::string format_table(const PruningTable& table) {
  YAML::Emitter out;
  out << YAML::Comment(
      "By layer: 1, 2, 4, 8, 16 or 32, one weight in so many is kept; N:32; unstructured:SHARE; "
      "keep.");
  out << YAML::BeginMap << YAML::Key << "model" << YAML::Value << table.model;
  out << YAML::Key << "method" << YAML::Value << table.method;
  out << YAML::Key << "layers" << YAML::Value << YAML::BeginMap;
  for (const auto& [name, ratio] : table.layers) {
    out << YAML::Key << YAML::DoubleQuoted << name << YAML::Value << passes::format_ratio(ratio);
  }
  out << YAML::EndMap << YAML::EndMap;
  return std::string(out.c_str()) + "\n";
}

PruningTable read_pruning_table(const std::string& path) {
  try {
    return read_nodes(YAML::LoadFile(path), path);
  } catch (const YAML::BadFile&) {
    throw ConfigError("cannot open pruning table '{}'", path);
  } catch (const std::ios_base::failure&) {
    throw ConfigError("cannot read pruning table '{}'", path);
  } catch (const YAML::Exception& error) {
    throw ConfigError("{}:{}: {}", path, error.mark.line + 1, error.msg);
  }
}

}  // namespace steppe::sim
