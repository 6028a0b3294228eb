// SPDX-License-Identifier: Apache-2.0
#include "models/queue/stream_fetcher.h"

#include <algorithm>

#include "models/base/error.h"
#include "models/fabric/transport.h"

namespace steppe {

StreamFetcher::StreamFetcher(const Scope& scope)
    : port("fetch"),
      chunk_bytes_(scope, "fetch_bytes", 512, "B", "bytes fetched at a time", {128, 65536}),
      prefetch_bytes_(scope, "prefetch_bytes", 2048, "B", "bytes fetched ahead", {256, 1 << 20}) {
  if (prefetch_bytes_ < chunk_bytes_) {
    throw ConfigError("{}.prefetch_bytes: {} B are less than fetch_bytes, {} B", scope.path(),
                      prefetch_bytes_.get(), chunk_bytes_.get());
  }
}

void StreamFetcher::begin(std::uint64_t address, Bytes bytes) {
  address_ = address;
  total_ = bytes;
  buffer_.clear();
  chunks_.clear();
}

bool StreamFetcher::prefetch(std::uint64_t offset) {
  const std::uint64_t wanted = std::min<std::uint64_t>(total_, offset + prefetch_bytes_);
  while (buffer_.size() < wanted) {
    const std::uint64_t from = buffer_.size();
    const Bytes some = std::min<Bytes>(chunk_bytes_, total_ - from);
    buffer_.resize(from + some);
    sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
    if (!port.read(address_ + from, buffer_.data() + from, some, delay)) {
      buffer_.resize(from);
      return false;
    }
    chunks_.push_back({from + some, now_ps() + to_ps(delay)});
  }
  return true;
}

std::uint64_t StreamFetcher::ready_at(std::uint64_t end) const {
  const auto chunk = std::ranges::lower_bound(chunks_, end, {}, &Chunk::end);
  return chunk == chunks_.end() ? 0 : chunk->ready_ps;
}

std::span<const std::uint8_t> StreamFetcher::bytes(std::uint64_t offset) const {
  return std::span(buffer_).subspan(std::min<std::uint64_t>(offset, buffer_.size()));
}

}  // namespace steppe
