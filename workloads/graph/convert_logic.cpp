// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "workloads/graph/context.h"

/// Comparisons, booleans and choices by them.
namespace steppe::graph {
namespace {

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
    table[op] = [op](Context& c) { c.give(c.b.add(op, {c.in(0), c.in(1)})); };
  }
  table["Greater"] = [](Context& c) { c.give(c.b.add("Less", {c.in(1), c.in(0)})); };
  table["GreaterOrEqual"] = [](Context& c) { c.give(c.b.add("LessOrEqual", {c.in(1), c.in(0)})); };
  table["Not"] = [](Context& c) { c.give(c.b.add("Not", {c.in(0)})); };
  table["IsNaN"] = [](Context& c) {
    c.give(c.b.add("Not", {c.b.add("Equal", {c.in(0), c.in(0)})}));
  };
  table["IsInf"] = is_infinite;
  table["Where"] = [](Context& c) { c.give(c.b.add("Where", {c.in(0), c.in(1), c.in(2)})); };
}

}  // namespace steppe::graph
