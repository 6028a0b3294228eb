// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "workloads/operators/host.h"

/// RNN, GRU and LSTM.
namespace steppe::graph {
namespace {

using Function = double (*)(double);

double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

/// The activations that take no numbers of their own, or have ONNX's defaults for them.
Function function_of(const HostCall& call, const std::string& name) {
  static const std::map<std::string, Function, std::less<>> table{
      {"Sigmoid", sigmoid},
      {"Tanh", [](double x) { return std::tanh(x); }},
      {"Relu", [](double x) { return std::max(x, 0.0); }},
      {"HardSigmoid", [](double x) { return std::clamp(0.2 * x + 0.5, 0.0, 1.0); }},
      {"Softsign", [](double x) { return x / (1.0 + std::abs(x)); }},
      {"Softplus", [](double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }}};
  const auto found = table.find(name);
  if (found == table.end()) call.fail("the activation '{}' is not supported", name);
  return found->second;
}

/// One operator's operands; sizes are checked once, here.
class Recurrent {
 public:
  /// `absent`: the activations of a direction where none are given.
  Recurrent(HostCall& call, std::size_t gates, const std::vector<std::string>& absent)
      : call_(call), gates_(gates), functions_of_direction_(absent.size()) {
    batch_first_ = call.integer("layout", 0) != 0;
    const Shape& x = call.shape(0);
    const Shape& r = call.shape(2);
    if (x.size() != 3 || r.size() != 3) call.fail("input {}, recurrence {}", text(x), text(r));
    steps_ = static_cast<std::size_t>(x[batch_first_ ? 1 : 0]);
    batch_ = static_cast<std::size_t>(x[batch_first_ ? 0 : 1]);
    inputs_ = static_cast<std::size_t>(x[2]);
    dirs_ = static_cast<std::size_t>(r[0]);
    hidden_ = static_cast<std::size_t>(r[2]);
    const auto extent = [](std::size_t n) { return static_cast<std::int64_t>(n); };
    if (call.shape(1) != Shape{r[0], extent(gates * hidden_), x[2]} ||
        r[1] != extent(gates * hidden_)) {
      call.fail("weights {} and recurrence {} for {}", text(call.shape(1)), text(r), text(x));
    }
    const std::string direction = call.string("direction", "forward");
    if (dirs_ != (direction == "bidirectional" ? 2U : 1U)) call.fail("{} directions", dirs_);
    reverse_ = direction == "reverse";
    clip_ = call.real("clip", std::numeric_limits<double>::infinity());
    take_activations(absent);
    x_ = reals(call.at(0));
    w_ = reals(call.at(1));
    r_ = reals(call.at(2));
    b_ = operand(3, dirs_ * 2 * gates * hidden_);
    lengths_ =
        call.has(4) ? integers(call.at(4)) : std::vector<std::int64_t>(batch_, extent(steps_));
    if (lengths_.size() != batch_) call.fail("lengths {}", text(call.shape(4)));
    h_ = operand(5, dirs_ * batch_ * hidden_);
    c_ = operand(6, dirs_ * batch_ * hidden_);
    peepholes_ = operand(7, dirs_ * 3 * hidden_);
  }

  /// `cell(gate sums of x, of h, h, c, direction)` updates h and c of one sequence by a step.
  template <typename F>
  void run(F cell, bool gives_cells) {
    std::vector<double> y(steps_ * dirs_ * batch_ * hidden_, 0.0);
    for (std::size_t d = 0; d < dirs_; ++d) {
      for (std::size_t n = 0; n < batch_; ++n) sequence(d, n, cell, y);
    }
    const auto e = [](std::size_t k) { return static_cast<std::int64_t>(k); };
    const DataType type = call_.at(0).type;
    const Shape last = batch_first_ ? Shape{e(batch_), e(dirs_), e(hidden_)}
                                    : Shape{e(dirs_), e(batch_), e(hidden_)};
    call_.give(type,
               batch_first_ ? Shape{e(batch_), e(steps_), e(dirs_), e(hidden_)}
                            : Shape{e(steps_), e(dirs_), e(batch_), e(hidden_)},
               y);
    call_.give(type, last, h_);
    if (gives_cells) call_.give(type, last, c_);
  }

  [[nodiscard]] std::size_t hidden() const { return hidden_; }
  /// The n-th activation of a direction.
  [[nodiscard]] double activate(std::size_t d, std::size_t n, double x) const {
    return functions_[d * functions_of_direction_ + n](std::clamp(x, -clip_, clip_));
  }
  [[nodiscard]] double peephole(std::size_t d, std::size_t which, std::size_t i) const {
    return peepholes_[(d * 3 + which) * hidden_ + i];
  }
  /// Sum of a row of R with `h`, and its bias.
  [[nodiscard]] double recurrence(std::size_t d, std::size_t row, const double* h) const {
    double sum = b_[d * 2 * gates_ * hidden_ + gates_ * hidden_ + row];
    const double* r = &r_[(d * gates_ * hidden_ + row) * hidden_];
    for (std::size_t k = 0; k < hidden_; ++k) sum += r[k] * h[k];
    return sum;
  }

