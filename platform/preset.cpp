// SPDX-License-Identifier: Apache-2.0
#include "platform/preset.h"

#include <yaml-cpp/yaml.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "models/base/error.h"
#include "platform/builtin_presets.h"

namespace steppe {
namespace {

/// A text of YAML and the name that messages give it.
struct Source {
  std::string name;
  std::string text;
};

bool is_file_name(const std::string& name) {
  return name.find('/') != std::string::npos || name.ends_with(".yaml") || name.ends_with(".yml");
}

Source find_source(const std::string& name) {
  if (is_file_name(name)) {
    std::ifstream file(name, std::ios::binary);
    if (!file || std::filesystem::is_directory(name)) {
      throw ConfigError("{}: the configuration file cannot be read", name);
    }
    std::ostringstream text;
    text << file.rdbuf();
    return {name, text.str()};
  }
  for (const BuiltinPreset& preset : builtin_presets()) {
    if (name == preset.name) return {name + ".yaml", preset.text};
  }
  const std::string near = nearest_name(name, preset_names());
  throw ConfigError("there is no preset '{}'{}; presets are {}", name,
                    near.empty() ? "" : "; did you mean '" + near + "'?",
                    fmt::join(preset_names(), ", "));
}

std::string place(const Source& source, const YAML::Node& node) {
  return fmt::format("{}:{}", source.name, node.Mark().line + 1);
}

bool is_leaf(const YAML::Node& node) {
  return node.IsScalar() || (node.IsMap() && node["value"] && node["value"].IsScalar());
}

void set_leaf(const Source& source, const std::string& path, const YAML::Node& node,
              Config& config) {
  if (node.IsScalar()) {
    config.set(path, node.Scalar(), place(source, node));
    return;
  }
  std::string note;
  for (const auto& entry : node) {
    const std::string key = entry.first.Scalar();
    if (key == "value") continue;
    if ((key != "source" && key != "assumed") || !entry.second.IsScalar()) {
      throw ConfigError("{}: '{}' beside a value; only `source` and `assumed` may stand there",
                        place(source, entry.first), key);
    }
    note = key + ": " + entry.second.Scalar();
  }
  config.set(path, node["value"].Scalar(), place(source, node["value"]), note);
}

void walk(const Source& source, const std::string& path, const YAML::Node& node, Config& config) {
  if (!node.IsMap()) {
    throw ConfigError("{}: '{}' is neither a value nor a map", place(source, node), path);
  }
  std::map<std::string, bool> seen;
  for (const auto& entry : node) {
    if (!entry.first.IsScalar()) {
      throw ConfigError("{}: a key that is not a name", place(source, entry.first));
    }
    const std::string key = entry.first.Scalar();
    if (!seen.emplace(key, true).second) {
      throw ConfigError("{}: '{}' stands twice in one map", place(source, entry.first), key);
    }
    const std::string inner = path.empty() ? key : fmt::format("{}.{}", path, key);
    if (is_leaf(entry.second)) {
      set_leaf(source, inner, entry.second, config);
    } else {
      walk(source, inner, entry.second, config);
    }
  }
}

void load(const std::string& name, Config& config, int depth) {
  constexpr int deepest = 8;
  if (depth > deepest) throw ConfigError("{}: presets build on each other in a circle", name);
  const Source source = find_source(name);
  YAML::Node root;
  try {
    root = YAML::Load(source.text);
    if (!root.IsMap()) throw ConfigError("{}: not a map of parameters", source.name);
    if (const YAML::Node base = root["base"]) {
      if (!base.IsScalar())
        throw ConfigError("{}: `base` is the name of a preset", place(source, base));
      load(base.Scalar(), config, depth + 1);
      root.remove("base");
    }
    walk(source, "", root, config);
  } catch (const YAML::Exception& error) {
    throw ConfigError("{}:{}: not YAML: {}", source.name, error.mark.line + 1, error.msg);
  }
}

}  // namespace

std::vector<std::string> preset_names() {
  std::vector<std::string> names;
  for (const BuiltinPreset& preset : builtin_presets()) names.emplace_back(preset.name);
  return names;
}

void load_preset(const std::string& name, Config& config) {
  // From the end: xN of servers, xN of cards in each.
  std::vector<std::string> counts;
  std::string preset = name;
  while (!is_file_name(name) && counts.size() < 2) {
    const std::size_t cross = preset.rfind('x');
    if (cross == std::string::npos || cross == 0 || cross + 1 == preset.size()) break;
    const std::string count = preset.substr(cross + 1);
    if (count.find_first_not_of("0123456789") != std::string::npos) break;
    counts.insert(counts.begin(), count);
    preset = preset.substr(0, cross);
  }
  load(preset, config, 0);
  const char* note = "assumed: as many as asked for";
  if (!counts.empty()) config.set("server.cards", counts[0], name, note);
  if (counts.size() == 2) config.set("network.servers", counts[1], name, note);
}

}  // namespace steppe
