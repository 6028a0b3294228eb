// SPDX-License-Identifier: Apache-2.0
#include "workloads/passes/limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <string_view>

#include "models/base/error.h"
#include "models/isa/isa.h"

namespace steppe::passes {
namespace {

struct Extent {
  std::string_view field;
  std::uint64_t value;
};

std::string first_beyond(std::string_view mnemonic, std::initializer_list<Extent> extents) {
  const auto table = isa::instruction_table();
  const auto row = std::ranges::find(table, mnemonic, &isa::InstructionInfo::mnemonic);
  STEPPE_CHECK(row != table.end());
  for (const auto& [name, value] : extents) {
    const auto field = std::ranges::find(row->fields, name, &isa::FieldInfo::name);
    STEPPE_CHECK(field != row->fields.end(), "{}", name);
    const std::uint64_t most = (std::uint64_t{1} << field->bits) - 1;
    if (value > most) return fmt::format("{} of {}; an instruction holds {}", name, value, most);
  }
  return {};
}

}  // namespace

std::string beyond_limits(const net::Net& net, const net::Conv& op) {
  const net::Tensor& in = net.tensor(op.in);
  const net::Tensor& out = net.tensor(op.out);
  return first_beyond("conv", {{"kernel_h", op.kernel_h},
                               {"kernel_w", op.kernel_w},
                               {"stride_h", op.stride_h},
                               {"stride_w", op.stride_w},
                               {"dilation_h", op.dilation_h},
                               {"dilation_w", op.dilation_w},
                               {"pad_left", op.pad_left},
                               {"in_w", in.shape.w},
                               {"in_c", in.shape.c / op.groups},
                               {"in_pixel", in.shape.c * in.item_bytes()},
                               {"out_w", out.shape.w},
                               {"out_c", op.groups > 1 ? out.shape.c : 0},
                               {"out_pixel", out.shape.c * out.item_bytes()},
                               {"groups", op.groups}});
}

std::string beyond_limits(const net::Net& net, const net::MatMul& op) {
  return first_beyond("conv",
                      {{"in_c", net.tensor(op.a).shape.c}, {"out_c", net.tensor(op.out).shape.c}});
}

std::string beyond_limits(const net::Net& net, const net::Pool& op) {
  const net::Shape& in = net.tensor(op.in).shape;
  return first_beyond("pool", {{"kernel_h", op.kernel_h},
                               {"kernel_w", op.kernel_w},
                               {"stride_h", op.stride_h},
                               {"stride_w", op.stride_w},
                               {"pad_left", op.pad_left},
                               {"in_w", in.w},
                               {"out_w", net.tensor(op.out).shape.w},
                               {"channels", in.c}});
}

}  // namespace steppe::passes
