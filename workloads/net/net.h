// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "models/base/units.h"
#include "models/isa/functions.h"
#include "models/numerics/sparse.h"

/// The network of the card: what the scheduler compiles and what the reference executor runs.
///
/// Every tensor has one element type and lies as images x rows x pixels x channels, channels
/// contiguous. Layers stand in execution order. Arithmetic is that of models/numerics/README.md.
namespace steppe::net {

using TensorId = std::uint32_t;
inline constexpr TensorId no_tensor = ~TensorId{0};

/// Of a tensor's elements; the codes are those of the instructions.
enum class Type : std::uint8_t { int8 = 0, fp32 = 1, bf16 = 2, int32 = 3 };
constexpr Bytes item_bytes(Type type) {
  return type == Type::int8 ? 1 : type == Type::bf16 ? 2 : 4;
}
std::string_view name_of(Type type);

/// Images, rows, pixels in a row, channels.
struct Shape {
  std::uint32_t n = 1, h = 1, w = 1, c = 1;
  [[nodiscard]] std::uint64_t elements() const { return std::uint64_t{n} * h * w * c; }
  [[nodiscard]] std::uint64_t row_elements() const { return std::uint64_t{w} * c; }
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
  Type type = Type::int8;
  Quant quant;  ///< of int8 and int32; else scale 1, zero point 0
  /// Held in DRAM from one run to the next (a key-value cache): written by no layer of the run, or
  /// by a CacheStore.
  bool resident_in_dram = false;