 private:
  void take_activations(const std::vector<std::string>& absent) {
    const std::vector<std::string> given = listed(call_.string("activations", ""));
    for (const std::string& name : given) functions_.push_back(function_of(call_, name));
    for (std::size_t d = 0; d < dirs_ && given.empty(); ++d) {
      for (const std::string& name : absent) functions_.push_back(function_of(call_, name));
    }
    if (functions_.size() != absent.size() * dirs_) {
      call_.fail("{} activations for {} directions of {}", functions_.size(), dirs_, absent.size());
    }
    for (const char* numbers : {"activation_alpha", "activation_beta"}) {
      if (call_.given(numbers)) call_.fail("'{}' is not supported", numbers);
    }
  }

  std::vector<double> operand(std::size_t i, std::size_t size) const {
    if (!call_.has(i)) return std::vector<double>(size, 0.0);
    std::vector<double> x = reals(call_.at(i));
    if (x.size() != size) call_.fail("operand {} is {}", i, text(call_.shape(i)));
    return x;
  }

  template <typename F>
  void sequence(std::size_t d, std::size_t n, F& cell, std::vector<double>& y) {
    const std::size_t rows = gates_ * hidden_;
    const std::size_t state = (batch_first_ ? n * dirs_ + d : d * batch_ + n) * hidden_;
    const std::size_t length = static_cast<std::size_t>(
        std::clamp<std::int64_t>(lengths_[n], 0, static_cast<std::int64_t>(steps_)));
    std::vector<double> sums(rows);
    for (std::size_t k = 0; k < length; ++k) {
      const std::size_t t = reverse_ || d == 1 ? length - 1 - k : k;
      const double* x = &x_[(batch_first_ ? n * steps_ + t : t * batch_ + n) * inputs_];
      for (std::size_t row = 0; row < rows; ++row) {
        sums[row] = b_[d * 2 * rows + row];
        const double* w = &w_[(d * rows + row) * inputs_];
        for (std::size_t i = 0; i < inputs_; ++i) sums[row] += w[i] * x[i];
      }
      cell(d, sums, &h_[state], &c_[state]);
      const std::size_t at =
          batch_first_ ? (n * steps_ + t) * dirs_ + d : (t * dirs_ + d) * batch_ + n;
      std::copy_n(&h_[state], hidden_, &y[at * hidden_]);
    }
  }

  HostCall& call_;
  std::size_t gates_, functions_of_direction_, steps_ = 0, batch_ = 0, inputs_ = 0, dirs_ = 0,
                                               hidden_ = 0;
  bool batch_first_ = false, reverse_ = false;
  double clip_ = 0;
  std::vector<Function> functions_;  ///< by direction
  std::vector<double> x_, w_, r_, b_, h_, c_, peepholes_;
  std::vector<std::int64_t> lengths_;
};

void rnn(HostCall& call) {
  Recurrent net(call, 1, {"Tanh"});
  net.run(
      [&](std::size_t d, const std::vector<double>& x, double* h, double*) {
        const std::vector<double> before(h, h + net.hidden());
        for (std::size_t i = 0; i < before.size(); ++i) {
          h[i] = net.activate(d, 0, x[i] + net.recurrence(d, i, before.data()));
        }
      },
      false);
}

void gru(HostCall& call) {
  Recurrent net(call, 3, {"Sigmoid", "Tanh"});
  const bool linear = call.integer("linear_before_reset", 0) != 0;
  net.run(
      [&](std::size_t d, const std::vector<double>& x, double* h, double*) {
        const std::size_t n = net.hidden();
        const std::vector<double> before(h, h + n);
        std::vector<double> update(n), reset(n), gated(n);
        for (std::size_t i = 0; i < n; ++i) {
          update[i] = net.activate(d, 0, x[i] + net.recurrence(d, i, before.data()));
          reset[i] = net.activate(d, 0, x[n + i] + net.recurrence(d, n + i, before.data()));
          gated[i] = reset[i] * before[i];
        }
        for (std::size_t i = 0; i < n; ++i) {
          const double r = linear ? reset[i] * net.recurrence(d, 2 * n + i, before.data())
                                  : net.recurrence(d, 2 * n + i, gated.data());
          h[i] = (1.0 - update[i]) * net.activate(d, 1, x[2 * n + i] + r) + update[i] * before[i];
        }
      },
      false);
}

/// Gates in the order input, output, forget, cell.
void lstm(HostCall& call) {
  Recurrent net(call, 4, {"Sigmoid", "Tanh", "Tanh"});
  const bool coupled = call.integer("input_forget", 0) != 0;
  net.run(
      [&](std::size_t d, const std::vector<double>& x, double* h, double* c) {
        const std::size_t n = net.hidden();
        const std::vector<double> before(h, h + n);
        for (std::size_t i = 0; i < n; ++i) {
          const auto sum = [&](std::size_t gate) {
            return x[gate * n + i] + net.recurrence(d, gate * n + i, before.data());
          };
          const auto gate = [&](std::size_t which) {
            return net.activate(d, 0, sum(which) + net.peephole(d, which, i) * c[i]);
          };
          const double in = gate(0);
          const double forget = coupled ? 1.0 - in : gate(2);
          c[i] = forget * c[i] + in * net.activate(d, 1, sum(3));
          h[i] = gate(1) * net.activate(d, 2, c[i]);
        }
      },
      true);
}

}  // namespace

void add_host_recurrent(HostTable& t) {
  t["RNN"] = {rnn, {}};
  t["GRU"] = {gru, {}};
  t["LSTM"] = {lstm, {}};
}

}  // namespace steppe::graph
