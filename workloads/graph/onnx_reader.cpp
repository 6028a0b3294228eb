// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <fmt/ranges.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <onnx/onnx_pb.h>
#include <unistd.h>

#include <bit>
#include <cstring>
#include <fstream>
#include <limits>
#include <map>
#include <set>

#include "models/base/error.h"
#include "workloads/graph/import.h"
#include "workloads/graph/raw_model.h"
#include "workloads/graph/shape.h"

namespace steppe::graph {
namespace {

using onnx::TensorProto;

float from_half(std::uint16_t bits) {
  const std::uint32_t sign = std::uint32_t{bits & 0x8000U} << 16U;
  const std::uint32_t exponent = (bits >> 10U) & 0x1fU;
  const std::uint32_t mantissa = bits & 0x3ffU;
  if (exponent == 0) {  // zero or subnormal: mantissa * 2^-24
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24F;
    return sign != 0 ? -magnitude : magnitude;
  }
  const std::uint32_t wide = exponent == 31 ? 255 : exponent + 112;
  return std::bit_cast<float>(sign | wide << 23U | mantissa << 13U);
}

float from_bfloat(std::uint16_t bits) { return std::bit_cast<float>(std::uint32_t{bits} << 16U); }

template <typename To, typename Container, typename Convert>
std::vector<To> converted(const Container& from, Convert convert) {
  std::vector<To> result;
  result.reserve(static_cast<std::size_t>(from.size()));
  for (const auto x : from) result.push_back(convert(x));
  return result;
}

/// Little-endian elements of type T.
template <typename T>
std::vector<T> unpacked(const std::string& bytes, const std::string& name) {
  if (bytes.size() % sizeof(T) != 0) {
    throw ModelError("tensor '{}': {} bytes are no multiple of {}", name, bytes.size(), sizeof(T));
  }
  std::vector<T> result(bytes.size() / sizeof(T));
  if (!result.empty()) std::memcpy(result.data(), bytes.data(), bytes.size());
  return result;
}

class Reader {
 public:
  Reader(const std::filesystem::path& path, bool widen) : path_(path), widen_(widen) {}

  Tensor tensor() {
    TensorProto proto;
    parse(proto);
    return tensor_of(value_of(proto, proto.name()));
  }

  RawModel run() {
    onnx::ModelProto model;
    parse(model);
    RawModel raw;
    raw.name = path_.stem().string();
    for (const auto& set : model.opset_import()) {
      if (set.domain().empty() || set.domain() == "ai.onnx") raw.opset = set.version();
    }
    if (!model.has_graph() || raw.opset < 1) {
      throw ModelError("it is no ONNX model: {}",
                       model.has_graph() ? "no operator set is named" : "there is no graph");
    }
    take(model.graph(), raw);
    return raw;
  }

 private:
  template <typename Message>
  void parse(Message& model) const {
    std::error_code error;
    const auto status = std::filesystem::status(path_, error);
    if (!std::filesystem::exists(status)) {
      throw ConfigError("model '{}' does not exist", path_.string());
    }
    if (!std::filesystem::is_regular_file(status)) {
      throw ConfigError("model '{}' is no file", path_.string());
    }
    const int file = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) {
      throw ConfigError("model '{}' cannot be opened: {}", path_.string(), std::strerror(errno));
    }
    google::protobuf::io::FileInputStream stream(file);
    stream.SetCloseOnDelete(true);
    google::protobuf::io::CodedInputStream coded(&stream);
    coded.SetTotalBytesLimit(std::numeric_limits<int>::max());
    if (!model.ParseFromCodedStream(&coded) || !coded.ConsumedEntireMessage()) {
      throw ModelError("it is no ONNX model, or a damaged one");
    }
  }

  void take(const onnx::GraphProto& graph, RawModel& raw, bool is_body = false) const {
    std::set<std::string> initialised;
    if (graph.sparse_initializer_size() > 0) throw ModelError("it has sparse initialisers");
    for (const TensorProto& tensor : graph.initializer()) {
      raw.initialisers.push_back(value_of(tensor, tensor.name()));
      initialised.insert(tensor.name());
    }
    for (const onnx::ValueInfoProto& input : graph.input()) {
      if (initialised.contains(input.name())) continue;
      if (is_body) {  // types and shapes are those of what is passed
        raw.inputs.emplace_back();
        raw.inputs.back().name = input.name();
      } else {
        raw.inputs.push_back(input_of(input));
      }
    }
    for (const onnx::NodeProto& node : graph.node()) raw.nodes.push_back(node_of(node));
    for (const onnx::ValueInfoProto& output : graph.output()) {
      raw.outputs.push_back(output.name());
      const auto& type = output.type().tensor_type();
      if (!is_body && type.elem_type() != TensorProto::UNDEFINED && type.has_shape()) {
        raw.declared.push_back(input_of(output));
      }
    }
  }

