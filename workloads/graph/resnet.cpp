// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "workloads/graph/zoo.h"
#include "workloads/graph/zoo_builder.h"

namespace steppe::graph {
namespace {

class ResNet50 : private ZooBuilder {
 public:
  ResNet50(const std::string& name, const ZooOptions& options) : ZooBuilder(name, options) {}

  Graph run() {
    ValueId x = b_.input("image", DataType::fp32, {o_.batch, 3, 224, 224});
    x = relu("stem.relu", conv("stem", x, 64, 7, 2));
    x = node("stem.pool", "MaxPool", {x},
             {{"kernel_shape", Shape{3, 3}},
              {"strides", Shape{2, 2}},
              {"pads", Shape{1, 1, 1, 1}},
              {"dilations", Shape{1, 1}}});
    constexpr std::int64_t blocks[] = {3, 4, 6, 3};
    for (std::int64_t stage = 0; stage < 4; ++stage) {
      for (std::int64_t i = 0; i < blocks[stage]; ++i) {
        const std::int64_t stride = stage > 0 && i == 0 ? 2 : 1;
        x = block(fmt::format("stage{}.block{}", stage + 1, i + 1), x, std::int64_t{64} << stage,
                  stride, i == 0);
      }
    }
    x = node("pool", "GlobalAveragePool", {x});
    b_.set_scope("flat");
    x = linear("classify", b_.reshape(x, {o_.batch, 2048}), 2048, 1000, true);
    return finish(node("softmax", "Softmax", {x}, {{"axis", std::int64_t{1}}}), "classes");
  }

 private:
  ValueId relu(const std::string& name, ValueId x) { return node(name, "Relu", {x}); }

  /// Bottleneck: 1x1 to `width` channels, 3x3, 1x1 to four times that, beside a shortcut.
  ValueId block(const std::string& name, ValueId x, std::int64_t width, std::int64_t stride,
                bool projects) {
    ValueId y = relu(name + ".relu1", conv(name + ".conv1", x, width, 1, 1));
    y = relu(name + ".relu2", conv(name + ".conv2", y, width, 3, stride));
    y = conv(name + ".conv3", y, 4 * width, 1, 1);
    const ValueId shortcut = projects ? conv(name + ".shortcut", x, 4 * width, 1, stride) : x;
    return relu(name + ".relu3", node(name + ".sum", "Add", {y, shortcut}));
  }
};

}  // namespace

Graph resnet50(const std::string& name, const ZooOptions& options) {
  check_options(name, options);
  return ResNet50(name, options).run();
}

}  // namespace steppe::graph
