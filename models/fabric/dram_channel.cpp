// SPDX-License-Identifier: Apache-2.0
#include "models/fabric/dram_channel.h"

#include <algorithm>
#include <cmath>

namespace steppe {
namespace {

constexpr std::uint64_t never = ~std::uint64_t{0};

}  // namespace

DramCounters::DramCounters(const Scope& scope) {
  scope.stat("row_hits", "", "column accesses to an open row", row_hits);
  scope.stat("row_misses", "", "column accesses that opened a row in a closed bank", row_misses);
  scope.stat("row_conflicts", "", "column accesses that closed another row first", row_conflicts);
  scope.stat("refreshes", "", "refresh commands that accesses met or passed, all channels",
             refreshes);
  scope.stat("turnarounds", "", "changes of a data bus' direction that cost time", turnarounds);
}

DramChannel::DramChannel(const Scope& scope, const std::string& name, const DramTiming& timing,
                         DramCounters& counters, std::uint64_t refresh_phase)
    : timing_(timing),
      counters_(counters),
      bus_(scope, name + ".", Occupancy::Trace::yes),
      banks_(timing.banks),
      refresh_phase_(refresh_phase),
      next_refresh_(refresh_phase),
      // The banks are closed for it, and the first row opened again before data flow.
      refresh_bubble_(timing.rp_all + timing.rfc + timing.rcd),
      depth_ps_(static_cast<std::uint64_t>(timing.depth * timing.access)) {}

std::uint64_t DramChannel::serve(std::uint64_t now, std::uint64_t arrival, const Access& access) {
  const std::uint64_t cas = access.write ? timing_.write : timing_.read;
  auto duration =
      static_cast<std::uint64_t>(std::ceil(static_cast<double>(access.accesses) * timing_.access));
  // When the data bus could take it, and when the controller's queue has taken it in.
  std::uint64_t slot = bus_.first_free(arrival + cas);
  while (refresh_until(now, slot + duration)) slot = bus_.first_free(arrival + cas);
  const std::uint64_t enter =
      slot > depth_ps_ + cas ? std::max(arrival, slot - cas - depth_ps_) : arrival;

  bool hit = false;
  Visit* visit = find(access, {enter, slot, cas, duration}, hit);
  counters_.row_hits += access.accesses - (hit ? 0 : 1);

  const std::uint64_t ready = std::max(arrival, visit->activate + timing_.rcd) + cas;
  const std::uint64_t begin = std::max(ready, slot);
  duration += turnaround(access.write, begin, slot > arrival + cas, access.accesses);
  refresh_until(now, begin + duration);
  const std::uint64_t end = bus_.fill(now, ready, duration, access.bytes).end;
  visit->end = std::max(visit->end, end);
  visit->write = visit->write || access.write;
  visit->closes = next_refresh(access.bank, end);
  last_end_ = std::max(last_end_, end);
  return end;
}

/// The visit that serves the access, a new one where it can join none.
///
/// It joins one whose row is open when its turn comes, or that others waiting in the queue want
/// too, so that the controller serves them together. A new one goes after the visits of its time,
/// and before one reserved for later if it ends early enough.
DramChannel::Visit* DramChannel::find(const Access& access, const Turn& turn, bool& hit) {
  Bank& bank = banks_[access.bank];
  std::uint32_t place = bank.count;
  while (place > 0 && bank.visits[place - 1].activate > turn.slot) --place;
  hit = true;
  for (std::uint32_t i = 0; i + 1 < place; ++i) {
    if (bank.visits[i].row == access.row && bank.visits[i].end > turn.enter) return &bank.visits[i];
  }
  std::uint64_t activate = 0;
  bool conflict = false;
  for (;; ++place) {
    conflict = false;
    activate = std::max(turn.enter, bank.busy_until);
    if (place > 0) {
      Visit& before = bank.visits[place - 1];
      const bool open = before.closes > turn.slot;
      if (before.row == access.row && (open || before.end > turn.enter)) return &before;
      conflict = open;
      if (open) activate = std::max(activate, closed(before)) + timing_.rp;
    }
    activate = limit_activate(after_bank_refresh(access.bank, activate));
    if (place == bank.count) break;
    if (place == 0 && bank.count == Bank::most) continue;
    const std::uint64_t data = std::max(activate + timing_.rcd + turn.cas, turn.slot);
    if (data + turn.duration + timing_.rp <= bank.visits[place].activate) break;
  }
  hit = false;
  ++(conflict ? counters_.row_conflicts : counters_.row_misses);
  note_activate(activate);
  return &insert(bank, place, {access.row, access.write, activate, 0, never});
}

/// The earliest precharge of an open row.
std::uint64_t DramChannel::closed(const Visit& visit) const {
  // Its last column read was a read latency and an access before the end of its data.
  const std::uint64_t read_ago = timing_.read + static_cast<std::uint64_t>(timing_.access);
  const std::uint64_t last_use =
      visit.write ? visit.end + timing_.wr : visit.end - read_ago + timing_.rtp;
  return std::max(last_use, visit.activate + timing_.ras);
}

/// Puts a visit at its place in time; the oldest is forgotten where there are too many.
DramChannel::Visit& DramChannel::insert(Bank& bank, std::uint32_t place, const Visit& visit) {
  const auto begin = bank.visits.begin();
  if (bank.count == Bank::most) {
    --place;  // never the first, see find
    bank.busy_until = closed(bank.visits[0]) + timing_.rp;
    std::move(begin + 1, begin + place + 1, begin);
  } else {
    std::move_backward(begin + place, begin + bank.count, begin + bank.count + 1);
    ++bank.count;
  }
  bank.visits[place] = visit;
  return bank.visits[place];
}

/// The first moment from `time` on that keeps tRRD to every other activate and has fewer than four
/// in the tFAW before it.
std::uint64_t DramChannel::limit_activate(std::uint64_t time) const {
  std::uint32_t before = 0;  // activates up to `time`
  for (; before < activated_ && activates_[before] < time + timing_.rrd; ++before) {
    if (time < activates_[before] + timing_.rrd) time = activates_[before] + timing_.rrd;
    if (before >= 3) time = std::max(time, activates_[before - 3] + timing_.faw);
  }
  return time;
}

/// Keeps the latest activates sorted by time.
void DramChannel::note_activate(std::uint64_t time) {
  if (activated_ == activates_.size()) {
    if (time <= activates_.front()) return;
    std::move(activates_.begin() + 1, activates_.end(), activates_.begin());
    --activated_;
  }
  std::uint32_t at = activated_++;
  for (; at > 0 && activates_[at - 1] > time; --at) activates_[at] = activates_[at - 1];
  activates_[at] = time;
}

/// The bus time that a change of direction costs. Under load the controller gathers accesses of one
/// direction: it turns the bus once a batch.
std::uint64_t DramChannel::turnaround(bool write, std::uint64_t slot, bool waits,
                                      std::uint32_t accesses) {
  const bool turns = write != writing_ && (!waits || in_batch_ >= timing_.batch);
  in_batch_ = turns ? accesses : in_batch_ + accesses;
  if (!turns) return 0;
  writing_ = write;
  const std::uint64_t bubble = write ? timing_.to_write : timing_.to_read;
  if (slot >= last_end_ + bubble) return 0;  // the bus was idle meanwhile
  ++counters_.turnarounds;
  return slot < last_end_ ? bubble : last_end_ + bubble - slot;
}

std::uint64_t DramChannel::phase_of(std::uint32_t bank) const {
  if (timing_.refresh != DramTiming::Refresh::per_bank) return refresh_phase_;
  return refresh_phase_ + timing_.refi * bank / timing_.banks;
}

std::uint64_t DramChannel::next_refresh(std::uint32_t bank, std::uint64_t time) const {
  if (timing_.refresh == DramTiming::Refresh::none) return never;
  const std::uint64_t phase = phase_of(bank);
  if (time < phase) return phase;
  // Mostly the one that the bus waits for, which spares a division.
  if (bank == 0 || timing_.refresh == DramTiming::Refresh::all_bank) {
    if (time < next_refresh_ && time + timing_.refi >= next_refresh_) return next_refresh_;
  }
  return phase + ((time - phase) / timing_.refi + 1) * timing_.refi;
}

std::uint64_t DramChannel::after_bank_refresh(std::uint32_t bank, std::uint64_t time) const {
  if (timing_.refresh != DramTiming::Refresh::per_bank) return time;
  const std::uint64_t phase = phase_of(bank);
  if (time < phase) return time;
  const std::uint64_t into = (time - phase) % timing_.refi;
  return into < timing_.rfc_bank ? time - into + timing_.rfc_bank : time;
}

/// Tells the bus of all refreshes that begin before `time`; whether there were any.
bool DramChannel::refresh_until(std::uint64_t now, std::uint64_t time) {
  if (timing_.refresh == DramTiming::Refresh::none || next_refresh_ >= time) return false;
  const bool all = timing_.refresh == DramTiming::Refresh::all_bank;
  // Those that are over need no place on the bus.
  if (const std::uint64_t over = next_refresh_ + refresh_bubble_; over < now) {
    const std::uint64_t passed = (now - over) / timing_.refi;
    counters_.refreshes += passed * (all ? 1 : timing_.banks);
    next_refresh_ += passed * timing_.refi;
  }
  while (next_refresh_ < time) {
    if (all) bus_.block(now, next_refresh_, refresh_bubble_);
    counters_.refreshes += all ? 1 : timing_.banks;
    next_refresh_ += timing_.refi;
  }
  return true;
}

}  // namespace steppe
