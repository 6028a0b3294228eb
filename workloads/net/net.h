// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "models/numerics/sparse.h"

/// The quantised network: what the scheduler compiles and what the reference executor runs.
///
/// Every tensor is int8 and lies as images x rows x pixels x channels, channels contiguous. Layers
/// stand in execution order. Arithmetic is that of models/numerics/README.md.
namespace steppe::net {

using TensorId = std::uint32_t;
inline constexpr TensorId no_tensor = ~TensorId{0};

/// Images, rows, pixels in a row, channels.
struct Shape {
  std::uint32_t n = 1, h = 1, w = 1, c = 1;
  [[nodiscard]] std::uint64_t elements() const { return std::uint64_t{n} * h * w * c; }
  [[nodiscard]] std::uint64_t row_bytes() const { return std::uint64_t{w} * c; }
  [[nodiscard]] std::uint64_t rows() const { return std::uint64_t{n} * h; }
  bool operator==(const Shape&) const = default;
};

struct Quant {
  float scale = 1.0F;
  std::int32_t zero = 0;
  bool operator==(const Quant&) const = default;
};

struct Tensor {
  std::string name;  ///< that of the ONNX value it stands for, or derived from it
  Shape shape;
  Quant quant;
  /// Held in DRAM from one run to the next (a key-value cache): written by no layer of the run, or
  /// by a CacheStore.
  bool resident_in_dram = false;
};

/// Constant bytes of a layer; null data in a network that holds shapes only (timing).
template <typename T>
struct Constant {
  std::uint64_t size = 0;  ///< elements
  std::shared_ptr<const std::vector<T>> data;
  [[nodiscard]] bool has_data() const { return data != nullptr; }
};

/// Which weights of a Conv may differ from zero, and how they are stored.
struct Sparsity {
  numerics::Encoding encoding = numerics::Encoding::dense;
  std::uint32_t kept = numerics::block;  ///< indexed: weights in each block of 32 along K
  double density = 1;                    ///< bitmap: share of the weights
  /// Share of the weights that are stored.
  [[nodiscard]] double stored() const {
    return encoding == numerics::Encoding::indexed ? kept / double{numerics::block} : density;
  }
  bool operator==(const Sparsity&) const = default;
};

/// Block-balanced: one weight in `ratio`, a power of 2 up to 32; 1 is dense.
constexpr Sparsity balanced(std::uint32_t ratio) {
  if (ratio == 1) return {};
  return {.encoding = numerics::Encoding::indexed, .kept = numerics::block / ratio};
}

/// Bounds of a stored int8 result.
struct Clamp {
  std::int32_t low = -128;
  std::int32_t high = 127;
};

/// Convolution; a fully connected layer is one with a 1x1 kernel. Weights are [oc][kh][kw][ic /
/// groups].
struct Conv {
  TensorId in = no_tensor;
  TensorId out = no_tensor;
  Constant<std::int8_t> weights;
  Constant<std::int32_t> bias;  ///< [oc]; zero point of the input folded in
  Constant<float> multiplier;   ///< [oc]
  std::uint32_t kernel_h = 1, kernel_w = 1;
  std::uint32_t stride_h = 1, stride_w = 1;
  std::uint32_t dilation_h = 1, dilation_w = 1;
  std::uint32_t pad_top = 0, pad_left = 0;  ///< bottom and right follow from the output's shape
  std::uint32_t groups = 1;
  Sparsity sparsity;
  Clamp clamp;
  TensorId residual = no_tensor;  ///< shaped like the output
  float residual_scale = 0.0F;
  Constant<std::int8_t> lut;  ///< [256] or empty
};

/// Product of two activations, image by image: out[n][h][0][c] = sum_k a[n][h][0][k] *
/// b[n][c][0][k]. All have w = 1; b has out.c rows of a.c channels.
struct MatMul {
  TensorId a = no_tensor;
  TensorId b = no_tensor;
  TensorId out = no_tensor;
  float multiplier = 1.0F;
  Clamp clamp;
};
// Both zero points of a MatMul's operands are 0 (symmetric calibration), so that no correction is
// needed.

enum class EltwiseFunction : std::uint8_t { add, sub, mul, div, max, min };
/// Element-wise arithmetic. The second operand is a tensor or a constant, of the shape of `out` or
/// with any of its leading extents 1 (see `b_shape`): [n or 1, h or 1, w or 1, c], or a single
/// element.
struct Eltwise {
  EltwiseFunction function = EltwiseFunction::add;
  TensorId a = no_tensor;  ///< shaped like the output
  TensorId b = no_tensor;
  TensorId out = no_tensor;
  Constant<float> b_constant;  ///< used where b is no_tensor
  Shape b_shape;
  Clamp clamp;
};

struct Lut {
  TensorId in = no_tensor;
  TensorId out = no_tensor;
  Constant<std::int8_t> table;  ///< [256]; value q is at q + 128
};

struct Pool {
  bool average = false;
  bool count_padding = false;
  TensorId in = no_tensor;
  TensorId out = no_tensor;
  std::uint32_t kernel_h = 1, kernel_w = 1;
  std::uint32_t stride_h = 1, stride_w = 1;
  std::uint32_t pad_top = 0, pad_left = 0;
};

/// Over the channels of each pixel.
struct Softmax {
  TensorId in = no_tensor;
  TensorId out = no_tensor;
};

/// Over the channels of each pixel.
struct LayerNorm {
  TensorId in = no_tensor;
  TensorId out = no_tensor;
  Constant<float> gain;
  Constant<float> shift;
  float epsilon = 1e-5F;
};

/// One strided copy of a Permute: for all i: out[out_start + i . out_step] = in[in_start + i .
/// in_step].
struct PermutePart {
  TensorId in = no_tensor;
  std::int64_t in_start = 0;
  std::int64_t out_start = 0;
  std::array<std::uint32_t, 5> size{1, 1, 1, 1, 1};
  std::array<std::int64_t, 5> in_step{};   ///< elements
  std::array<std::int64_t, 5> out_step{};  ///< elements
};
/// Transpose, slice, concatenate, repeat, reshape: copies without arithmetic. The parts write every
/// element of `out` once; inputs and output share one quantisation.
struct Permute {
  TensorId out = no_tensor;
  std::vector<PermutePart> parts;
};

/// Writes `in` into a DRAM-resident tensor at a byte offset (appending to a key-value cache).
struct CacheStore {
  TensorId in = no_tensor;
  TensorId cache = no_tensor;
  std::uint64_t offset = 0;     ///< of the first row, bytes
  std::uint64_t row_pitch = 0;  ///< bytes from row to row in the cache
};

struct Layer {
  std::string name;                ///< unique
  std::vector<std::string> nodes;  ///< the ONNX nodes it came from
  std::variant<Conv, MatMul, Eltwise, Lut, Pool, Softmax, LayerNorm, Permute, CacheStore> op;
};

/// An input or output of the network as the user sees it: an fp32 array of `dims`; element order on
/// the card is that array transposed by `to_card` and read as tensor.shape.
struct Port {
  std::string name;
  TensorId tensor = no_tensor;
  std::vector<std::uint64_t> dims;     ///< of the user's array
  std::vector<std::uint32_t> to_card;  ///< permutation: card axis i is user axis to_card[i]
};

struct Net {
  std::string name;
  std::vector<Tensor> tensors;
  std::vector<Layer> layers;
  std::vector<Port> inputs;
  std::vector<Port> outputs;

  [[nodiscard]] const Tensor& tensor(TensorId id) const { return tensors.at(id); }
};

/// Tensors a layer reads, without duplicates, and the one it writes.
std::vector<TensorId> inputs_of(const Layer& layer);
TensorId output_of(const Layer& layer);
/// Multiply-accumulates of a dense execution; 0 for layers that are not Conv or MatMul.
std::uint64_t dense_macs(const Net& net, const Layer& layer);

/// Throws ModelError naming the layer where shapes, references or constants contradict each other.
void check(const Net& net);

}  // namespace steppe::net