  [[nodiscard]] DataType type_of(std::int32_t number, const std::string& name) const {
    const DataType type = type_of_onnx(number, fmt::format("tensor '{}'", name));
    return widen_ && is_real(type) ? DataType::fp32 : type;
  }

  [[nodiscard]] RawInput input_of(const onnx::ValueInfoProto& info) const {
    RawInput input;
    input.name = info.name();
    if (!info.has_type() || !info.type().has_tensor_type()) {
      throw ModelError("input '{}' is no tensor", info.name());
    }
    const auto& type = info.type().tensor_type();
    input.type = type_of(type.elem_type(), info.name());
    input.shaped = type.has_shape();
    for (const auto& dim : type.shape().dim()) {
      RawAxis axis;
      if (dim.has_dim_value()) axis.extent = dim.dim_value();
      axis.symbol = dim.dim_param();
      input.axes.push_back(axis);
    }
    return input;
  }

  [[nodiscard]] RawNode node_of(const onnx::NodeProto& node) const {
    RawNode raw;
    raw.name = node.name();
    const bool standard = node.domain().empty() || node.domain() == "ai.onnx";
    raw.op = standard ? node.op_type() : node.domain() + "::" + node.op_type();
    raw.inputs.assign(node.input().begin(), node.input().end());
    raw.outputs.assign(node.output().begin(), node.output().end());
    if (raw.name.empty() && !raw.outputs.empty()) raw.name = raw.outputs.front();
    for (const auto& attribute : node.attribute()) {
      raw.attributes[attribute.name()] = attribute_of(attribute);
    }
    return raw;
  }

  [[nodiscard]] RawAttribute attribute_of(const onnx::AttributeProto& attribute) const {
    using onnx::AttributeProto;
    switch (attribute.type()) {
      case AttributeProto::INT:
        return attribute.i();
      case AttributeProto::FLOAT:
        return attribute.f();
      case AttributeProto::STRING:
        return attribute.s();
      case AttributeProto::STRINGS:
        return fmt::format("{}", fmt::join(attribute.strings(), ","));
      case AttributeProto::INTS:
        return std::vector<std::int64_t>(attribute.ints().begin(), attribute.ints().end());
      case AttributeProto::FLOATS:
        return std::vector<float>(attribute.floats().begin(), attribute.floats().end());
      case AttributeProto::GRAPH: {
        auto body = std::make_shared<RawModel>();
        take(attribute.g(), *body, true);
        return body;
      }
      case AttributeProto::TENSOR:
        return value_of(attribute.t(), attribute.t().name());
      default:
        return std::monostate{};
    }
  }

  [[nodiscard]] Value value_of(const TensorProto& tensor, const std::string& name) const {
    Value value;
    value.name = name;
    value.constant = true;
    value.type = type_of(tensor.data_type(), name);
    value.shape.assign(tensor.dims().begin(), tensor.dims().end());
    const auto size =
        static_cast<std::size_t>(checked_elements(value.shape, fmt::format("tensor '{}'", name)));
    const auto fill = [&](auto& target, auto elements) {
      if (elements.size() != size) {
        throw ModelError("tensor '{}' of {} has {} elements", name, text(value.shape),
                         elements.size());
      }
      target = std::make_shared<const decltype(elements)>(std::move(elements));
    };
    if (value.type == DataType::fp64) {
      fill(value.fp64, doubles_of(tensor, name));
    } else if (is_real(value.type)) {
      fill(value.fp32, floats_of(tensor, name));
    } else {
      fill(value.int64, integers_of(tensor, name));
    }
    return value;
  }

  [[nodiscard]] std::vector<double> doubles_of(const TensorProto& tensor,
                                               const std::string& name) const {
    const bool packed = tensor.has_raw_data() || is_external(tensor);
    if (packed) return unpacked<double>(bytes_of(tensor, name), name);
    return {tensor.double_data().begin(), tensor.double_data().end()};
  }

