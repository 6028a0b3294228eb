// SPDX-License-Identifier: Apache-2.0
//
// The vector unit's instructions of models/numerics/README.md, written from that page alone:
// nothing of models/numerics or models/vector is used.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "tests/models/vector/special_reference.h"
#include "tests/models/vector/vector_case.h"

namespace steppe::test {
namespace {

using At = std::uint64_t;
constexpr float infinity = std::numeric_limits<float>::infinity();

At bytes_of(std::uint32_t type) { return type == 0 ? 1 : type == 2 ? 2 : 4; }

class Reference {
 public:
  explicit Reference(const VectorCase& vector_case)
      : before_(vector_case.memory), after_(vector_case.memory) {}

  void operator()(const isa::Map& op) {
    for (std::int64_t i = 0; i < op.size0; ++i)
      for (std::int64_t j = 0; j < op.size1; ++j)
        for (std::int64_t k = 0; k < op.size2; ++k)
          for (std::int64_t l = 0; l < op.size3; ++l) {
            const auto at = [&](At offset, std::int64_t s0, std::int64_t s1, std::int64_t s2,
                                std::int64_t s3) {
              return offset + static_cast<At>(i * s0 + j * s1 + k * s2 + l * s3);
            };
            const float a = value(op.a_type, op.a_zero, op.a_scale,
                                  at(op.a_offset, op.a_step0, op.a_step1, op.a_step2, op.a_step3));
            const float b = value(op.b_type, op.b_zero, op.b_scale,
                                  at(op.b_offset, op.b_step0, op.b_step1, op.b_step2, op.b_step3));
            const float c = value(op.c_type, op.c_zero, op.c_scale,
                                  at(op.c_offset, op.c_step0, op.c_step1, op.c_step2, op.c_step3));
            float v = mapped(op.function, a, b, c);
            const At to = at(op.out_offset, op.out_step0, op.out_step1, op.out_step2, op.out_step3);
            if (op.out_type == 0) {
              put(to, store8(v * op.out_inverse, op.out_zero, op.clamp_low, op.clamp_high), 1);
              continue;
            }
            if (op.out_type != 3) {
              if (v < op.lowest) v = op.lowest;
              if (v > op.highest) v = op.highest;
            }
            save(op.out_type, op.out_zero, op.out_inverse, to, v);
          }
  }

  void operator()(const isa::Lut& op) {
    for (At row = 0; row < op.rows; ++row)
      for (At e = 0; e < op.elements; ++e) {
        const std::int32_t q = byte(op.in_offset + row * op.in_pitch + e);
        put(op.out_offset + row * op.out_pitch + e,
            byte(op.table_offset + static_cast<At>(q + 128)), 1);
      }
  }

  void operator()(const isa::Pool& op) {
    const At item = bytes_of(op.type);
    for (std::uint32_t y = 0; y < op.out_h; ++y)
      for (std::uint32_t x = 0; x < op.out_w; ++x)
        for (std::uint32_t c = 0; c < op.channels; ++c) {
          const At to = op.out_offset + At{y} * op.out_row + (At{x} * op.channels + c) * item;
          op.type == 0 ? pool_bytes(op, y, x, c, to) : pool_numbers(op, y, x, c, to);
        }
  }

  void operator()(const isa::Softmax& op) {
    for (At row = 0; row < op.rows; ++row) {
      std::int64_t seen = op.elements;
      if (op.mask_period != 0) {
        seen = op.mask_first +
               std::int64_t{op.mask_step} * static_cast<std::int64_t>(row % op.mask_period);
      }
      std::vector<float> x;
      std::int32_t top = -128;
      float m = 0;
      for (std::int64_t e = 0; e < op.elements && e < seen; ++e) {
        const At from =
            op.in_offset + row * op.in_pitch + static_cast<At>(e) * bytes_of(op.in_type);
        if (op.in_type == 0) {
          x.push_back(static_cast<float>(byte(from)));
          top = std::max(top, byte(from));
        } else {
          x.push_back(value(op.in_type, op.in_zero, op.in_scale, from));
          if (e == 0 || m < x.back()) m = x.back();
        }
      }
      float sum = 0;
      std::vector<float> powers;
      for (std::size_t e = 0; e < x.size(); ++e) {
        x[e] = op.in_type == 0 ? (x[e] - static_cast<float>(top)) * op.in_scale : x[e] - m;
        powers.push_back(special_exp(x[e]));
        sum = e == 0 ? powers[0] : sum + powers[e];
      }
      for (At e = 0; e < op.elements; ++e) {
        float v = op.log != 0 ? -infinity : 0.0F;
        if (e < x.size()) v = op.log != 0 ? x[e] - special_log(sum) : powers[e] * (1.0F / sum);
        save(op.out_type, op.out_zero, op.out_inverse,
             op.out_offset + row * op.out_pitch + e * bytes_of(op.out_type), v);
      }
    }
  }

