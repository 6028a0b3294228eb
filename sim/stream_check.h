// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workloads/package/package.h"

namespace steppe::sim {

/// The bytes of a stream within its shard's segments. The package has been read and so verified.
std::span<const std::uint8_t> stream_bytes(const package::Shard& shard,
                                           const package::Stream& stream);

/// "chip 0, cluster 1, tensor"
std::string stream_name(const package::Shard& shard, const package::Stream& stream);

/// Judges the streams of a package: every instruction decodes and belongs to its queue, loops
/// close, the stream ends with `end`, local addresses lie in SRAM, DRAM or registers, tags have
/// debug entries, and over a run each semaphore gets as many tokens as are taken. Throws
/// PackageError naming chip, queue and offset of the first fault.
void check_streams(const package::Package& package);

}  // namespace steppe::sim
