// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <vector>

#include "models/isa/functions.h"
#include "models/numerics/special.h"
#include "models/vector/elements.h"
#include "models/vector/vector_kernels.h"

namespace steppe::vector_kernels {
namespace {

using namespace vector_functions;

/// The index space with what can be made one extent made one: the innermost grows as long as can
/// be.
struct Space {
  static constexpr std::size_t operands = 4;  // a, b, c, result
  std::array<std::uint64_t, 4> size{1, 1, 1, 1};
  std::array<std::array<std::int64_t, 4>, operands> step{};

  explicit Space(const isa::Map& op, std::uint32_t used) {
    const std::uint32_t sizes[] = {op.size0, op.size1, op.size2, op.size3};
    const std::array<std::array<std::int64_t, 4>, operands> steps{
        {{op.a_step0, op.a_step1, op.a_step2, op.a_step3},
         {op.b_step0, op.b_step1, op.b_step2, op.b_step3},
         {op.c_step0, op.c_step1, op.c_step2, op.c_step3},
         {op.out_step0, op.out_step1, op.out_step2, op.out_step3}}};
    std::size_t to = 4;  // filled from the innermost on
    for (std::size_t axis = 4; axis-- > 0;) {
      if (sizes[axis] == 1) continue;
      bool continues = to < 4;
      for (std::size_t o = 0; o < operands && continues; ++o) {
        const bool counts = o < used || o == 3;
        continues = !counts || steps[o][axis] == step[o][to] * static_cast<std::int64_t>(size[to]);
      }
      if (continues && size[to] * sizes[axis] < (std::uint64_t{1} << 32)) {
        size[to] *= sizes[axis];
        continue;
      }
      --to;
      size[to] = sizes[axis];
      for (std::size_t o = 0; o < operands; ++o) step[o][to] = steps[o][axis];
    }
  }
};

float truth(bool value) { return value ? 1.0F : 0.0F; }

template <typename F>
void all(std::uint32_t count, Chunk& a, const Chunk& b, const Chunk& c, F f) {
  if (count == chunk) {  // a known length, for plain vector code
    for (std::uint32_t i = 0; i < chunk; ++i) a[i] = f(a[i], b[i], c[i]);
  } else {
    for (std::uint32_t i = 0; i < count; ++i) a[i] = f(a[i], b[i], c[i]);
  }
}
template <typename F>
void each(Chunk& a, std::uint32_t count, F f) {
  for (std::uint32_t i = 0; i < count; ++i) a[i] = f(a[i]);
}

#define STEPPE_EXPRESSION(name, expression)                           \
  case name##_:                                                       \
    return all(count, a, b, c,                                        \
               []([[maybe_unused]] float x, [[maybe_unused]] float y, \
                  [[maybe_unused]] float z) -> float { return expression; });
#define STEPPE_SPECIAL(name, function) \
  case name##_:                        \
    return each(a, count, [](float x) { return function(x); });

void apply(std::uint32_t function, std::uint32_t count, Chunk& a, const Chunk& b, const Chunk& c) {
  switch (function) {
    STEPPE_EXPRESSION(add, x + y)
    STEPPE_EXPRESSION(sub, x - y)
    STEPPE_EXPRESSION(mul, x * y)
    STEPPE_EXPRESSION(div, x / y)
    STEPPE_EXPRESSION(max, x < y ? y : x)
    STEPPE_EXPRESSION(min, y < x ? y : x)
    STEPPE_EXPRESSION(eq, truth(x == y))
    STEPPE_EXPRESSION(lt, truth(x < y))
    STEPPE_EXPRESSION(le, truth(x <= y))
    STEPPE_EXPRESSION(and, truth((x != 0) & (y != 0)))
    STEPPE_EXPRESSION(or, truth((x != 0) | (y != 0)))
    STEPPE_EXPRESSION(xor, truth((x != 0) ^ (y != 0)))
    STEPPE_EXPRESSION(select, z != 0 ? x : y)
    STEPPE_EXPRESSION(muladd, x * y + z)
    STEPPE_EXPRESSION(neg, -x)
    STEPPE_EXPRESSION(abs, std::fabs(x))
    STEPPE_EXPRESSION(sign, x > 0 ? 1.0F : (x < 0 ? -1.0F : x))
    STEPPE_EXPRESSION(reciprocal, 1.0F / x)
    STEPPE_EXPRESSION(not, truth(x == 0))
    STEPPE_SPECIAL(floor, std::floor)
    STEPPE_SPECIAL(ceil, std::ceil)
    STEPPE_SPECIAL(round, std::nearbyint)
    STEPPE_SPECIAL(sqrt, std::sqrt)
    STEPPE_SPECIAL(rsqrt, numerics::rsqrt_fp32)
    STEPPE_SPECIAL(exp, numerics::exp_fp32)
    STEPPE_SPECIAL(log, numerics::log_fp32)
    STEPPE_SPECIAL(erf, numerics::erf_fp32)
    STEPPE_SPECIAL(tanh, numerics::tanh_fp32)
    STEPPE_SPECIAL(sigmoid, numerics::sigmoid_fp32)
    STEPPE_SPECIAL(gelu, numerics::gelu_fp32)
    STEPPE_SPECIAL(gelu_tanh, numerics::gelu_tanh_fp32)
    STEPPE_SPECIAL(silu, numerics::silu_fp32)
    STEPPE_SPECIAL(softplus, numerics::softplus_fp32)
    STEPPE_SPECIAL(sin, numerics::sin_fp32)
    STEPPE_SPECIAL(cos, numerics::cos_fp32)
    case pow_:
      for (std::uint32_t i = 0; i < count; ++i) a[i] = numerics::pow_fp32(a[i], b[i]);
      return;
    case mod_:
      for (std::uint32_t i = 0; i < count; ++i) a[i] = std::fmod(a[i], b[i]);
      return;
    default:  // copy
      return;
  }
}

void run_rows(const isa::Map& op, std::uint32_t used, const std::uint8_t* a, const std::uint8_t* b,
              const std::uint8_t* c, std::uint8_t* out) {
  const Space space(op, used);
  const Source sources[] = {{op.a_type, op.a_zero, op.a_scale},
                            {op.b_type, op.b_zero, op.b_scale},
                            {op.c_type, op.c_zero, op.c_scale}};
  const Target target{op.out_type,   op.out_zero, op.out_inverse, op.clamp_low,
                      op.clamp_high, op.lowest,   op.highest};
  const std::uint8_t* const bases[] = {a, b, c};
  const std::size_t reads = std::min<std::size_t>(used, std::size(bases));
  Chunk values[3]{};
  for (std::uint64_t i0 = 0; i0 < space.size[0]; ++i0) {
    for (std::uint64_t i1 = 0; i1 < space.size[1]; ++i1) {
      for (std::uint64_t i2 = 0; i2 < space.size[2]; ++i2) {
        const auto at = [&](std::size_t operand, std::uint32_t i3) {
          const auto& step = space.step[operand];
          return static_cast<std::int64_t>(i0) * step[0] + static_cast<std::int64_t>(i1) * step[1] +
                 static_cast<std::int64_t>(i2) * step[2] + std::int64_t{i3} * step[3];
        };
        in_chunks(static_cast<std::uint32_t>(space.size[3]), [&](std::uint32_t first,
                                                                 std::uint32_t count) {
          for (std::size_t o = 0; o < reads; ++o) {
            load(sources[o], bases[o] + at(o, first), space.step[o][3], count, values[o].data());
          }
          apply(op.function, count, values[0], values[1], values[2]);
          store(target, values[0].data(), count, out + at(3, first), space.step[3][3]);
        });
      }
    }
  }
}

/// The results for all 256 values of an int8 operand, computed once and looked up.
void run_by_table(const isa::Map& op, const std::uint8_t* a, std::uint8_t* out) {
  const std::uint32_t bytes = item_bytes(op.out_type);
  isa::Map all_values = op;
  all_values.size0 = all_values.size1 = all_values.size2 = 1;
  all_values.size3 = 256;
  all_values.a_step3 = 1;
  all_values.out_step3 = static_cast<std::int32_t>(bytes);
  std::array<std::uint8_t, 256> values;
  for (std::uint32_t i = 0; i < 256; ++i) values[i] = static_cast<std::uint8_t>(i);
  std::array<std::uint8_t, 1024> table;
  run_rows(all_values, 1, values.data(), nullptr, nullptr, table.data());
  const Space space(op, 1);
  const auto& in_step = space.step[0];
  const auto& out_step = space.step[3];
  for (std::uint64_t i0 = 0; i0 < space.size[0]; ++i0) {
    for (std::uint64_t i1 = 0; i1 < space.size[1]; ++i1) {
      for (std::uint64_t i2 = 0; i2 < space.size[2]; ++i2) {
        const auto start = [&](const std::array<std::int64_t, 4>& step) {
          return static_cast<std::int64_t>(i0) * step[0] + static_cast<std::int64_t>(i1) * step[1] +
                 static_cast<std::int64_t>(i2) * step[2];
        };
        const std::uint8_t* from = a + start(in_step);
        std::uint8_t* to = out + start(out_step);
        for (std::uint64_t i = 0; i < space.size[3]; ++i, from += in_step[3], to += out_step[3]) {
          const std::uint8_t* entry = table.data() + std::size_t{*from} * bytes;
          if (bytes == 1) {
            *to = *entry;
          } else {
            std::memcpy(to, entry, bytes);
          }
        }
      }
    }
  }
}

}  // namespace

void run(const isa::Map& op, const std::uint8_t* a, const std::uint8_t* b, const std::uint8_t* c,
         std::uint8_t* out) {
  const Row* row = find(op.function);
  const std::uint64_t elements =
      std::uint64_t{op.size0} * op.size1 * (std::uint64_t{op.size2} * op.size3);
  if (row->operands == 1 && op.a_type == int8 && row->special_ops != 0 && elements > 256)
    return run_by_table(op, a, out);
  run_rows(op, row->operands, a, b, c, out);
}

}  // namespace steppe::vector_kernels
