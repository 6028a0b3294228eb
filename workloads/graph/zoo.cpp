// SPDX-License-Identifier: Apache-2.0
#include "workloads/graph/zoo.h"

#include <fmt/ranges.h>

#include <functional>
#include <map>

#include "models/base/config.h"
#include "models/base/error.h"

namespace steppe::graph {
namespace {

using Maker = std::function<Graph(const std::string&, const ZooOptions&)>;

const std::map<std::string, Maker>& makers() {
  const auto bert = [](const Bert& sizes) -> Maker {
    return [sizes](const std::string& name, const ZooOptions& options) {
      return bert_encoder(name, sizes, options);
    };
  };
  static const std::map<std::string, Maker> table{
      {"gptj-6b", [](const std::string& name,
                     const ZooOptions& options) { return gptj_decode(name, GptJ{}, options); }},
      {"gptj-tiny",
       [](const std::string& name, const ZooOptions& options) {
         const GptJ sizes{
             .layers = 2, .hidden = 64, .heads = 4, .rotary = 8, .inner = 256, .vocabulary = 512};
         return gptj_decode(name, sizes, options);
       }},
      {"resnet50", resnet50},
      {"bert-base", bert({})},
      {"bert-base-layer", bert({.layers = 1})},
      {"bert-large", bert({.layers = 24, .hidden = 1024, .heads = 16, .inner = 4096})},
      {"gemm-1024", [](const std::string& name, const ZooOptions& options) {
         return matrix_product(name, 1024, options);
       }}};
  return table;
}

}  // namespace

std::vector<std::string> zoo_names() {
  std::vector<std::string> names;
  for (const auto& [name, maker] : makers()) names.push_back(name);
  return names;
}

Graph zoo_model(const std::string& name, const ZooOptions& options) {
  const auto maker = makers().find(name);
  if (maker != makers().end()) return maker->second(name, options);
  const std::string near = nearest_name(name, zoo_names());
  throw ConfigError("the zoo has no model '{}'{}; it has {}", name,
                    near.empty() ? "" : ", did you mean '" + near + "'?",
                    fmt::join(zoo_names(), ", "));
}

}  // namespace steppe::graph