  [[nodiscard]] std::vector<float> floats_of(const TensorProto& tensor,
                                             const std::string& name) const {
    const bool packed = tensor.has_raw_data() || is_external(tensor);
    const std::string bytes = packed ? bytes_of(tensor, name) : std::string();
    const auto narrow = [](double x) { return static_cast<float>(x); };
    switch (tensor.data_type()) {
      case TensorProto::FLOAT:
        if (packed) return unpacked<float>(bytes, name);
        return {tensor.float_data().begin(), tensor.float_data().end()};
      case TensorProto::DOUBLE:
        if (packed) return converted<float>(unpacked<double>(bytes, name), narrow);
        return converted<float>(tensor.double_data(), narrow);
      default: {
        const auto widen = tensor.data_type() == TensorProto::FLOAT16 ? from_half : from_bfloat;
        if (packed) return converted<float>(unpacked<std::uint16_t>(bytes, name), widen);
        return converted<float>(tensor.int32_data(), [&](std::int32_t bits) {
          return widen(static_cast<std::uint16_t>(bits));
        });
      }
    }
  }

  template <typename T>
  static std::vector<std::int64_t> widened(const std::string& bytes, const std::string& name) {
    return converted<std::int64_t>(unpacked<T>(bytes, name),
                                   [](T x) { return static_cast<std::int64_t>(x); });
  }

  [[nodiscard]] std::vector<std::int64_t> integers_of(const TensorProto& tensor,
                                                      const std::string& name) const {
    if (!tensor.has_raw_data() && !is_external(tensor)) {
      const auto same = [](auto x) { return static_cast<std::int64_t>(x); };
      if (tensor.data_type() == TensorProto::INT64) {
        return converted<std::int64_t>(tensor.int64_data(), same);
      }
      const bool unsigned_words =
          tensor.data_type() == TensorProto::UINT32 || tensor.data_type() == TensorProto::UINT64;
      if (unsigned_words) return converted<std::int64_t>(tensor.uint64_data(), same);
      return converted<std::int64_t>(tensor.int32_data(), same);
    }
    const std::string bytes = bytes_of(tensor, name);
    switch (tensor.data_type()) {
      case TensorProto::INT8:
        return widened<std::int8_t>(bytes, name);
      case TensorProto::INT16:
        return widened<std::int16_t>(bytes, name);
      case TensorProto::UINT16:
        return widened<std::uint16_t>(bytes, name);
      case TensorProto::INT32:
        return widened<std::int32_t>(bytes, name);
      case TensorProto::UINT32:
        return widened<std::uint32_t>(bytes, name);
      case TensorProto::INT64:
      case TensorProto::UINT64:
        return widened<std::int64_t>(bytes, name);
      default:
        return widened<std::uint8_t>(bytes, name);
    }
  }

  static bool is_external(const TensorProto& tensor) {
    return tensor.data_location() == TensorProto::EXTERNAL;
  }

  /// The bytes in the model, or those of a file beside it.
  [[nodiscard]] std::string bytes_of(const TensorProto& tensor, const std::string& name) const {
    if (!is_external(tensor)) return tensor.raw_data();
    std::map<std::string, std::string> keys;
    for (const auto& entry : tensor.external_data()) keys[entry.key()] = entry.value();
    const std::filesystem::path location = keys["location"];
    const bool beside = !location.empty() && location.is_relative() &&
                        location.lexically_normal().begin()->string() != "..";
    if (!beside) {
      throw ModelError("tensor '{}' lies in '{}', which is not beside the model", name,
                       location.string());
    }
    const std::filesystem::path path = path_.parent_path() / location;
    std::error_code error;
    const std::uint64_t size = std::filesystem::file_size(path, error);
    if (error) throw ModelError("tensor '{}': '{}' cannot be read", name, path.string());
    const std::uint64_t offset = number(keys["offset"], 0, name);
    const std::uint64_t length = number(keys["length"], size - std::min(offset, size), name);
    if (offset > size || length > size - offset) {
      throw ModelError("tensor '{}': '{}' ends before byte {} + {}", name, path.string(), offset,
                       length);
    }
    std::string bytes(length, '\0');
    std::ifstream stream(path, std::ios::binary);
    stream.seekg(static_cast<std::streamoff>(offset));
    if (!stream.read(bytes.data(), static_cast<std::streamsize>(length))) {
      throw ModelError("tensor '{}': '{}' cannot be read", name, path.string());
    }
    return bytes;
  }

  static std::uint64_t number(const std::string& text, std::uint64_t absent,
                              const std::string& name) {
    if (text.empty()) return absent;
    if (text.size() > 18 || text.find_first_not_of("0123456789") != std::string::npos) {
      throw ModelError("tensor '{}': '{}' is no position in a file", name, text);
    }
    return std::stoull(text);
  }

  const std::filesystem::path& path_;
  bool widen_;
};

}  // namespace

RawModel read_onnx(const std::filesystem::path& path, bool widen) {
  return Reader(path, widen).run();
}

Tensor read_tensor(const std::filesystem::path& path) { return Reader(path, false).tensor(); }

}  // namespace steppe::graph