  [[nodiscard]] Bytes item_bytes() const { return net::item_bytes(type); }
  [[nodiscard]] Bytes row_bytes() const { return shape.row_elements() * item_bytes(); }
  [[nodiscard]] Bytes bytes() const { return shape.elements() * item_bytes(); }
};

/// Constant elements of a layer; null data in a network that holds shapes only (timing).
template <typename T>
struct Constant {
  std::uint64_t size = 0;  ///< elements
  std::shared_ptr<const std::vector<T>> data;
  [[nodiscard]] bool has_data() const { return data != nullptr; }
};

/// Weights of a Conv, in the type of its input: int8, or bf16, held as the fp32 numbers they are.
struct Weights {
  std::uint64_t size = 0;  ///< elements
  std::shared_ptr<const std::vector<std::int8_t>> int8;
  std::shared_ptr<const std::vector<float>> bf16;
  [[nodiscard]] bool has_data() const { return int8 != nullptr || bf16 != nullptr; }
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

/// Bounds of a result: of the stored int8, or of the number where the result is fp32 or bf16.
struct Clamp {
  std::int32_t low = -128;
  std::int32_t high = 127;
  float lowest = -std::numeric_limits<float>::infinity();
  float highest = std::numeric_limits<float>::infinity();
};

/// Convolution; a fully connected layer is one with a 1x1 kernel. Weights are [oc][kh][kw][ic /
/// groups]. Input int8 or bf16; output int8, bf16, or fp32, which has no residual, bounds or table.
struct Conv {
  TensorId in = no_tensor;
  TensorId out = no_tensor;
  Weights weights;
  Constant<std::int32_t> bias;  ///< [oc] of int8 input; zero point of the input folded in
  Constant<float> bias_fp32;    ///< [oc] of bf16 input
  Constant<float> multiplier;   ///< [oc]
  std::uint32_t kernel_h = 1, kernel_w = 1;
  std::uint32_t stride_h = 1, stride_w = 1;
  std::uint32_t dilation_h = 1, dilation_w = 1;
  std::uint32_t pad_top = 0, pad_left = 0;  ///< bottom and right follow from the output's shape
  std::uint32_t groups = 1;
  Sparsity sparsity;
  Clamp clamp;
  TensorId residual = no_tensor;  ///< of the output's shape and type
  float residual_scale = 0.0F;
  Constant<std::int8_t> lut;  ///< [256] or empty; int8 output
  std::int32_t sum_zero = 0;  ///< zero point of what is looked up in `lut`
};

/// Product of two activations, image by image: out[n][h][0][c] = sum_k a[n][h][0][k] *
/// b[n][c][0][k]. All have w = 1; b has out.c rows of a.c channels. Types as of Conv, one of a and
/// b; their zero points are 0 (symmetric calibration), so that no correction is needed.
struct MatMul {
  TensorId a = no_tensor;
  TensorId b = no_tensor;
  TensorId out = no_tensor;
  float multiplier = 1.0F;
  Clamp clamp;
};

/// Operand of a Map: a tensor or a constant. Its extents are those of the output or 1, where it
/// repeats.
struct Operand {
  TensorId tensor = no_tensor;
  Constant<float> constant;  ///< used where tensor is no_tensor
  Shape shape;
};
/// A function of one to three operands, element by element, by models/isa/functions.def. Any
/// types; between two types `copy` converts.
struct Map {
  vector_functions::Function function = vector_functions::copy_;
  std::vector<Operand> operands;
  TensorId out = no_tensor;
  Clamp clamp;
};

/// int8 through a table.
struct Lut {
  TensorId in = no_tensor;
  TensorId out = no_tensor;
  Constant<std::int8_t> table;  ///< [256]; value q is at q + 128
};

/// One type; a maximum keeps the quantisation.
struct Pool {
  bool average = false;
  bool count_padding = false;
  TensorId in = no_tensor;
  TensorId out = no_tensor;
  std::uint32_t kernel_h = 1, kernel_w = 1;
  std::uint32_t stride_h = 1, stride_w = 1;
  std::uint32_t pad_top = 0, pad_left = 0;
};

/// Over the channels of each pixel; any types but int32.
struct Softmax {
  TensorId in = no_tensor;
  TensorId out = no_tensor;
  bool log = false;  ///< its logarithm
};

/// One number of the channels of each pixel; codes are those of the instruction. The output has one
/// channel; of argmax and argmin it is int32.
enum class Reduction : std::uint8_t { sum, mean, max, min, product, squares, norm, argmax, argmin };
struct Reduce {
  Reduction function = Reduction::sum;
  TensorId in = no_tensor;
  TensorId out = no_tensor;
};

/// Interpolation in rows and pixels. Output index i looks at i * step of the input, or with
/// half_pixel at (i + 0.5) * step - 0.5.
struct Resize {
  TensorId in = no_tensor;
  TensorId out = no_tensor;
  float step_h = 1.0F, step_w = 1.0F;
  bool half_pixel = false;
  bool linear = false;
  std::uint32_t rounding = 0;  ///< nearest: 0 half down, 1 half up, 2 floor, 3 ceil
};

/// Over the channels of each pixel; any types but int32.
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
/// element of `out` once; inputs and output share one type and quantisation.
struct Permute {
  TensorId out = no_tensor;
  std::vector<PermutePart> parts;
};

/// Writes `in` into a DRAM-resident tensor of its type (appending to a key-value cache).
struct CacheStore {
  TensorId in = no_tensor;
  TensorId cache = no_tensor;
  std::uint64_t offset = 0;     ///< of the first row, elements
  std::uint64_t row_pitch = 0;  ///< elements from row to row in the cache
};

struct Layer {
  std::string name;                ///< unique
  std::vector<std::string> nodes;  ///< the ONNX nodes it came from
  std::variant<Conv, MatMul, Map, Lut, Pool, Softmax, LayerNorm, Reduce, Resize, Permute,
               CacheStore>
      op;
};

/// Of the user's array behind a port.
enum class UserType : std::uint8_t { fp32, boolean, int32, int64 };

/// An input or output of the network as the user sees it: an array of `dims`; element order on
/// the card is that array transposed by `to_card` and read as tensor.shape. Booleans are 0 and 1.
struct Port {
  std::string name;
  TensorId tensor = no_tensor;
  std::vector<std::uint64_t> dims;     ///< of the user's array
  std::vector<std::uint32_t> to_card;  ///< permutation: card axis i is user axis to_card[i]
  UserType user = UserType::fp32;
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
