// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workloads/graph/movement.h"

namespace steppe::graph {

/// Computes the result of a canonical node in fp32 (sums of reductions in binary64). Shapes must
/// have passed `infer_shape`. CacheStore is the executor's own.
void run_kernel(const Call<float>& call);

/// As above in 64-bit integers, for the operators that shape arithmetic needs. Throws ModelError
/// for others and for division by zero.
void run_kernel(const Call<std::int64_t>& call);

namespace kernels {
void conv(const Call<float>& call);
void matmul(const Call<float>& call);
void max_pool(const Call<float>& call);
void average_pool(const Call<float>& call);
void global_average_pool(const Call<float>& call);
void reduce_mean(const Call<float>& call);
void softmax(const Call<float>& call);
void layer_norm(const Call<float>& call);
/// Arithmetic and functions; false where the node is none of these.
bool pointwise(const Call<float>& call);
bool pointwise(const Call<std::int64_t>& call);
}  // namespace kernels

}  // namespace steppe::graph
