// SPDX-License-Identifier: Apache-2.0
#include "workloads/passes/compensate.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "models/base/error.h"
#include "workloads/passes/gather.h"
#include "workloads/passes/prune.h"

namespace steppe::passes {
namespace {

using Eigen::Index;
using numerics::block;
using Columns = Eigen::MatrixXf;  // column major: the work goes column by column

/// Rows of inputs that are multiplied at a time.
constexpr std::size_t panel_rows = 1024;
constexpr float damping = 0.01F;  ///< of the mean diagonal
constexpr int refit_steps = 16;
/// Moments that are held at a time.
constexpr Bytes most_moment_bytes = Bytes{1} << 30U;

void damp(Columns& moments) {
  const float mean = moments.diagonal().mean();
  moments.diagonal().array() += mean > 0 ? damping * mean : 1.0F;
}

/// Makes an upper triangular matrix its inverse: of [A B; 0 C] it is [A^-1, -A^-1 B C^-1; 0 C^-1].
void invert_upper(Eigen::Ref<Columns> matrix) {
  constexpr Index small = 64;
  const Index size = matrix.rows();
  if (size <= small) {
    const Columns upper = matrix.triangularView<Eigen::Upper>();
    matrix = upper.triangularView<Eigen::Upper>().solve(Columns::Identity(size, size));
    return;
  }
  const Index half = size / 2;
  auto a = matrix.topLeftCorner(half, half);
  auto b = matrix.topRightCorner(half, size - half);
  auto c = matrix.bottomRightCorner(size - half, size - half);
  invert_upper(a);
  invert_upper(c);
  const Columns left = a.triangularView<Eigen::Upper>() * b;
  b.noalias() = -left * c.triangularView<Eigen::Upper>();
}

/// U with H^-1 = U^T U, U upper triangular. From H = R R^T with R upper (Cholesky's factor of the
/// matrix with rows and columns turned round): U = R^-1.
Columns inverse_factor(const Columns& moments) {
  Columns turned = moments.reverse();
  Eigen::LLT<Eigen::Ref<Columns>> cholesky(turned);
  STEPPE_CHECK(cholesky.info() == Eigen::Success, "damped moments are positive definite");
  Columns factor = Columns(cholesky.matrixL()).reverse();
  invert_upper(factor);
  return factor;
}

/// Keeps the `kept` most important of each channel's weights in columns [begin, end).
void choose_in_block(const Columns& weights, const Eigen::VectorXf& diagonal, Index begin,
                     Index end, std::size_t kept, Eigen::Ref<Columns> mask) {
  std::vector<Index> order(static_cast<std::size_t>(end - begin));
  for (Index channel = 0; channel < weights.rows(); ++channel) {
    std::iota(order.begin(), order.end(), begin);
    const auto importance = [&](Index i) { return std::abs(weights(channel, i) / diagonal(i)); };
    std::ranges::stable_sort(order, std::greater{}, importance);
    for (std::size_t i = kept; i < order.size(); ++i) mask(channel, order[i]) = 0.0F;
  }
}

/// 1 for the weights that stay of a group, by a threshold that leaves `kept` of them.
void choose_in_all(const Columns& weights, const Columns& factor, double density, Columns& mask) {
  // [H^-1]_ii = sum of the squares of column i of U.
  const Eigen::RowVectorXf scale = factor.colwise().norm();
  Columns importance = weights.cwiseAbs();
  importance.array().rowwise() /= scale.array();
  std::vector<Index> order(static_cast<std::size_t>(importance.size()));
  std::iota(order.begin(), order.end(), Index{0});
  const auto kept =
      static_cast<std::size_t>(std::ceil(density * static_cast<double>(order.size())));
  std::ranges::stable_sort(order, std::greater{}, [&](Index i) { return importance.data()[i]; });
  for (std::size_t i = kept; i < order.size(); ++i) mask.data()[order[i]] = 0.0F;
}

/// The weights that stay, fitted to the least squared change of the results. With w the original
/// weights of a channel, H the moments and S what stays: v_S = H_SS^-1 (w H)_S.
class Refit {
 public:
  Refit(const Columns& original, const Columns& moments)
      : moments_(moments), target_(original * moments) {}

