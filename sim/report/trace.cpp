// SPDX-License-Identifier: Apache-2.0
#include "sim/report/trace.h"

#include <protozero/pbf_writer.hpp>

namespace steppe::sim {
namespace {

// Field numbers of perfetto/trace: trace.proto, trace_packet.proto, track_descriptor.proto,
// track_event.proto.
constexpr protozero::pbf_tag_type trace_packet = 1;
constexpr protozero::pbf_tag_type packet_timestamp = 8;
constexpr protozero::pbf_tag_type packet_sequence = 10;
constexpr protozero::pbf_tag_type packet_track_event = 11;
constexpr protozero::pbf_tag_type packet_track_descriptor = 60;
constexpr protozero::pbf_tag_type descriptor_uuid = 1;
constexpr protozero::pbf_tag_type descriptor_name = 2;
constexpr protozero::pbf_tag_type event_type = 9;
constexpr protozero::pbf_tag_type event_track_uuid = 11;
constexpr protozero::pbf_tag_type event_name = 23;
constexpr int slice_begin = 1;
constexpr int slice_end = 2;
constexpr std::uint32_t sequence = 1;

}  // namespace

Timeline::Track PerfettoTrace::add_track(const std::string& path) {
  const Track track = ++tracks_;
  protozero::pbf_writer trace(bytes_);
  protozero::pbf_writer packet(trace, trace_packet);
  packet.add_uint32(packet_sequence, sequence);
  protozero::pbf_writer descriptor(packet, packet_track_descriptor);
  descriptor.add_uint64(descriptor_uuid, track);
  descriptor.add_string(descriptor_name, path);
  return track;
}

void PerfettoTrace::slice(Track track, std::string_view name, std::uint64_t begin_ps,
                          std::uint64_t end_ps) {
  event(track, slice_begin, begin_ps, name);
  event(track, slice_end, end_ps, {});
}

void PerfettoTrace::event(Track track, int type, std::uint64_t ps, std::string_view name) {
  constexpr std::uint64_t ps_per_ns = 1000;
  protozero::pbf_writer trace(bytes_);
  protozero::pbf_writer packet(trace, trace_packet);
  packet.add_uint64(packet_timestamp, ps / ps_per_ns);
  packet.add_uint32(packet_sequence, sequence);
  protozero::pbf_writer event(packet, packet_track_event);
  event.add_enum(event_type, type);
  event.add_uint64(event_track_uuid, track);
  if (!name.empty()) event.add_string(event_name, name.data(), name.size());
}

}  // namespace steppe::sim
