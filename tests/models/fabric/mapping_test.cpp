// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <map>
#include <tuple>
#include <vector>

#include "models/fabric/address_mapping.h"

using namespace steppe;

namespace {

using Place = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>;

std::vector<AddressMapping::Piece> pieces(const AddressMapping& mapping, std::uint64_t offset,
                                          Bytes bytes) {
  std::vector<AddressMapping::Piece> all;
  mapping.for_each_piece(offset, bytes, [&](const auto& piece) { all.push_back(piece); });
  return all;
}

/// Channel, bank, row and offset in the row of one byte, by the definition: digits of the stripe.
Place place_of(const std::vector<std::string>& order, const AddressMapping::Shape& shape,
               std::uint64_t rows, bool hash, std::uint64_t byte) {
  std::map<std::string, std::uint64_t> radix{
      {"channel", shape.channels}, {"bank", shape.banks}, {"column", shape.columns}, {"row", rows}};
  std::map<std::string, std::uint64_t> digit;
  std::uint64_t rest = byte / shape.interleave;
  for (auto field = order.rbegin(); field != order.rend(); ++field) {
    digit[*field] = rest % radix[*field];
    rest /= radix[*field];
  }
  if (hash) digit["bank"] ^= digit["row"] % shape.banks;
  return {digit["channel"], digit["bank"], digit["row"],
          digit["column"] * shape.interleave + byte % shape.interleave};
}

}  // namespace

TEST_CASE("mapping: pieces are the bytes of the definition, each once") {
  const AddressMapping::Shape shape{3, 4, 5, 8, 3 * 4 * 5 * 8 * 7};  // 7 rows
  for (const std::vector<std::string>& order :
       std::vector<std::vector<std::string>>{{"row", "bank", "column", "channel"},
                                             {"row", "column", "bank", "channel"},
                                             {"row", "channel", "column", "bank"},
                                             {"channel", "bank", "row", "column"},
                                             {"bank", "row", "channel", "column"},
                                             {"row", "column", "channel", "bank"}}) {
    for (const bool hash : {false, true}) {
      const std::string text = order[0] + ":" + order[1] + ":" + order[2] + ":" + order[3];
      const AddressMapping mapping(text, hash, shape, "test");
      REQUIRE(mapping.rows() == 7);
      for (const auto& [offset, bytes] : std::vector<std::pair<std::uint64_t, Bytes>>{
               {0, 3360}, {13, 1}, {13, 500}, {100, 27}, {8, 16}, {1601, 1700}, {3359, 1}}) {
        std::map<Place, int> expected;
        for (std::uint64_t byte = offset; byte < offset + bytes; ++byte) {
          ++expected[place_of(order, shape, 7, hash, byte)];
        }
        std::map<Place, int> got;
        for (const auto& piece : pieces(mapping, offset, bytes)) {
          for (std::uint32_t i = 0; i < piece.bytes; ++i) {
            ++got[{piece.channel, piece.bank, piece.row, piece.offset + i}];
          }
        }
        CHECK_MESSAGE(got == expected, text, " ", offset, " ", bytes);
      }
    }
  }
}

TEST_CASE("mapping: as many pieces as rows touched, however many stripes") {
  // 10 channels, rows of 4 stripes of 512 B: 80 KiB of all banks' first rows are 8 x 10 rows.
  const AddressMapping mapping("row:bank:column:channel", false, {10, 8, 4, 512, 20'000'000'000},
                               "test");
  CHECK(pieces(mapping, 0, 4096).size() == 8);
  CHECK(pieces(mapping, 0, 20480).size() == 10);
  CHECK(pieces(mapping, 0, 8 * 20480).size() == 80);
}

TEST_CASE("mapping: the bank hash spreads strides of a row over banks") {
  // The same bank in consecutive rows: without hash one bank, with it all eight.
  const AddressMapping::Shape shape{1, 8, 4, 512, 1 << 24};
  for (const bool hash : {false, true}) {
    const AddressMapping mapping("row:bank:column:channel", hash, shape, "test");
    std::map<std::uint32_t, int> banks;
    for (std::uint64_t row = 0; row < 16; ++row) {
      ++banks[pieces(mapping, row * 8 * 2048, 64).front().bank];
    }
    CHECK(banks.size() == (hash ? 8 : 1));
  }
}