  /// Changes `weights`; returns by how much less each channel's results change than if all its
  /// weights went.
  [[nodiscard]] Eigen::ArrayXf operator()(const Columns& mask, Columns& weights) const {
    const auto kept = static_cast<double>(mask.rowwise().sum().maxCoeff());
    const double factorising = kept * kept * kept / 3;
    const double steps = refit_steps * 2.0 * static_cast<double>(mask.cols() * mask.cols());
    // The change is (w - v) H (w - v)^T, and v H v^T = v (w H - residual)^T.
    if (factorising >= steps) {
      const Columns residual = approach(mask, weights);
      return weights.cwiseProduct(target_ + residual).rowwise().sum().array();
    }
    for (Index channel = 0; channel < weights.rows(); ++channel) solve(channel, mask, weights);
    return weights.cwiseProduct(target_).rowwise().sum().array();
  }

 private:
  void solve(Index channel, const Columns& mask, Columns& weights) const {
    std::vector<Index> kept;
    for (Index i = 0; i < mask.cols(); ++i) {
      if (mask(channel, i) != 0.0F) kept.push_back(i);
    }
    const Columns part = moments_(kept, kept);
    const Eigen::LLT<Columns> cholesky(part);
    STEPPE_CHECK(cholesky.info() == Eigen::Success, "damped moments are positive definite");
    const Eigen::VectorXf wanted = target_(channel, kept).transpose();
    weights(channel, kept) = cholesky.solve(wanted).transpose();
  }

  /// Some steps of conjugate gradients with the diagonal as preconditioner (M. Hestenes, E.
  /// Stiefel, 1952), of all channels together; returns what is left of (w - v) H where weights
  /// stay.
  [[nodiscard]] Columns approach(const Columns& mask, Columns& weights) const {
    const Eigen::RowVectorXf inverse = moments_.diagonal().transpose().cwiseInverse();
    const auto scaled = [&](const Columns& x) -> Columns {
      return x.array().rowwise() * inverse.array();
    };
    const auto dots = [](const Columns& a, const Columns& b) -> Eigen::ArrayXf {
      return a.cwiseProduct(b).rowwise().sum().array();
    };
    // Rows that have arrived divide 0 by 0: they stay.
    const auto ratio = [](const Eigen::ArrayXf& a, const Eigen::ArrayXf& b) -> Eigen::ArrayXf {
      return (b > 0.0F).select(a / b, 0.0F);
    };
    Columns residual = (target_ - weights * moments_).cwiseProduct(mask);
    Columns direction = scaled(residual);
    Eigen::ArrayXf size = dots(residual, direction);
    for (int step = 0; step < refit_steps; ++step) {
      const Columns image = (direction * moments_).cwiseProduct(mask);
      const Eigen::ArrayXf length = ratio(size, dots(direction, image));
      weights += (direction.array().colwise() * length).matrix();
      residual -= (image.array().colwise() * length).matrix();
      const Columns next = scaled(residual);
      const Eigen::ArrayXf new_size = dots(residual, next);
      direction = next + (direction.array().colwise() * ratio(new_size, size)).matrix();
      size = new_size;
    }
    return residual;
  }

