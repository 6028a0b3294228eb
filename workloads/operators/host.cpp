// SPDX-License-Identifier: Apache-2.0
#include "workloads/operators/host.h"

#include <algorithm>
#include <stdexcept>

namespace steppe::graph {

std::vector<std::string> listed(const std::string& text) {
  std::vector<std::string> names;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    names.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return names;
}

std::size_t HostCall::room(const Shape& shape) const {
  const std::int64_t size = checked_elements(shape, described(node));
  if (size > max_host_elements) fail("a result of {} is too large for the host", text(shape));
  return static_cast<std::size_t>(size);
}

const HostTable& host_operators() {
  static const HostTable table = [] {
    HostTable t;
    add_host_pointwise(t);
    add_host_reductions(t);
    add_host_moves(t);
    add_host_gathers(t);
    add_host_products(t);
    add_host_windows(t);
    add_host_norms(t);
    add_host_quantised(t);
    add_host_recurrent(t);
    add_host_resize(t);
    add_host_others(t);
    return t;
  }();
  return table;
}

std::vector<Tensor> run_host(const Node& node, const std::vector<const Tensor*>& inputs) {
  HostCall call{node, inputs, {}};
  const auto found = host_operators().find(call.op());
  if (found == host_operators().end()) call.fail("no such operator");
  try {
    found->second.kernel(call);
  } catch (const std::out_of_range&) {
    call.fail("its operands do not fit each other");
  } catch (const std::length_error&) {
    call.fail("a result is too large for the host");
  }
  return std::move(call.out);
}

}  // namespace steppe::graph
