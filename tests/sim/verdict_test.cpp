// SPDX-License-Identifier: Apache-2.0
#include "sim/report/verdict.h"

#include <doctest/doctest.h>

#include "models/base/error.h"

using namespace steppe;
using sim::compare;

TEST_CASE("equal arrays pass, the first that differs is named") {
  const npy::Array expected{.shape = {2, 3}, .reals = {1, 2, 3, 4, 5, 6}};
  CHECK(compare("y", expected, expected).pass);
  npy::Array got = expected;
  got.reals[4] = 5.5F;
  got.reals[5] = 7;
  const sim::Verdict verdict = compare("y", expected, got);
  CHECK(!verdict.pass);
  CHECK(verdict.detail == "2 of 6 elements differ, the first at [1,1]: expected 5, got 5.5");
}

TEST_CASE("the comparison is one of bits and shapes") {
  CHECK(!compare("y", {.shape = {1}, .reals = {0.0F}}, {.shape = {1}, .reals = {-0.0F}}).pass);
  CHECK(!compare("y", {.shape = {2, 1}, .reals = {1, 2}}, {.shape = {1, 2}, .reals = {1, 2}}).pass);
}

TEST_CASE("accuracy counts the samples whose largest output is at the label") {
  const npy::Array outputs{.shape = {4, 3}, .reals = {1, 2, 0, 5, 1, 1, 0, 0, 9, 3, 2, 1}};
  const npy::Array labels{
      .type = npy::Type::int64, .shape = {4}, .integers = {1, 0, 2, 1}};  // the last is wrong
  CHECK(sim::top1_accuracy(outputs, labels, "labels.npy") == 0.75);
  const npy::Array few{.type = npy::Type::int64, .shape = {3}, .integers = {1, 0, 2}};
  CHECK_THROWS_AS(sim::top1_accuracy(outputs, few, "labels.npy"), ConfigError);
}
