// SPDX-License-Identifier: Apache-2.0
#include "sim/calibration_table.h"

#include <yaml-cpp/yaml.h>

#include <cmath>

#include "models/base/error.h"

namespace steppe::sim {
namespace {

passes::Range read_range(const YAML::Node& node, const std::string& path, const std::string& name) {
  const auto fail = [&] {
    throw ConfigError(
        "{}:{}: the range of '{}' has to be two finite numbers, [lowest, highest], around 0", path,
        node.Mark().line + 1, name);
  };
  if (!node.IsSequence() || node.size() != 2) fail();
  passes::Range range;
  if (!YAML::convert<float>::decode(node[0], range.low) ||
      !YAML::convert<float>::decode(node[1], range.high)) {
    fail();
  }
  if (!std::isfinite(range.low) || !std::isfinite(range.high) || range.low > 0 || range.high < 0) {
    fail();
  }
  return range;
}

CalibrationTable read_nodes(const YAML::Node& root, const std::string& path) {
  if (!root.IsMap()) throw ConfigError("{}: a calibration table is a map with 'ranges'", path);
  CalibrationTable table;
  for (const auto& entry : root) {
    const auto key = entry.first.as<std::string>();
    if (key == "ranges" && entry.second.IsMap()) {
      for (const auto& range : entry.second) {
        const auto name = range.first.as<std::string>();
        table.ranges[name] = read_range(range.second, path, name);
      }
    } else if (key == "in_bf16" && entry.second.IsSequence()) {
      for (const auto& node : entry.second) table.in_bf16.insert(node.as<std::string>());
    } else if (key == "smooth" && entry.second.IsScalar()) {
      double alpha = -1;
      if (!YAML::convert<double>::decode(entry.second, alpha) || !(alpha >= 0 && alpha <= 1)) {
        throw ConfigError("{}:{}: smooth is a number from 0 to 1", path,
                          entry.first.Mark().line + 1);
      }
      table.smooth = alpha;
    } else if (key == "activations" && entry.second.IsScalar()) {
      const auto kind = entry.second.as<std::string>();
      if (kind != "symmetric" && kind != "asymmetric") {
        throw ConfigError("{}:{}: activations are symmetric or asymmetric, not '{}'", path,
                          entry.first.Mark().line + 1, kind);
      }
      table.symmetric = kind == "symmetric";
    } else if (key == "ranges" || key == "in_bf16") {
      throw ConfigError("{}:{}: 'ranges' is a map of [lowest, highest], 'in_bf16' a list of nodes",
                        path, entry.first.Mark().line + 1);
    } else if (key != "model" && key != "method" && key != "samples") {
      throw ConfigError(
          "{}:{}: there is no entry '{}'; there are ranges, in_bf16, activations and smooth", path,
          entry.first.Mark().line + 1, key);
    }
  }
  if (table.ranges.empty()) throw ConfigError("{}: it holds no ranges", path);
  return table;
}

}  // namespace

std::string format_table(const CalibrationTable& table) {
  YAML::Emitter out;
  out << YAML::Comment(
      "Ranges of activations, [lowest, highest]. symmetric: int8 has 127 steps up to the larger "
      "magnitude; asymmetric: 255 steps from end to end.");
  out << YAML::BeginMap << YAML::Key << "model" << YAML::Value << table.model;
  out << YAML::Key << "method" << YAML::Value << table.method;
  out << YAML::Key << "activations" << YAML::Value
      << (table.symmetric ? "symmetric" : "asymmetric");
  if (table.smooth) out << YAML::Key << "smooth" << YAML::Value << *table.smooth;
  out << YAML::Key << "samples" << YAML::Value << table.samples;
  out << YAML::Key << "in_bf16" << YAML::Value << YAML::BeginSeq;
  for (const std::string& node : table.in_bf16) out << YAML::DoubleQuoted << node;
  out << YAML::EndSeq << YAML::Key << "ranges" << YAML::Value << YAML::BeginMap;
  for (const auto& [name, range] : table.ranges) {
    out << YAML::Key << YAML::DoubleQuoted << name << YAML::Value << YAML::Flow << YAML::BeginSeq
        << range.low << range.high << YAML::EndSeq;
  }
  out << YAML::EndMap << YAML::EndMap;
  return std::string(out.c_str()) + "\n";
}

CalibrationTable read_table(const std::string& path) {
  try {
    return read_nodes(YAML::LoadFile(path), path);
  } catch (const YAML::BadFile&) {
    throw ConfigError("cannot open calibration table '{}'", path);
  } catch (const YAML::Exception& error) {
    throw ConfigError("{}:{}: {}", path, error.mark.line + 1, error.msg);
  }
}

}  // namespace steppe::sim