  void operator()(const isa::Norm& op) {
    const At item = bytes_of(op.in_type);
    const auto n = static_cast<float>(op.outer * op.inner);
    for (At row = 0; row < op.rows; ++row) {
      const auto from = [&](At e) {
        return op.in_offset + row * op.in_pitch + e / op.inner * op.in_outer + e % op.inner * item;
      };
      std::vector<float> x;
      std::int64_t a = 0;
      std::int64_t squares = 0;
      for (At e = 0; e < At{op.outer} * op.inner; ++e) {
        if (op.in_type == 0) {
          const std::int64_t d = byte(from(e)) - op.in_zero;
          a += d;
          squares += d * d;
          x.push_back(static_cast<float>(d));
        } else {
          x.push_back(value(op.in_type, op.in_zero, op.in_scale, from(e)));
        }
      }
      float mean = 0;
      float spread = 0;
      if (op.in_type == 0 && op.kind == 0) {
        mean = static_cast<float>(a) / n;
        spread =
            static_cast<float>(static_cast<std::int64_t>(x.size()) * squares - a * a) / (n * n);
      } else if (op.in_type == 0) {
        spread = static_cast<float>(squares) / n;
      } else {
        if (op.kind == 0) {
          for (const float each : x) mean = mean + each;
          mean = mean / n;
        }
        for (const float each : x) {
          const float d = op.kind == 0 ? each - mean : each;
          spread = spread + d * d;
        }
        spread = spread / n;
      }
      if (op.in_type == 0) spread = (spread * op.in_scale) * op.in_scale;
      const float r = 1.0F / std::sqrt(spread + op.epsilon);
      const At gains = op.affine_offset + row % op.affine_period * op.affine_pitch;
      for (At e = 0; e < x.size(); ++e) {
        float v = op.kind == 0 ? x[e] - mean : x[e];
        if (op.in_type == 0) v = v * op.in_scale;
        v = v * r;
        if (op.gains >= 1) v = v * number(gains + e % op.inner * 4);
        if (op.gains == 2) v = v + number(gains + (op.inner + e % op.inner) * 4);
        save(op.out_type, op.out_zero, op.out_inverse,
             op.out_offset + row * op.out_pitch + e / op.inner * op.out_outer +
                 e % op.inner * bytes_of(op.out_type),
             v);
      }
    }
  }

  void operator()(const isa::Permute& op) {
    for (std::int64_t a = 0; a < op.size0; ++a)
      for (std::int64_t b = 0; b < op.size1; ++b)
        for (std::int64_t c = 0; c < op.size2; ++c)
          for (std::int64_t d = 0; d < op.size3; ++d)
            for (std::int64_t e = 0; e < op.size4; ++e) {
              const std::int64_t from = a * op.in_step0 + b * op.in_step1 + c * op.in_step2 +
                                        d * op.in_step3 + e * op.in_step4;
              const std::int64_t to = a * op.out_step0 + b * op.out_step1 + c * op.out_step2 +
                                      d * op.out_step3 + e * op.out_step4;
              move(op.in_offset + static_cast<At>(from), op.out_offset + static_cast<At>(to),
                   At{1} << op.item);
            }
  }

