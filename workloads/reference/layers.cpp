// SPDX-License-Identifier: Apache-2.0
// The layers of the vector unit.
#include "workloads/reference/layers.h"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>

#include "models/base/error.h"

namespace steppe::reference {
namespace {

using net::Type;

constexpr float infinity = std::numeric_limits<float>::infinity();

bool is_int8(const State& state, net::TensorId id) { return state.info(id).type == Type::int8; }

/// An element less the zero point, of an int8 tensor.
std::int32_t centred(const State& state, net::TensorId id, std::size_t element) {
  return state.in(id).int8[element] - state.info(id).quant.zero;
}

/// Index into an operand of `shape` for element (n, y, x, c) of the output.
std::size_t broadcast_index(const net::Shape& shape, std::uint32_t n, std::uint32_t y,
                            std::uint32_t x, std::uint32_t c) {
  const auto pick = [](std::uint32_t extent, std::uint32_t at) { return extent == 1 ? 0U : at; };
  return ((std::size_t{pick(shape.n, n)} * shape.h + pick(shape.h, y)) * shape.w +
          pick(shape.w, x)) *
             shape.c +
         pick(shape.c, c);
}

std::int32_t to_int32(float value) {
  if (std::isnan(value)) return std::numeric_limits<std::int32_t>::min();
  const double rounded = std::nearbyint(double{value});
  return static_cast<std::int32_t>(std::clamp(rounded, -2147483648.0, 2147483647.0));
}

}  // namespace

Values zeros(const net::Tensor& tensor) {
  Values values;
  const std::size_t elements = tensor.shape.elements();
  if (tensor.type == Type::int8) {
    values.int8.resize(elements);
  } else if (tensor.type == Type::int32) {
    values.int32.resize(elements);
  } else {
    values.real.resize(elements);
  }
  return values;
}

Values& State::out(net::TensorId id) const { return tensors[id] = zeros(network.tensor(id)); }

float State::number(net::TensorId id, std::size_t element) const {
  const net::Tensor& tensor = info(id);
  if (tensor.type == Type::int8) {
    return static_cast<float>(centred(*this, id, element)) * tensor.quant.scale;
  }
  if (tensor.type == Type::int32) {
    return static_cast<float>(in(id).int32[element]) * tensor.quant.scale;
  }
  return in(id).real[element];
}

void State::put(net::TensorId id, std::size_t element, float number,
                const net::Clamp& clamp) const {
  const net::Tensor& tensor = info(id);
  Values& values = tensors[id];
  const float inverse = 1.0F / tensor.quant.scale;
  if (tensor.type == Type::int8) {
    values.int8[element] = store(number * inverse, tensor.quant.zero, clamp.low, clamp.high);
    return;
  }
  if (tensor.type == Type::int32) {
    values.int32[element] = to_int32(number * inverse);
    return;
  }
  number = number < clamp.lowest ? clamp.lowest : number;
  number = number > clamp.highest ? clamp.highest : number;
  if (std::isnan(number)) number = std::numeric_limits<float>::quiet_NaN();
  values.real[element] = tensor.type == Type::bf16 ? to_bf16(number) : number;
}

std::int8_t store(float value, std::int32_t zero, std::int32_t low, std::int32_t high) {
  if (std::isnan(value)) return static_cast<std::int8_t>(low);
  const float moved = std::rint(value) + static_cast<float>(zero);
  const float bounded =
      std::min(std::max(moved, static_cast<float>(low)), static_cast<float>(high));
  return static_cast<std::int8_t>(bounded);
}

float to_bf16(float value) { return static_cast<float>(Eigen::bfloat16(value)); }

void execute(const State& state, const net::Map& layer) {
  const net::Shape& shape = state.info(layer.out).shape;
  state.out(layer.out);
  std::size_t element = 0;
  std::array<float, 3> x{};
  for (std::uint32_t n = 0; n < shape.n; ++n) {
    for (std::uint32_t h = 0; h < shape.h; ++h) {
      for (std::uint32_t w = 0; w < shape.w; ++w) {
        for (std::uint32_t c = 0; c < shape.c; ++c, ++element) {
          for (std::size_t i = 0; i < layer.operands.size(); ++i) {
            const net::Operand& operand = layer.operands[i];
            const std::size_t at = broadcast_index(operand.shape, n, h, w, c);
            x[i] = operand.tensor == net::no_tensor ? (*operand.constant.data)[at]
                                                    : state.number(operand.tensor, at);
          }
          state.put(layer.out, element, apply(layer.function, x[0], x[1], x[2]), layer.clamp);
        }
      }
    }
  }
}

void execute(const State& state, const net::Lut& layer) {
  Values& result = state.out(layer.out);
  std::ranges::transform(state.in(layer.in).int8, result.int8.begin(), [&](std::int8_t q) {
    return (*layer.table.data)[static_cast<std::size_t>(q + 128)];
  });
}

namespace {

/// What a window sees; `visit` gets the input's elements inside, rows and then pixels rising.
template <typename Visit>
void for_window(const net::Pool& layer, const net::Shape& in, std::uint32_t image, std::uint32_t y,
                std::uint32_t x, std::uint32_t c, Visit visit) {
  const std::int64_t top = std::int64_t{y} * layer.stride_h - layer.pad_top;
  const std::int64_t left = std::int64_t{x} * layer.stride_w - layer.pad_left;
  for (std::int64_t iy = std::max<std::int64_t>(top, 0);
       iy < std::min<std::int64_t>(top + layer.kernel_h, in.h); ++iy) {
    for (std::int64_t ix = std::max<std::int64_t>(left, 0);
         ix < std::min<std::int64_t>(left + layer.kernel_w, in.w); ++ix) {
      visit(static_cast<std::size_t>(((std::int64_t{image} * in.h + iy) * in.w + ix) * in.c + c));
    }
  }
}

void pool_int8(const State& state, const net::Pool& layer, std::size_t element, auto windows) {
  const net::Quant& in = state.info(layer.in).quant;
  const net::Quant& out = state.info(layer.out).quant;
  std::int32_t sum = 0;
  std::int32_t inside = 0;
  std::int32_t largest = -128;
  windows([&](std::size_t at) {
    sum += centred(state, layer.in, at);
    largest = std::max<std::int32_t>(largest, state.in(layer.in).int8[at]);
    ++inside;
  });
  std::int8_t& result = state.tensors[layer.out].int8[element];
  if (!layer.average) {
    result = static_cast<std::int8_t>(largest);
    return;
  }
  const auto window = static_cast<std::int32_t>(layer.kernel_h * layer.kernel_w);
  const std::int32_t count = layer.count_padding ? window : inside;
  const float mean = static_cast<float>(sum) / static_cast<float>(count);
  result = store(mean * (in.scale / out.scale), out.zero);
}

void pool_real(const State& state, const net::Pool& layer, std::size_t element, auto windows) {
  const std::vector<float>& values = state.in(layer.in).real;
  float sum = 0.0F;
  float largest = -infinity;
  std::uint32_t inside = 0;
  windows([&](std::size_t at) {
    sum = sum + values[at];
    largest = largest < values[at] ? values[at] : largest;
    ++inside;
  });
  const std::uint32_t count = layer.count_padding ? layer.kernel_h * layer.kernel_w : inside;
  state.put(layer.out, element, layer.average ? sum / static_cast<float>(count) : largest);
}

}  // namespace

void execute(const State& state, const net::Pool& layer) {
  const net::Shape& in = state.info(layer.in).shape;
  const net::Shape& out = state.info(layer.out).shape;
  const bool int8 = is_int8(state, layer.in);
  state.out(layer.out);
  std::size_t element = 0;
  for (std::uint32_t row = 0; row < out.n * out.h; ++row) {
    for (std::uint32_t x = 0; x < out.w; ++x) {
      for (std::uint32_t c = 0; c < out.c; ++c, ++element) {
        const auto windows = [&](auto visit) {
          for_window(layer, in, row / out.h, row % out.h, x, c, visit);
        };
        int8 ? pool_int8(state, layer, element, windows)
             : pool_real(state, layer, element, windows);
      }
    }
  }
}

void execute(const State& state, const net::Softmax& layer) {
  const std::uint32_t n = state.info(layer.in).shape.c;
  const std::size_t elements = state.info(layer.in).shape.elements();
  state.out(layer.out);
  std::vector<float> distance(n), power(n);
  for (std::size_t from = 0; from < elements; from += n) {
    if (is_int8(state, layer.in)) {
      const auto first = state.in(layer.in).int8.begin() + static_cast<std::ptrdiff_t>(from);
      const std::int32_t largest = *std::max_element(first, first + n);
      for (std::uint32_t i = 0; i < n; ++i) {
        distance[i] = static_cast<float>(first[i] - largest) * state.info(layer.in).quant.scale;
      }
    } else {
      float largest = state.number(layer.in, from);
      for (std::uint32_t i = 1; i < n; ++i) {
        const float x = state.number(layer.in, from + i);
        largest = largest < x ? x : largest;
      }
      for (std::uint32_t i = 0; i < n; ++i) {
        distance[i] = state.number(layer.in, from + i) - largest;
      }
    }
    float sum = 0;
    for (std::uint32_t i = 0; i < n; ++i) {
      power[i] = apply(vector_functions::exp_, distance[i], 0, 0);
      sum = i == 0 ? power[0] : sum + power[i];
    }
    const float log = layer.log ? apply(vector_functions::log_, sum, 0, 0) : 0.0F;
    for (std::uint32_t i = 0; i < n; ++i) {
      state.put(layer.out, from + i, layer.log ? distance[i] - log : power[i] * (1.0F / sum));
    }
  }
}

namespace {

/// Mean and reciprocal deviation of a row, and each element less the mean.
void normalise_int8(const State& state, const net::LayerNorm& layer, std::size_t from,
                    std::vector<float>& row) {
  const auto n = static_cast<std::int64_t>(row.size());
  const float scale = state.info(layer.in).quant.scale;
  const float count = static_cast<float>(n);
  std::int64_t sum = 0;
  std::int64_t squares = 0;
  for (std::size_t i = 0; i < row.size(); ++i) {
    const std::int64_t d = centred(state, layer.in, from + i);
    sum += d;
    squares += d * d;
  }
  const float mean = static_cast<float>(sum) / count;
  const float variance = static_cast<float>(n * squares - sum * sum) / (count * count);
  const float reciprocal = 1.0F / std::sqrt((variance * scale) * scale + layer.epsilon);
  for (std::size_t i = 0; i < row.size(); ++i) {
    const auto d = static_cast<float>(centred(state, layer.in, from + i));
    row[i] = ((d - mean) * scale) * reciprocal;
  }
}

void normalise_real(const State& state, const net::LayerNorm& layer, std::size_t from,
                    std::vector<float>& row) {
  const std::vector<float>& values = state.in(layer.in).real;
  const float count = static_cast<float>(row.size());
  float sum = 0.0F;
  for (std::size_t i = 0; i < row.size(); ++i) sum = sum + values[from + i];
  const float mean = sum / count;
  float squares = 0.0F;
  for (std::size_t i = 0; i < row.size(); ++i) {
    const float d = values[from + i] - mean;
    const float square = d * d;
    squares = squares + square;
  }
  const float variance = squares / count;
  const float reciprocal = 1.0F / std::sqrt(variance + layer.epsilon);
  for (std::size_t i = 0; i < row.size(); ++i) row[i] = (values[from + i] - mean) * reciprocal;
}

}  // namespace

void execute(const State& state, const net::LayerNorm& layer) {
  const net::Shape& shape = state.info(layer.in).shape;
  const bool int8 = is_int8(state, layer.in);
  state.out(layer.out);
  std::vector<float> row(shape.c);
  for (std::size_t from = 0; from < shape.elements(); from += shape.c) {
    (int8 ? normalise_int8 : normalise_real)(state, layer, from, row);
    for (std::uint32_t i = 0; i < shape.c; ++i) {
      float value = row[i] * (*layer.gain.data)[i];
      value = value + (*layer.shift.data)[i];
      state.put(layer.out, from + i, value);
    }
  }
}

namespace {

/// sum, mean, squares and their root.
float added(const State& state, const net::Reduce& layer, std::size_t from, std::uint32_t n) {
  const bool squared =
      layer.function == net::Reduction::squares || layer.function == net::Reduction::norm;
  const float count = static_cast<float>(n);
  const bool mean = layer.function == net::Reduction::mean;
  float result = 0.0F;
  if (is_int8(state, layer.in)) {
    const float scale = state.info(layer.in).quant.scale;
    std::int64_t sum = 0;
    for (std::uint32_t i = 0; i < n; ++i) {
      const std::int64_t d = centred(state, layer.in, from + i);
      sum += squared ? d * d : d;
    }
    const auto real = static_cast<float>(sum);
    result = squared ? (real * scale) * scale : mean ? (real / count) * scale : real * scale;
  } else {
    for (std::uint32_t i = 0; i < n; ++i) {
      const float x = state.number(layer.in, from + i);
      const float term = squared ? x * x : x;
      result = i == 0 ? term : result + term;
    }
    if (mean) result = result / count;
  }
  return layer.function == net::Reduction::norm ? std::sqrt(result) : result;
}

/// max, min, product, argmax, argmin.
float selected(const State& state, const net::Reduce& layer, std::size_t from, std::uint32_t n) {
  using enum net::Reduction;
  float best = state.number(layer.in, from);
  std::uint32_t index = 0;
  const bool least = layer.function == min || layer.function == argmin;
  for (std::uint32_t i = 1; i < n; ++i) {
    const float x = state.number(layer.in, from + i);
    if (layer.function == product) {
      best = best * x;
    } else if (least ? x < best : best < x) {
      best = x;
      index = i;
    }
  }
  return layer.function == argmax || layer.function == argmin ? static_cast<float>(index) : best;
}

}  // namespace

void execute(const State& state, const net::Reduce& layer) {
  using enum net::Reduction;
  const net::Shape& in = state.info(layer.in).shape;
  const bool adds = layer.function == sum || layer.function == mean || layer.function == squares ||
                    layer.function == norm;
  state.out(layer.out);
  for (std::size_t row = 0; row < state.info(layer.out).shape.elements(); ++row) {
    state.put(layer.out, row, (adds ? added : selected)(state, layer, row * in.c, in.c));
  }
}

namespace {

/// Where an output index looks in the input: the coordinate, not yet brought inside.
float coordinate(std::uint32_t index, float step, bool half_pixel) {
  const auto i = static_cast<float>(index);
  return half_pixel ? (i + 0.5F) * step - 0.5F : i * step;
}

std::uint32_t nearest(float x, std::uint32_t rounding, std::uint32_t size) {
  const float r = rounding == 0   ? std::ceil(x - 0.5F)
                  : rounding == 1 ? std::floor(x + 0.5F)
                  : rounding == 2 ? std::floor(x)
                                  : std::ceil(x);
  return static_cast<std::uint32_t>(std::clamp(r, 0.0F, static_cast<float>(size - 1)));
}

/// Two neighbours and the weight of the second.
struct Between {
  std::uint32_t low, high;
  float part;
};
Between between(float x, std::uint32_t size) {
  const float inside = std::clamp(x, 0.0F, static_cast<float>(size - 1));
  const float low = std::floor(inside);
  const auto index = static_cast<std::uint32_t>(low);
  return {index, std::min(index + 1, size - 1), inside - low};
}

}  // namespace

void execute(const State& state, const net::Resize& layer) {
  const net::Shape& in = state.info(layer.in).shape;
  const net::Tensor& out = state.info(layer.out);
  Values& result = state.out(layer.out);
  const Values& values = state.in(layer.in);
  const bool int8 = out.type == Type::int8;
  std::size_t element = 0;
  for (std::uint32_t row = 0; row < out.shape.rows(); ++row) {
    const std::uint32_t image = row / out.shape.h;
    const float y = coordinate(row % out.shape.h, layer.step_h, layer.half_pixel);
    for (std::uint32_t column = 0; column < out.shape.w; ++column) {
      const float x = coordinate(column, layer.step_w, layer.half_pixel);
      const Between rows = between(y, in.h);
      const Between pixels = between(x, in.w);
      for (std::uint32_t c = 0; c < in.c; ++c, ++element) {
        const auto at = [&](std::uint32_t iy, std::uint32_t ix) {
          return ((std::size_t{image} * in.h + iy) * in.w + ix) * in.c + c;
        };
        if (!layer.linear) {
          const std::size_t from =
              at(nearest(y, layer.rounding, in.h), nearest(x, layer.rounding, in.w));
          int8 ? void(result.int8[element] = values.int8[from])
               : void(result.real[element] = values.real[from]);
          continue;
        }
        const auto p = [&](std::uint32_t iy, std::uint32_t ix) {
          return int8 ? static_cast<float>(values.int8[at(iy, ix)]) : values.real[at(iy, ix)];
        };
        const auto mix = [](float a, float b, float part) {
          const float first = a * (1.0F - part);
          const float second = b * part;
          return first + second;
        };
        const float top = mix(p(rows.low, pixels.low), p(rows.low, pixels.high), pixels.part);
        const float bottom = mix(p(rows.high, pixels.low), p(rows.high, pixels.high), pixels.part);
        const float value = mix(top, bottom, rows.part);
        int8 ? void(result.int8[element] = store(value, 0)) : state.put(layer.out, element, value);
      }
    }
  }
}

namespace {

/// Calls visit(from, to) for every element that a part moves.
template <typename Visit>
void for_part(const net::PermutePart& part, Visit visit) {
  const std::size_t total =
      std::size_t{part.size[0]} * part.size[1] * part.size[2] * part.size[3] * part.size[4];
  for (std::size_t index = 0; index < total; ++index) {
    std::int64_t from = part.in_start;
    std::int64_t to = part.out_start;
    std::size_t rest = index;
    for (std::size_t axis = part.size.size(); axis-- > 0;) {
      const auto at = static_cast<std::int64_t>(rest % part.size[axis]);
      from += at * part.in_step[axis];
      to += at * part.out_step[axis];
      rest /= part.size[axis];
    }
    visit(static_cast<std::size_t>(from), static_cast<std::size_t>(to));
  }
}

/// Copies an element of the type that both have.
void move(const Values& from, std::size_t source, Values& to, std::size_t target) {
  if (!from.int8.empty()) to.int8[target] = from.int8[source];
  if (!from.real.empty()) to.real[target] = from.real[source];
  if (!from.int32.empty()) to.int32[target] = from.int32[source];
}

}  // namespace

void execute(const State& state, const net::Permute& layer) {
  Values& result = state.out(layer.out);
  for (const net::PermutePart& part : layer.parts) {
    for_part(part,
             [&](std::size_t from, std::size_t to) { move(state.in(part.in), from, result, to); });
  }
}

void execute(const State& state, const net::CacheStore& layer) {
  const net::Shape& shape = state.info(layer.in).shape;
  for (std::uint64_t row = 0; row < shape.rows(); ++row) {
    for (std::uint64_t i = 0; i < shape.row_elements(); ++i) {
      move(state.in(layer.in), row * shape.row_elements() + i, state.tensors[layer.cache],
           layer.offset + row * layer.row_pitch + i);
    }
  }
}

}  // namespace steppe::reference
