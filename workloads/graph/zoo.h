// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "workloads/graph/graph.h"

namespace steppe::graph {

struct ZooOptions {
  std::int64_t batch = 1;  ///< sequences side by side
  /// Tokens: of an encoder, or positions of a key-value cache. The S30's published run has 256.
  std::int64_t context = 256;
  /// Gives the weights elements; without, the model has sizes only and can be timed.
  std::optional<std::uint64_t> random_weights_seed;
};

/// A model by name. Throws ConfigError for an unknown name (with the nearest) or an option out of
/// range.
Graph zoo_model(const std::string& name, const ZooOptions& options = {});

std::vector<std::string> zoo_names();

/// Sizes of a GPT-J; the defaults are those of GPT-J 6B (Wang and Komatsuzaki 2021; its published
/// config.json).
struct GptJ {
  std::int64_t layers = 28;
  std::int64_t hidden = 4096;
  std::int64_t heads = 16;
  std::int64_t rotary = 64;  ///< of each head's hidden / heads numbers, those that are turned
  std::int64_t inner = 16384;
  std::int64_t vocabulary = 50400;
};

/// One decode step of a GPT-J with a full cache: the token at position context - 1.
///
/// Input `hidden` [batch, hidden]: the token's row of the embedding, which the host looks up.
/// Output `logits` [batch, vocabulary]. States, for each layer: `layer.N.keys` [batch, heads,
/// context, head] and `layer.N.values` [batch, heads, head, context] (transposed, as the product
/// with the attention weights wants it); the step writes its own key and value at the last position
/// and attends to all positions. Attention and feed-forward run side by side on one normalisation.
/// GELU is by erf; GPT-J's own, by tanh, differs from it by less than 5e-4.
Graph gptj_decode(const std::string& name, const GptJ& sizes, const ZooOptions& options);

/// Sizes of a BERT (Devlin et al. 2019); the defaults are those of BERT-base.
struct Bert {
  std::int64_t layers = 12;
  std::int64_t hidden = 768;
  std::int64_t heads = 12;
  std::int64_t inner = 3072;
};

/// The encoder of a BERT over `context` tokens, all of which attend to all. Input `hidden` [batch,
/// context, hidden]: the sums of the embeddings. Output `encoded`, of the same shape.
Graph bert_encoder(const std::string& name, const Bert& sizes, const ZooOptions& options);

/// ResNet-50, version 1.5 (He et al. 2016; the stride of 2 in the 3x3 convolutions), with the
/// normalisations in the convolutions' weights and biases. Input `image` [batch, 3, 224, 224],
/// output `classes` [batch, 1000] behind a softmax.
Graph resnet50(const std::string& name, const ZooOptions& options);

/// Input `a` [batch * size, size] by a weight [size, size]; output `c`.
Graph matrix_product(const std::string& name, std::int64_t size, const ZooOptions& options);

}  // namespace steppe::graph