  void operator()(const isa::Reduce& op) {
    for (std::int64_t group = 0; group < op.outer; ++group)
      for (std::int64_t row = 0; row < op.rows; ++row) {
        const At from = op.in_offset + static_cast<At>(group * op.in_outer + row * op.in_pitch);
        const At to = op.out_offset + static_cast<At>(group * op.out_outer + row * op.out_pitch);
        std::vector<float> x;
        std::int64_t sum = 0;
        std::int64_t squares = 0;
        for (std::int64_t e = 0; e < op.elements; ++e) {
          const At at = from + static_cast<At>(e * op.in_step);
          x.push_back(value(op.in_type, op.in_zero, op.in_scale, at));
          const std::int64_t d = byte(at) - op.in_zero;
          sum += d;
          squares += d * d;
        }
        reduce_row(op, x, static_cast<float>(sum), static_cast<float>(squares), to);
      }
  }

  void operator()(const isa::Resize& op) {
    const At item = bytes_of(op.type);
    for (std::uint32_t y = 0; y < op.out_h; ++y)
      for (std::uint32_t x = 0; x < op.out_w; ++x)
        for (std::uint32_t c = 0; c < op.channels; ++c) {
          const At to = op.out_offset + At{y} * op.out_row + (At{x} * op.channels + c) * item;
          const float fy = coordinate(op, y + op.out_first, op.step_h, op.whole_h);
          const float fx = coordinate(op, x, op.step_w, op.in_w);
          const auto from = [&](float row, float column) {
            const auto present = std::clamp<std::int64_t>(
                static_cast<std::int64_t>(row) - op.in_first, 0, std::int64_t{op.in_h} - 1);
            return op.in_offset + static_cast<At>(present) * op.in_row +
                   (static_cast<At>(column) * op.channels + c) * item;
          };
          if (op.linear == 0) {
            move(from(fy, fx), to, item);
            continue;
          }
          const auto pixel = [&](float row, float column) {
            return value(op.type, 0, 1.0F,
                         from(std::min(row, static_cast<float>(op.whole_h - 1)),
                              std::min(column, static_cast<float>(op.in_w - 1))));
          };
          const float ly = std::floor(fy);
          const float lx = std::floor(fx);
          const float dx = fx - lx;
          const float dy = fy - ly;
          const float top = pixel(ly, lx) * (1 - dx) + pixel(ly, lx + 1) * dx;
          const float bottom = pixel(ly + 1, lx) * (1 - dx) + pixel(ly + 1, lx + 1) * dx;
          save(op.type, 0, 1.0F, to, top * (1 - dy) + bottom * dy);
        }
  }

  void operator()(const isa::Gather& op) {
    for (At row = 0; row < op.rows; ++row) {
      const std::int32_t index = integer(op.indices_offset + row * 4);
      const At to = op.out_offset + row * op.out_pitch;
      if (index < 0 || index >= std::int64_t{op.in_rows}) {
        for (At e = 0; e < op.row_bytes; ++e) put(to + e, 0, 1);
      } else {
        move(op.in_offset + static_cast<At>(index) * op.in_pitch, to, op.row_bytes);
      }
    }
  }

  void operator()(const isa::Scatter& op) {
    const At item = bytes_of(op.type);
    for (At row = 0; row < op.rows; ++row) {
      const std::int32_t index = integer(op.indices_offset + row * 4);
      if (index < 0 || index >= std::int64_t{op.out_rows}) continue;
      for (At e = 0; e < op.elements; ++e) {
        const At from = op.in_offset + row * op.in_pitch + e * item;
        const At to = op.out_offset + static_cast<At>(index) * op.out_pitch + e * item;
        if (op.add == 0) {
          move(from, to, item);
        } else if (op.type == 3) {
          put(to, std::int64_t{integer(from)} + integer(to, after_), 4);
        } else {
          save(op.type, 0, 1.0F, to,
               value(op.type, 0, 1.0F, to, after_) + value(op.type, 0, 1.0F, from));
        }
      }
    }
  }