  const Columns& moments_;
  Columns target_;
};

/// Column by column, what goes is made up for by the columns behind it: the weights and, in `mask`,
/// 1 for those that stay.
Columns eliminate(const Columns& original, const Columns& factor, const net::Sparsity& sparsity,
                  Columns& mask) {
  const bool indexed = sparsity.encoding == numerics::Encoding::indexed;
  if (!indexed) choose_in_all(original, factor, sparsity.density, mask);
  const Eigen::VectorXf diagonal = factor.diagonal();
  Columns weights = original;
  Columns errors(weights.rows(), Index{block});
  for (Index begin = 0; begin < weights.cols(); begin += block) {
    const Index end = std::min<Index>(begin + block, weights.cols());
    if (indexed) choose_in_block(weights, diagonal, begin, end, sparsity.kept, mask);
    for (Index i = begin; i < end; ++i) {
      auto error = errors.col(i - begin);
      error = weights.col(i).cwiseProduct((1.0F - mask.col(i).array()).matrix()) / diagonal(i);
      weights.middleCols(i, end - i).noalias() -= error * factor.row(i).segment(i, end - i);
    }
    weights.rightCols(weights.cols() - end).noalias() -=
        errors.leftCols(end - begin) * factor.block(begin, end, end - begin, weights.cols() - end);
  }
  return weights.cwiseProduct(mask);
}

/// Weights [channels][k] of one group.
void prune_group(Eigen::Map<Matrix> given, const Matrix& moments, const net::Sparsity& sparsity) {
  Columns damped = moments;
  damp(damped);
  const Columns original = given;
  const Refit refit(original, damped);
  Columns mask = Columns::Ones(original.rows(), original.cols());
  Columns weights = eliminate(original, inverse_factor(damped), sparsity, mask);
  const Eigen::ArrayXf won = refit(mask, weights);

  // Elimination looks ahead at columns, not back: now and then the largest weights are better.
  prune_by_magnitude({given.data(), static_cast<std::size_t>(given.size())},
                     static_cast<std::size_t>(given.cols()), sparsity);
  Columns largest = given;
  mask = (largest.array() != 0.0F).cast<float>();
  const Eigen::ArrayXf won_otherwise = refit(mask, largest);
  if (sparsity.encoding == numerics::Encoding::bitmap) {  // the share is that of all channels
    if (won_otherwise.sum() > won.sum()) weights = largest;
  } else {
    for (Index i = 0; i < weights.rows(); ++i) {
      if (won_otherwise(i) > won(i)) weights.row(i) = largest.row(i);
    }
  }
  given = weights;
}

/// One axis of a window over an image: where tap `tap` of result `at` lies, or outside.
struct WindowAxis {
  std::int64_t in = 1, out = 1, kernel = 1, stride = 1, dilation = 1, pad = 0;
  [[nodiscard]] std::int64_t position(std::int64_t at, std::int64_t tap) const {
    const std::int64_t position = at * stride + tap * dilation - pad;
    return position < in ? position : -1;
  }
};

}  // namespace

Moments::Moments(const graph::Graph& graph, const Step& step, const LayerSource& source)
    : graph_(graph), node_(graph.nodes[step.node]) {
  STEPPE_CHECK(step.kind == StepKind::conv || step.kind == StepKind::dense);
  const Axis within(source.weights.begin() + 1, source.weights.end());
  order_.resize(extent(within));
  std::uint64_t divisor = 1;
  if (step.kind == StepKind::dense) {
    const bool rows = node_.op == "Gemm" && node_.integer("transB") != 0;
    if (!rows) divisor = static_cast<std::uint64_t>(graph.value(node_.inputs[1]).shape.back());
  }
  for_each_step(within, [&](std::uint64_t i, std::size_t offset) { order_[i] = offset / divisor; });
  const auto groups =
      step.kind == StepKind::conv ? static_cast<std::size_t>(node_.integer("group")) : 1;
  const auto size = static_cast<Index>(order_.size());
  sums_.assign(groups, Matrix::Zero(size, size));
}

void Moments::add(const graph::FloatExecutor& executor) {
  const std::vector<float>& inputs = executor.value(node_.inputs[0]);
  if (scale_ == 0.0F) {  // so that squares of any size, summed, are in fp32's range
    float largest = 0.0F;
    for (const float x : inputs) largest = std::max(largest, std::abs(x));
    if (largest > 0.0F) scale_ = 1.0F / largest;
  }
  node_.op == "Conv" ? add_conv(inputs) : add_dense(inputs);
  for (Matrix& sum : sums_) sum.triangularView<Eigen::StrictlyUpper>() = sum.transpose();
}

void Moments::add_rows(std::size_t group, const Matrix& rows, std::size_t count) {
  const Matrix scaled = scale_ * rows.topRows(static_cast<Index>(count));
  sums_[group].selfadjointView<Eigen::Lower>().rankUpdate(scaled.transpose());
}

void Moments::add_dense(std::span<const float> inputs) {
  Matrix rows(static_cast<Index>(panel_rows), static_cast<Index>(k()));
  std::size_t count = 0;
  for (std::size_t start = 0; start < inputs.size(); start += k()) {
    for (std::size_t i = 0; i < k(); ++i) {
      rows(static_cast<Index>(count), static_cast<Index>(i)) = inputs[start + order_[i]];
    }
    if (++count == panel_rows || start + k() >= inputs.size()) {
      add_rows(0, rows, count);
      count = 0;
    }
  }
}

void Moments::add_conv(std::span<const float> inputs) {
  const std::vector<std::int64_t>& in = graph_.value(node_.inputs[0]).shape;  // [n][c][h](w)
  const std::vector<std::int64_t>& out = graph_.value(node_.outputs[0]).shape;
  std::array<WindowAxis, 2> axes;
  const std::size_t rank = in.size() - 2;
  for (std::size_t i = 0; i < rank; ++i) {
    axes.at(i) = {.in = in[i + 2],
                  .out = out[i + 2],
                  .kernel = node_.integers("kernel_shape")[i],
                  .stride = node_.integers("strides")[i],
                  .dilation = node_.integers("dilations")[i],
                  .pad = node_.integers("pads")[i]};
  }
  const auto& [high, wide] = axes;
  const std::int64_t channels = in[1] / static_cast<std::int64_t>(groups());
  const std::int64_t taps = high.kernel * wide.kernel;
  struct Place {
    std::int64_t channel, row, column;
  };
  std::vector<Place> places;
  places.reserve(k());
  for (const std::uint64_t offset : order_) {
    const auto at = static_cast<std::int64_t>(offset);
    places.push_back({at / taps, at % taps / wide.kernel, at % wide.kernel});
  }
  Matrix rows(static_cast<Index>(panel_rows), static_cast<Index>(k()));
  const std::int64_t positions = in[0] * high.out * wide.out;
  for (std::size_t group = 0; group < groups(); ++group) {
    std::size_t count = 0;
    for (std::int64_t at = 0; at < positions; ++at) {
      const std::int64_t y = at / wide.out % high.out;
      const std::int64_t x = at % wide.out;
      const std::int64_t first =
          at / (high.out * wide.out) * in[1] + static_cast<std::int64_t>(group) * channels;
      float* row = rows.row(static_cast<Index>(count)).data();
      for (const Place& place : places) {
        const std::int64_t h = high.position(y, place.row);
        const std::int64_t w = wide.position(x, place.column);
        *row++ = h < 0 || w < 0 ? 0.0F
                                : inputs[static_cast<std::size_t>(
                                      ((first + place.channel) * high.in + h) * wide.in + w)];
      }
      if (++count == panel_rows || at + 1 == positions) {
        add_rows(group, rows, count);
        count = 0;
      }
    }
  }
}

double Moments::energy(std::span<const float> weights) const {
  const std::size_t channels = weights.size() / k() / groups();
  double sum = 0;
  for (std::size_t group = 0; group < groups(); ++group) {
    const Eigen::Map<const Matrix> part(weights.data() + group * channels * k(),
                                        static_cast<Index>(channels), static_cast<Index>(k()));
    sum += double{(part * sums_[group]).cwiseProduct(part).sum()};
  }
  return std::max(sum, 0.0) / (scale_ > 0.0F ? double{scale_} * double{scale_} : 1.0);
}

void with_moments(const graph::Graph& graph, const std::vector<Step>& steps, const Layout& layout,
                  std::span<const std::size_t> layers, const std::vector<Sample>& samples,
                  const std::function<void(std::size_t, const Moments&)>& visit) {
  for (std::size_t done = 0; done < layers.size();) {
    std::vector<Moments> moments;
    Bytes bytes = 0;
    for (const std::size_t layer : layers.subspan(done)) {
      const LayerSource& source = layout.sources[layer];
      Moments next(graph, steps[source.step], source);
      bytes += next.bytes();
      if (!moments.empty() && bytes > most_moment_bytes) break;
      moments.push_back(std::move(next));
    }
    graph::FloatExecutor executor(graph);
    for (const Sample& sample : samples) {
      executor.run(sample);
      for (Moments& layer : moments) layer.add(executor);
    }
    for (const Moments& layer : moments) visit(layers[done++], layer);
  }
}

void prune_compensated(std::span<float> weights, const Moments& moments,
                       const net::Sparsity& sparsity) {
  if (sparsity.encoding == numerics::Encoding::dense) return;
  const std::size_t channels = weights.size() / moments.k() / moments.groups();
  for (std::size_t group = 0; group < moments.groups(); ++group) {
    prune_group(Eigen::Map<Matrix>(weights.data() + group * channels * moments.k(),
                                   static_cast<Index>(channels), static_cast<Index>(moments.k())),
                moments.of(group), sparsity);
  }
}

}  // namespace steppe::passes
