// SPDX-License-Identifier: Apache-2.0
#include "workloads/graph/kernels.h"

#include <map>

namespace steppe::graph {

void run_kernel(const Call<float>& call) {
  using Kernel = void (*)(const Call<float>&);
  static const std::map<std::string, Kernel, std::less<>> table{
      {"Conv", kernels::conv},
      {"MatMul", kernels::matmul},
      {"MaxPool", kernels::max_pool},
      {"AveragePool", kernels::average_pool},
      {"GlobalAveragePool", kernels::global_average_pool},
      {"ReduceMean", kernels::reduce_mean},
      {"Softmax", kernels::softmax},
      {"LayerNormalization", kernels::layer_norm}};
  const auto kernel = table.find(call.node.op);
  if (kernel != table.end()) return kernel->second(call);
  if (run_movement(call) || kernels::pointwise(call)) return;
  throw ModelError("{}: no such operator", described(call.node));
}

void run_kernel(const Call<std::int64_t>& call) {
  if (run_movement(call) || kernels::pointwise(call)) return;
  throw ModelError("{}: integers have no such operator", described(call.node));
}

}  // namespace steppe::graph
