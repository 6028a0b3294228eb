// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cstdio>
#include <set>

#include "sim/command.h"
#include "sim/machine.h"

namespace steppe::sim {

int params_command(const std::vector<std::string>& arguments) {
  MachineOptions machine_options{.mode = Mode::timing};
  options::options_description described("options");
  auto add = described.add_options();
  add("platform", options::value(&machine_options.platform)->default_value("s30"),
      "preset or YAML file");
  add("set", options::value(&machine_options.settings), "path=value");
  add("all", "every instance, not one line for all that agree");
  add("markdown", "as a page");
  options::variables_map values;
  if (!parse_arguments(arguments, "params [OPTION …]", described, "", values)) return 0;
  Machine machine(machine_options);

  const bool markdown = values.count("markdown") != 0;
  if (markdown) {
    fmt::print(
        "| parameter | value | unit | range | meaning | from |\n|---|---|---|---|---|---|\n");
  }
  std::set<std::string> seen;
  for (const ParamInfo& param : machine.context().params) {
    std::string path = param.path;
    if (values.count("all") == 0) {
      path = without_indices(path);
      if (!seen.insert(path + "=" + param.value).second) continue;
    }
    const std::string from = param.note.empty() ? param.origin : param.origin + "; " + param.note;
    if (markdown) {
      fmt::print("| `{}` | {} | {} | {} | {} | {} |\n", path, param.value, param.unit, param.range,
                 param.doc, from);
    } else {
      fmt::print("{} = {} {}\n    {} ({}); from {}\n", path, param.value, param.unit, param.doc,
                 param.range, from);
    }
  }
  return 0;
}

}  // namespace steppe::sim
