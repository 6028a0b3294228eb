// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <flatbuffers/flatbuffers.h>

#include <cstring>
#include <string>
#include <vector>

/// Fields of a verified FlatBuffer, which may be absent.
namespace steppe::wire {

inline std::string text(const flatbuffers::String* string) {
  return string == nullptr ? std::string{} : string->str();
}

/// Copied as bytes: the verifier does not see to the alignment of a vector's elements.
template <typename T>
std::vector<T> numbers(const flatbuffers::Vector<T>* vector) {
  if (vector == nullptr || vector->size() == 0) return {};
  std::vector<T> result(vector->size());
  std::memcpy(result.data(), vector->Data(), result.size() * sizeof(T));
  return result;
}

/// Calls `visit(element, index)` for each table of a vector.
template <typename T>
void for_each(const flatbuffers::Vector<flatbuffers::Offset<T>>* vector, const auto& visit) {
  for (flatbuffers::uoffset_t i = 0; vector != nullptr && i < vector->size(); ++i) {
    visit(*vector->Get(i), i);
  }
}

}  // namespace steppe::wire
