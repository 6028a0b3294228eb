// SPDX-License-Identifier: Apache-2.0
#include <functional>

#include "workloads/graph/context.h"
#include "workloads/operators/host.h"

/// LSTM, GRU and RNN step by step; what these names mean is ONNX's definition.
namespace steppe::graph {
namespace {

constexpr std::int64_t most_steps = 256;  ///< of all directions; longer sequences stay on the host

/// One direction of a recurrent operator.
class Direction {
 public:
  Direction(Context& c, std::int64_t gates, std::int64_t number, bool reverse,
            std::vector<std::string> activations)
      : b_(c.b),
        c_(c),
        gates_(gates),
        number_(number),
        reverse_(reverse),
        activations_(std::move(activations)) {
    batch_first_ = c.integer("layout", 0) != 0;
    const Shape& x = c.shape(0);
    steps_ = x[batch_first_ ? 1 : 0];
    batch_ = x[batch_first_ ? 0 : 1];
    hidden_ = c.shape(2)[2];
  }

  struct State {
    ValueId h, c;
  };
  using Cell = std::function<State(Direction&, ValueId x, State before)>;

  /// Runs all steps; `cell` makes the next state of the sums of x and the last one. The bias of the
  /// recurrence is in the sums where that makes no difference.
  void run(const Cell& cell, bool bias_of_recurrence) {
    const ValueId x = batch_first_ ? b_.transpose(c_.in(0), {1, 0, 2}) : c_.in(0);
    const ValueId flat = b_.reshape(x, {steps_ * batch_, c_.shape(0)[2]});
    ValueId sums = b_.add("MatMul", {flat, weights(1, 0, gates_)});
    if (c_.has(3)) {
      sums = b_.add("Add", {sums, bias(0)});
      if (bias_of_recurrence) sums = b_.add("Add", {sums, bias(1)});
    }
    State state{initial(5), gates_ == 4 ? initial(6) : no_value};
    h.assign(static_cast<std::size_t>(steps_), no_value);
    for (std::int64_t step = 0; step < steps_; ++step) {
      const std::int64_t t = reverse_ ? steps_ - 1 - step : step;
      state = cell(*this, b_.slice(sums, 0, t * batch_, (t + 1) * batch_), state);
      h[static_cast<std::size_t>(t)] = state.h;
    }
    last = state;
  }

  /// Sums of the state and gates [first, end) of the recurrence weights.
  ValueId recurrence(ValueId x, std::int64_t first, std::int64_t end) {
    return b_.add("MatMul", {x, weights(2, first, end)});
  }
  /// Gates [first, end) of sums.
  ValueId gates(ValueId sums, std::int64_t first, std::int64_t end) {
    return b_.slice(sums, 1, first * hidden_, end * hidden_);
  }
  /// Sums of gates [first, end) with their bias of the recurrence, where there is one.
  ValueId with_bias(ValueId sums, std::int64_t first, std::int64_t end) {
    if (!c_.has(3)) return sums;
    return add(sums, b_.slice(bias(1), 0, first * hidden_, end * hidden_));
  }
  /// The n-th of the operator's activations.
  ValueId activate(std::size_t n, ValueId x) {
    if (c_.given("clip")) {
      const float bound = c_.real("clip", 0.0F);
      x = b_.add("Clip", {x, b_.scalar(-bound), b_.scalar(bound)});
    }
    return b_.add(activations_[n], {x});
  }
  ValueId mul(ValueId x, ValueId y) { return b_.add("Mul", {x, y}); }
  ValueId add(ValueId x, ValueId y) { return b_.add("Add", {x, y}); }
  ValueId sub(ValueId x, ValueId y) { return b_.add("Sub", {x, y}); }

  std::vector<ValueId> h;  ///< by step, [batch, hidden]
  State last{no_value, no_value};

  /// Steps, and last states, as the operator's results have them.
  ValueId all_steps() {
    std::vector<ValueId> rows;
    for (const ValueId step : h) rows.push_back(b_.reshape(step, {1, 1, batch_, hidden_}));
    return rows.size() == 1 ? rows[0] : b_.add("Concat", rows, {{"axis", std::int64_t{0}}});
  }
  ValueId one(ValueId state) { return b_.reshape(state, {1, batch_, hidden_}); }

