// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "workloads/graph/context.h"

/// Comparisons, booleans and choices by them.
namespace steppe::graph {
namespace {

void compare(Context& c, const char* op, bool swapped) {
  c.give(swapped ? c.b.add(op, {c.in(1), c.in(0)}) : c.b.add(op, {c.in(0), c.in(1)}));
}

ValueId negated(Builder& b, ValueId x) { return b.add("Not", {x}); }

void is_infinite(Context& c) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const bool above = c.integer("detect_positive", 1) != 0;
  const bool below = c.integer("detect_negative", 1) != 0;
  if (!above && !below) c.fail("it looks for no infinity");
  const ValueId x = above && below ? c.b.add("Abs", {c.in(0)}) : c.in(0);
  c.give(c.b.add("Equal", {x, c.b.scalar(above ? infinity : -infinity)}));
}

}  // namespace

void add_logic(Conversions& table) {
  for (const char* op : {"Equal", "Less", "LessOrEqual", "And", "Or", "Xor"}) {
    table[op] = [op](Context& c) { compare(c, op, false); };
  }
  table["Greater"] = [](Context& c) { compare(c, "Less", true); };
  table["GreaterOrEqual"] = [](Context& c) { compare(c, "LessOrEqual", true); };
  table["Not"] = [](Context& c) { c.give(negated(c.b, c.in(0))); };
  table["IsNaN"] = [](Context& c) { c.give(negated(c.b, c.b.add("Equal", {c.in(0), c.in(0)}))); };
  table["IsInf"] = is_infinite;
  table["Where"] = [](Context& c) { c.give(c.b.add("Where", {c.in(0), c.in(1), c.in(2)})); };
}

}  // namespace steppe::graph