  void operator()(const isa::TopK& op) {
    const At item = bytes_of(op.type);
    for (At row = 0; row < op.rows; ++row) {
      const auto from = [&](At e) { return op.in_offset + row * op.in_pitch + e * item; };
      const auto key = [&](At e) -> double {
        return op.type == 3 ? integer(from(e)) : value(op.type, 0, 1.0F, from(e));
      };
      std::vector<bool> taken(op.elements);
      for (At i = 0; i < op.k; ++i) {
        At best = op.elements;
        for (At e = 0; e < op.elements; ++e) {
          if (taken[e]) continue;
          const bool first = best == op.elements;
          const double x = key(e);
          const double y = first ? 0 : key(best);
          const bool ahead = op.smallest != 0 ? x < y : x > y;
          if (first || ahead || (std::isnan(y) && !std::isnan(x))) best = e;
        }
        taken[best] = true;
        move(from(best), op.out_offset + row * op.out_pitch + i * item, item);
        put(op.indices_offset + row * op.index_pitch + i * 4, static_cast<std::int64_t>(best), 4);
      }
    }
  }

  void operator()(const auto&) {}

  [[nodiscard]] std::vector<std::uint8_t> result() const { return after_; }

 private:
  using Memory = std::vector<std::uint8_t>;

  [[nodiscard]] std::int32_t byte(At offset) const {
    return static_cast<std::int8_t>(before_.at(offset));
  }
  [[nodiscard]] std::int32_t integer(At offset) const { return integer(offset, before_); }
  static std::int32_t integer(At offset, const Memory& memory) {
    std::uint32_t bits = 0;
    for (At i = 4; i-- > 0;) bits = bits << 8 | memory.at(offset + i);
    return static_cast<std::int32_t>(bits);
  }
  [[nodiscard]] float number(At offset) const { return std::bit_cast<float>(integer(offset)); }
  [[nodiscard]] float value(std::uint32_t type, std::int32_t zero, float scale, At offset) const {
    return value(type, zero, scale, offset, before_);
  }
  static float value(std::uint32_t type, std::int32_t zero, float scale, At offset,
                     const Memory& memory) {
    if (type == 0)
      return static_cast<float>(static_cast<std::int8_t>(memory.at(offset)) - zero) * scale;
    if (type == 2) {
      const std::uint32_t half = memory.at(offset) | memory.at(offset + 1) << 8;
      return std::bit_cast<float>(half << 16);
    }
    const std::int32_t bits = integer(offset, memory);
    return type == 1 ? std::bit_cast<float>(bits) : static_cast<float>(bits) * scale;
  }

  void put(At offset, std::int64_t bits, At bytes) {
    for (At i = 0; i < bytes; ++i)
      after_.at(offset + i) = static_cast<std::uint8_t>(bits >> (8 * i));
  }
  void move(At from, At to, At bytes) {
    for (At i = 0; i < bytes; ++i) after_.at(to + i) = before_.at(from + i);
  }

  static std::int32_t store8(float v, std::int32_t zero, std::int32_t low, std::int32_t high) {
    const float q = std::nearbyint(v) + static_cast<float>(zero);
    if (std::isnan(q)) return low;
    return static_cast<std::int32_t>(
        std::fmin(std::fmax(q, static_cast<float>(low)), static_cast<float>(high)));
  }
  void save(std::uint32_t type, std::int32_t zero, float inverse, At to, float v) {
    if (type == 0) {
      put(to, store8(v * inverse, zero, -128, 127), 1);
    } else if (type == 3) {
      const double whole = std::nearbyint(double{v * inverse});
      const double most = 2147483647.0;
      put(to,
          std::isnan(whole)
              ? -2147483648LL
              : static_cast<std::int64_t>(std::fmin(std::fmax(whole, -2147483648.0), most)),
          4);
    } else if (type == 1) {
      put(to, std::isnan(v) ? 0x7fc00000 : std::bit_cast<std::int32_t>(v), 4);
    } else {
      put(to, nearest_bf16(v), 2);
    }
  }
  /// The nearer of the two neighbours, the even one half-way.
  static std::int32_t nearest_bf16(float v) {
    if (std::isnan(v)) return 0x7fc0;
    const auto bits = std::bit_cast<std::uint32_t>(v);
    const std::uint32_t below = bits >> 16;
    const std::uint32_t rest = bits & 0xffffU;
    const bool up = rest > 0x8000U || (rest == 0x8000U && below % 2 == 1);
    return static_cast<std::int32_t>(up ? below + 1 : below);
  }

