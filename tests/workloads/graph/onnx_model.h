// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>
#include <onnx/onnx_pb.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "workloads/graph/import.h"

namespace steppe::graph::test {

using Dims = std::vector<std::int64_t>;
using Names = std::vector<std::string>;

/// A file in the temporary directory that goes with the test.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& bytes) {
    static int count = 0;
    path_ = std::filesystem::temp_directory_path() /
            fmt::format("steppe_graph_{}_{}.onnx", ::getpid(), count++);
    std::ofstream(path_, std::ios::binary) << bytes;
  }
  ~TemporaryFile() { std::filesystem::remove(path_); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// Builds small ONNX models by hand.
class Model {
 public:
  onnx::ModelProto proto;

  explicit Model(std::int64_t opset = 13) {
    proto.set_ir_version(7);
    proto.add_opset_import()->set_version(opset);
    proto.mutable_graph()->set_name("test");
  }

  /// Negative extents are left open and called "d<axis>".
  Model& input(const std::string& name, const Dims& dims, int type = onnx::TensorProto::FLOAT) {
    auto* info = proto.mutable_graph()->add_input();
    info->set_name(name);
    auto* tensor = info->mutable_type()->mutable_tensor_type();
    tensor->set_elem_type(type);
    tensor->mutable_shape();
    for (std::size_t i = 0; i < dims.size(); ++i) {
      auto* dim = tensor->mutable_shape()->add_dim();
      if (dims[i] < 0) {
        dim->set_dim_param(fmt::format("d{}", i));
      } else {
        dim->set_dim_value(dims[i]);
      }
    }
    return *this;
  }
  Model& output(const std::string& name) {
    proto.mutable_graph()->add_output()->set_name(name);
    return *this;
  }
  Model& reals(const std::string& name, const Dims& dims, const std::vector<float>& elements) {
    fill(*proto.mutable_graph()->add_initializer(), name, dims, elements);
    return *this;
  }
  Model& integers(const std::string& name, const Dims& dims, const Dims& elements) {
    auto* tensor = proto.mutable_graph()->add_initializer();
    tensor->set_name(name);
    tensor->set_data_type(onnx::TensorProto::INT64);
    for (const std::int64_t n : dims) tensor->add_dims(n);
    for (const std::int64_t x : elements) tensor->add_int64_data(x);
    return *this;
  }
  /// The node is named after its first output.
  onnx::NodeProto& node(const std::string& op, const Names& inputs, const Names& outputs) {
    auto* node = proto.mutable_graph()->add_node();
    node->set_op_type(op);
    node->set_name("n_" + outputs.front());
    for (const std::string& name : inputs) node->add_input(name);
    for (const std::string& name : outputs) node->add_output(name);
    return *node;
  }

  [[nodiscard]] std::string bytes() const { return proto.SerializeAsString(); }
  [[nodiscard]] Graph import(const ImportOptions& options = {}) const {
    const TemporaryFile file(bytes());
    return import_onnx(file.path(), options);
  }

  static void fill(onnx::TensorProto& tensor, const std::string& name, const Dims& dims,
                   const std::vector<float>& elements) {
    tensor.set_name(name);
    tensor.set_data_type(onnx::TensorProto::FLOAT);
    for (const std::int64_t n : dims) tensor.add_dims(n);
    for (const float x : elements) tensor.add_float_data(x);
  }
};

inline onnx::AttributeProto& attribute(onnx::NodeProto& node, const std::string& key) {
  auto* attribute = node.add_attribute();
  attribute->set_name(key);
  return *attribute;
}
inline onnx::NodeProto& set(onnx::NodeProto& node, const std::string& key, std::int64_t value) {
  auto& a = attribute(node, key);
  a.set_type(onnx::AttributeProto::INT);
  a.set_i(value);
  return node;
}
inline onnx::NodeProto& set(onnx::NodeProto& node, const std::string& key, float value) {
  auto& a = attribute(node, key);
  a.set_type(onnx::AttributeProto::FLOAT);
  a.set_f(value);
  return node;
}
inline onnx::NodeProto& set(onnx::NodeProto& node, const std::string& key, const char* value) {
  auto& a = attribute(node, key);
  a.set_type(onnx::AttributeProto::STRING);
  a.set_s(value);
  return node;
}
inline onnx::NodeProto& set(onnx::NodeProto& node, const std::string& key, const Dims& values) {
  auto& a = attribute(node, key);
  a.set_type(onnx::AttributeProto::INTS);
  for (const std::int64_t value : values) a.add_ints(value);
  return node;
}

}  // namespace steppe::graph::test