 private:
  /// This direction's slice of an operand's first axis, without that axis.
  ValueId own(std::size_t operand, std::int64_t axis = 0) {
    const ValueId part = b_.slice(c_.in(operand), axis, number_, number_ + 1);
    Shape shape = b_.shape(part);
    shape.erase(shape.begin() + axis);
    return b_.reshape(part, shape);
  }
  /// Of gates [first, end), turned: [inputs or hidden, gates * hidden].
  ValueId weights(std::size_t operand, std::int64_t first, std::int64_t end) {
    const ValueId rows = b_.slice(own(operand), 0, first * hidden_, end * hidden_);
    return b_.transpose(rows, {1, 0});
  }
  /// Of the inputs (0) or of the recurrence (1).
  ValueId bias(std::int64_t which) {
    const std::int64_t size = gates_ * hidden_;
    return b_.slice(own(3), 0, which * size, (which + 1) * size);
  }
  ValueId initial(std::size_t operand) {
    if (c_.has(operand)) return own(operand, batch_first_ ? 1 : 0);
    const auto size = static_cast<std::size_t>(batch_ * hidden_);
    return b_.constant(c_.raw.name + "/zero", {batch_, hidden_}, std::vector<float>(size, 0.0F));
  }

  Builder& b_;
  Context& c_;
  std::int64_t gates_, number_;
  bool reverse_;
  bool batch_first_ = false;
  std::vector<std::string> activations_;
  std::int64_t steps_ = 0, batch_ = 0, hidden_ = 0;
};

/// The activations of each direction: names that are canonical operators without attributes.
std::vector<std::vector<std::string>> activations(const Context& c, std::int64_t directions,
                                                  const std::vector<std::string>& absent) {
  std::vector<std::string> names = listed(c.string("activations", ""));
  if (names.empty()) {
    for (std::int64_t i = 0; i < directions; ++i) {
      names.insert(names.end(), absent.begin(), absent.end());
    }
  }
  if (names.size() != absent.size() * static_cast<std::size_t>(directions)) {
    c.fail("{} activations for {} directions of {}", names.size(), directions, absent.size());
  }
  std::vector<std::vector<std::string>> result;
  for (auto first = names.begin(); first != names.end();) {
    const auto end = first + static_cast<std::ptrdiff_t>(absent.size());
    for (const std::string& name : result.emplace_back(first, end)) {
      if (name != "Sigmoid" && name != "Tanh" && name != "Relu" && name != "Softplus") {
        c.fail("the activation '{}' is the host's", name);
      }
    }
    first = end;
  }
  return result;
}

/// Sizes that fit each other, and nothing that only the host knows.
void check(const Context& c, std::int64_t gates) {
  if (c.has(4)) c.fail("sequences of different lengths are the host's");
  const Shape& x = c.shape(0);
  const Shape& w = c.shape(1);
  const Shape& r = c.shape(2);
  if (x.size() != 3 || w.size() != 3 || r.size() != 3) c.fail("operands have three axes");
  if (!c.is_constant(1) || !c.is_constant(2) || (c.has(3) && !c.is_constant(3))) {
    c.fail("its weights are no constants");
  }
  const std::int64_t rows = gates * r[2];
  const bool biased = !c.has(3) || c.shape(3) == Shape{w[0], 2 * rows};
  if (w[1] != rows || r[1] != rows || w[2] != x[2] || r[0] != w[0] || !biased) {
    c.fail("input {}, weights {}, recurrence {}", text(x), text(w), text(r));
  }
  const std::int64_t steps = x[c.integer("layout", 0) != 0 ? 1 : 0];
  const std::int64_t directions = c.string("direction", "forward") == "bidirectional" ? 2 : 1;
  if (directions != w[0]) c.fail("{} directions", w[0]);
  if (steps < 1 || steps * directions > most_steps) {
    c.fail("{} steps; up to {} are unrolled", steps * directions, most_steps);
  }
}

void recurrent(Context& c, std::int64_t gates, const std::vector<std::string>& absent,
               const Direction::Cell& cell, bool bias_of_recurrence) {
  check(c, gates);
  Builder& b = c.b;
  const std::int64_t directions = c.shape(1)[0];
  const auto functions = activations(c, directions, absent);
  const bool reverse = c.string("direction", "forward") == "reverse";
  std::vector<ValueId> y, h, cells;
  for (std::int64_t d = 0; d < directions; ++d) {
    Direction direction(c, gates, d, reverse || d == 1, functions[static_cast<std::size_t>(d)]);
    direction.run(cell, bias_of_recurrence);
    y.push_back(direction.all_steps());
    h.push_back(direction.one(direction.last.h));
    if (direction.last.c != no_value) cells.push_back(direction.one(direction.last.c));
  }
  const auto joined = [&](const std::vector<ValueId>& parts, std::int64_t axis) {
    return parts.size() == 1 ? parts[0] : b.add("Concat", parts, {{"axis", axis}});
  };
  const bool batch_first = c.integer("layout", 0) != 0;
  const ValueId all = joined(y, 1);  // [steps, directions, batch, hidden]
  c.give(batch_first ? b.transpose(all, {2, 0, 1, 3}) : all);
  for (const std::vector<ValueId>* last : {&h, &cells}) {
    if (last->empty()) continue;
    const ValueId state = joined(*last, 0);
    c.give(batch_first ? b.transpose(state, {1, 0, 2}) : state);
  }
}

void rnn(Context& c) {
  recurrent(
      c, 1, {"Tanh"},
      [](Direction& d, ValueId x, Direction::State before) {
        const ValueId sums = d.add(d.recurrence(before.h, 0, 1), x);
        return Direction::State{d.activate(0, sums), no_value};
      },
      true);
}

/// Gates in the order update, reset, hidden.
void gru(Context& c) {
  const bool linear = c.integer("linear_before_reset", 0) != 0;
  recurrent(
      c, 3, {"Sigmoid", "Tanh"},
      [&](Direction& d, ValueId x, Direction::State before) {
        ValueId sums = d.recurrence(before.h, 0, 2);
        if (linear) sums = d.with_bias(sums, 0, 2);
        const ValueId two = d.activate(0, d.add(sums, d.gates(x, 0, 2)));
        const ValueId update = d.gates(two, 0, 1);
        const ValueId reset = d.gates(two, 1, 2);
        sums = d.recurrence(linear ? before.h : d.mul(reset, before.h), 2, 3);
        if (linear) sums = d.mul(reset, d.with_bias(sums, 2, 3));
        const ValueId fresh = d.activate(1, d.add(sums, d.gates(x, 2, 3)));
        return Direction::State{d.add(fresh, d.mul(update, d.sub(before.h, fresh))), no_value};
      },
      !linear);
}

/// Gates in the order input, output, forget, cell.
void lstm(Context& c) {
  if (c.has(7)) c.fail("peepholes are the host's");
  if (c.integer("input_forget", 0) != 0) c.fail("coupled gates are the host's");
  recurrent(
      c, 4, {"Sigmoid", "Tanh", "Tanh"},
      [](Direction& d, ValueId x, Direction::State before) {
        const ValueId sums = d.add(d.recurrence(before.h, 0, 4), x);
        const ValueId three = d.activate(0, d.gates(sums, 0, 3));
        const ValueId kept = d.mul(d.gates(three, 2, 3), before.c);
        const ValueId taken = d.mul(d.gates(three, 0, 1), d.activate(1, d.gates(sums, 3, 4)));
        const ValueId cell = d.add(kept, taken);
        return Direction::State{d.mul(d.gates(three, 1, 2), d.activate(2, cell)), cell};
      },
      true);
}

}  // namespace

void add_recurrent(Conversions& table) {
  table["RNN"] = rnn;
  table["GRU"] = gru;
  table["LSTM"] = lstm;
}

}  // namespace steppe::graph
