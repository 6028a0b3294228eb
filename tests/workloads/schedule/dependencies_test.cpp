// SPDX-License-Identifier: Apache-2.0
#include "workloads/schedule/dependencies.h"

#include <doctest/doctest.h>

using namespace steppe::schedule;
using enum steppe::isa::QueueKind;

namespace {

constexpr std::size_t index(steppe::isa::QueueKind kind) { return static_cast<std::size_t>(kind); }

}  // namespace

TEST_CASE("who reads waits for who wrote, once") {
  Dependencies order;
  order.add(load, 3, {}, {{0, 100}});
  const auto first = order.add(tensor, 0, {{50, 60}}, {{200, 300}});
  CHECK(first[index(load)].exists);
  CHECK(first[index(load)].number == 3);
  CHECK(!first[index(store)].exists);
  const auto again = order.add(tensor, 1, {{60, 70}}, {{300, 400}});
  CHECK(!again[index(load)].exists);  // the queue has waited for it already
  const auto other = order.add(vector, 0, {{0, 1}}, {{500, 600}});
  CHECK(other[index(load)].number == 3);
}

TEST_CASE("what does not touch is not ordered; readers are not among themselves") {
  Dependencies order;
  order.add(load, 0, {}, {{0, 100}});
  const auto beside = order.add(tensor, 0, {{100, 200}}, {});
  CHECK(!beside[index(load)].exists);
  order.add(vector, 0, {{0, 10}}, {});
  const auto reader = order.add(store, 0, {{0, 10}}, {});
  CHECK(reader[index(load)].exists);
  CHECK(!reader[index(vector)].exists);
}

TEST_CASE("who writes waits for who read and who wrote") {
  Dependencies order;
  order.add(tensor, 4, {}, {{0, 10}});
  order.add(vector, 2, {{0, 10}}, {{20, 30}});
  const auto writer = order.add(load, 0, {}, {{5, 15}});
  CHECK(writer[index(tensor)].number == 4);
  CHECK(writer[index(vector)].number == 2);
}

TEST_CASE("a write that covers older accesses stands for them") {
  Dependencies order;
  order.add(tensor, 0, {}, {{0, 10}});
  order.add(vector, 0, {{0, 10}}, {{0, 10}});  // waits for the tensor queue
  const auto reader = order.add(store, 0, {{0, 10}}, {});
  CHECK(reader[index(vector)].exists);
  CHECK(!reader[index(tensor)].exists);  // through the vector queue
}

TEST_CASE("the latest of a queue's operations counts") {
  Dependencies order;
  order.add(tensor, 1, {}, {{0, 10}});
  order.add(tensor, 2, {}, {{10, 20}});
  CHECK(order.add(vector, 0, {{0, 20}}, {})[index(tensor)].number == 2);
}

TEST_CASE("everything behind a fence waits for it") {
  Dependencies order;
  order.add(tensor, 0, {}, {{0, 10}});
  order.fence(store, 7);
  const auto far = order.add(vector, 0, {{1000, 1001}}, {});
  CHECK(far[index(store)].number == 7);
  CHECK(!far[index(tensor)].exists);
}
