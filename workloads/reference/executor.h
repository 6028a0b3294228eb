// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/net/net.h"

namespace steppe::reference {

/// Elements of a tensor, in the vector of its type; bf16 as the fp32 numbers they are.
struct Values {
  std::vector<std::int8_t> int8;
  std::vector<float> real;
  std::vector<std::int32_t> int32;
};

/// Executes a network of the card on the host, in Eigen, by the letter of
/// models/numerics/README.md. It shares no arithmetic with the hardware models: it is what their
/// results are compared with.
class Executor {
 public:
  /// Keeps a reference to the network, whose constants must have data (ModelError otherwise).
  explicit Executor(const net::Net& network);

  /// One run on elements in the order of the card, one for each port; returns the outputs likewise.
  std::vector<Values> run_on_card(const std::vector<Values>& inputs);

  /// One run on fp32 arrays in the user's axis order; returns the outputs likewise, as numbers.
  std::vector<std::vector<float>> run(const std::vector<std::vector<float>>& inputs);

  /// The elements of a tensor after the last run.
  [[nodiscard]] const Values& tensor(net::TensorId id) const { return tensors_.at(id); }

 private:
  const net::Net& network_;
  std::vector<Values> tensors_;  ///< DRAM-resident ones live on between runs
};

}  // namespace steppe::reference