  void pool_bytes(const isa::Pool& op, std::int64_t y, std::int64_t x, std::uint32_t c, At to) {
    std::int32_t largest = -128;
    std::int32_t sum = 0;
    const std::int64_t inside = over_window(op, y, x, c, [&](At from) {
      largest = std::max(largest, byte(from));
      sum += byte(from) - op.in_zero;
    });
    const float v = static_cast<float>(sum) / divisor(op, inside);
    put(to, op.function == 0 ? largest : store8(v * op.multiplier, op.out_zero, -128, 127), 1);
  }
  void pool_numbers(const isa::Pool& op, std::int64_t y, std::int64_t x, std::uint32_t c, At to) {
    float largest = -infinity;
    float sum = 0;
    const std::int64_t inside = over_window(op, y, x, c, [&](At from) {
      const float each = value(op.type, 0, 1.0F, from);
      if (largest < each) largest = each;
      sum = sum + each;
    });
    save(op.type, 0, 1.0F, to,
         op.function == 0 ? largest : (sum / divisor(op, inside)) * op.multiplier);
  }
  static float divisor(const isa::Pool& op, std::int64_t inside) {
    return static_cast<float>(op.count_padding != 0 ? op.kernel_h * op.kernel_w : inside);
  }
  template <typename Body>
  static std::int64_t over_window(const isa::Pool& op, std::int64_t y, std::int64_t x,
                                  std::uint32_t c, Body body) {
    std::int64_t inside = 0;
    for (std::int64_t i = 0; i < op.kernel_h; ++i)
      for (std::int64_t j = 0; j < op.kernel_w; ++j) {
        const std::int64_t row = y * op.stride_h + i - op.pad_top;
        const std::int64_t pixel = x * op.stride_w + j - std::int64_t{op.pad_left};
        if (row < 0 || row >= op.in_h || pixel < 0 || pixel >= op.in_w) continue;
        body(op.in_offset + static_cast<At>(row) * op.in_row +
             (static_cast<At>(pixel) * op.channels + c) * bytes_of(op.type));
        ++inside;
      }
    return inside;
  }

  void reduce_row(const isa::Reduce& op, const std::vector<float>& x, float sum, float squares,
                  At to) {
    const auto n = static_cast<float>(x.size());
    const bool exact = op.in_type == 0;
    float total = x[0];
    float product = x[0];
    float square = x[0] * x[0];
    float high = x[0];
    float low = x[0];
    std::int64_t arg_high = 0;
    std::int64_t arg_low = 0;
    for (std::size_t e = 1; e < x.size(); ++e) {
      total = total + x[e];
      product = product * x[e];
      square = square + x[e] * x[e];
      if (high < x[e]) high = x[e], arg_high = static_cast<std::int64_t>(e);
      if (x[e] < low) low = x[e], arg_low = static_cast<std::int64_t>(e);
    }
    if (op.function >= 7) return put(to, op.function == 7 ? arg_high : arg_low, 4);
    if (exact) square = (squares * op.in_scale) * op.in_scale;
    const float results[] = {exact ? sum * op.in_scale : total,
                             exact ? (sum / n) * op.in_scale : total / n,
                             high,
                             low,
                             product,
                             square,
                             std::sqrt(square)};
    save(op.out_type, op.out_zero, op.out_inverse, to, results[op.function]);
  }

  static float coordinate(const isa::Resize& op, std::uint32_t i, float step, std::uint32_t size) {
    float x = static_cast<float>(i) * step;
    if (op.half_pixel != 0) x = (static_cast<float>(i) + 0.5F) * step - 0.5F;
    if (op.linear == 0) {
      if (op.rounding == 0) x = std::ceil(x - 0.5F);
      if (op.rounding == 1) x = std::floor(x + 0.5F);
      if (op.rounding == 2) x = std::floor(x);
      if (op.rounding == 3) x = std::ceil(x);
    }
    if (std::isnan(x)) return 0;
    return std::clamp(x, 0.0F, static_cast<float>(size - 1));
  }

  const Memory& before_;
  Memory after_;
};

}  // namespace

std::vector<std::uint8_t> reference(const VectorCase& vector_case) {
  Reference run(vector_case);
  std::visit(run, vector_case.operation);
  return run.result();
}

}  // namespace steppe::test
