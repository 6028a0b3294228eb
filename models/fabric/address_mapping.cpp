// SPDX-License-Identifier: Apache-2.0
#include "models/fabric/address_mapping.h"

#include <algorithm>
#include <bit>
#include <sstream>

#include "models/base/error.h"

namespace steppe {

AddressMapping::AddressMapping(const std::string& order, bool bank_hash, const Shape& shape,
                               const std::string& where)
    : shape_(shape),
      rows_(ceil_div<std::uint64_t>(shape.size, std::uint64_t{shape.channels} * shape.banks *
                                                    shape.columns * shape.interleave)) {
  if (bank_hash && !std::has_single_bit(shape.banks)) {
    throw ConfigError("{}.bank_hash: {} banks are not a power of two; hash none, or change them",
                      where, shape.banks);
  }
  if (rows_ > ~std::uint32_t{0}) {
    throw ConfigError("{}: {} rows a bank; take larger rows or more banks", where, rows_);
  }
  if (bank_hash) bank_mask_ = shape.banks - 1;
  parse(order, where);
  number_units();
}

std::uint32_t AddressMapping::radix(Field field) const {
  return field == Field::channel ? shape_.channels : shape_.banks;
}

void AddressMapping::parse(const std::string& order, const std::string& where) {
  std::vector<std::string> names;
  std::stringstream text(order);
  for (std::string name; std::getline(text, name, ':');) names.push_back(name);
  const std::vector<std::string> known{"row", "bank", "column", "channel"};
  if (!std::ranges::is_permutation(names, known)) {
    throw ConfigError(
        "{}.mapping: '{}' does not name row, bank, column and channel once each, as "
        "in row:bank:column:channel",
        where, order);
  }
  bool over_column = false;
  for (auto name = names.rbegin(); name != names.rend(); ++name) {
    const auto field = static_cast<Field>(std::ranges::find(known, *name) - known.begin());
    if (field == Field::column) {
      over_column = true;
    } else if (field == Field::row && !over_column) {
      throw ConfigError("{}.mapping: '{}': the row must come before the column", where, order);
    } else {
      (over_column ? above_ : below_).push_back(field);
    }
  }
}

void AddressMapping::number_units() {
  std::uint64_t count = 1;
  for (const Field field : below_) count *= radix(field);
  for (std::uint64_t unit = 0; unit < count; ++unit) {
    Place place;
    std::uint64_t rest = unit;
    for (const Field field : below_) {
      (field == Field::bank ? place.bank : place.channel) =
          static_cast<std::uint32_t>(rest % radix(field));
      rest /= radix(field);
    }
    units_.push_back(place);
  }
}

}  // namespace steppe
