// SPDX-License-Identifier: Apache-2.0
#include "sim/machine.h"

#include <map>

#include "models/base/error.h"
#include "platform/preset.h"

namespace steppe::sim {

Machine::Machine(const MachineOptions& options)
    : limit_seconds_(options.limit_seconds),
      workers_(options.threads),
      context_{.config = config_,
               .mode = options.mode,
               .timeline = options.timeline,
               .workers = &workers_} {
  load_preset(options.platform, config_);
  for (const std::string& setting : options.settings) {
    const std::size_t equals = setting.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw ConfigError("--set {}: expected path=value, as in card.chip.dram.bandwidth=100GB/s",
                        setting);
    }
    config_.set(setting.substr(0, equals), setting.substr(equals + 1), "--set");
  }
  // SystemC's own notes and its warnings about names are not the user's business; errors throw.
  sc_core::sc_report_handler::set_actions(sc_core::SC_INFO, sc_core::SC_DO_NOTHING);
  server_ = std::make_unique<Server>("server", Scope(context_, ""));
  host_ = std::make_unique<Host>("host", Scope(context_, "host"));
  runtime_params_ = std::make_unique<RuntimeParams>(Scope(context_, "host"));
  processors_ = std::make_unique<HostProcessors>(Scope(context_, "host"));
  server_->bind(host_->memory, host_->mmio.socket);
  std::vector<std::string> known;
  for (const ParamInfo& param : context_.params) known.push_back(param.path);
  config_.check_all_used(known);
}

void Machine::run(const std::function<void()>& body) {
  bool ended = false;
  std::exception_ptr failure;
  sc_core::sc_spawn([&] {
    try {
      body();
    } catch (...) {
      failure = std::current_exception();
    }
    ended = true;
    sc_core::sc_stop();
  });
  const sc_core::sc_time limit(limit_seconds_, sc_core::SC_SEC);
  sc_core::sc_start(limit);
  if (failure) std::rethrow_exception(failure);
  if (!ended && sc_core::sc_pending_activity()) {
    throw MachineError(
        "the run has not ended after {} s of simulated time; --limit sets another limit\n{}",
        limit_seconds_, server_->deadlock_report());
  }
  if (!ended) {
    throw MachineError("deadlock: nothing can happen any more, and the run has not ended\n{}",
                       server_->deadlock_report());
  }
}

namespace {

std::string comment(const ParamInfo& param) {
  std::string text = param.unit.empty() ? "" : param.unit + "; ";
  text += param.origin;
  if (!param.note.empty()) text += "; " + param.note;
  return text;
}

/// A tree of keys, so that each map is written once.
struct Node {
  std::map<std::string, Node> children;
  const ParamInfo* param = nullptr;
};

void insert(Node& root, std::string_view path, const ParamInfo& param) {
  Node* at = &root;
  while (!path.empty()) {
    const std::size_t dot = path.find('.');
    at = &at->children[std::string(path.substr(0, dot))];
    path = dot == std::string_view::npos ? std::string_view{} : path.substr(dot + 1);
  }
  at->param = &param;
}

void write(const Node& node, std::size_t depth, std::string& out) {
  for (const auto& [name, child] : node.children) {
    out.append(2 * depth, ' ');
    if (child.param != nullptr) {
      out += fmt::format("{}: {}  # {}\n", name, child.param->value, comment(*child.param));
      continue;
    }
    out += name + ":\n";
    write(child, depth + 1, out);
  }
}

}  // namespace

std::string config_yaml(const std::vector<ParamInfo>& params) {
  // One line stands for all instances that agree; the others are written with their indices.
  std::map<std::string, std::vector<const ParamInfo*>> by_name;
  for (const ParamInfo& param : params) by_name[without_indices(param.path)].push_back(&param);
  Node root;
  for (const auto& [name, instances] : by_name) {
    insert(root, name, *instances.front());
    for (const ParamInfo* instance : instances) {
      if (instance->value != instances.front()->value) insert(root, instance->path, *instance);
    }
  }
  std::string out = "# The effective configuration: value, then unit and where it came from.\n";
  write(root, 0, out);
  return out;
}

}  // namespace steppe::sim
