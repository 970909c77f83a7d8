#pragma once

#include "base/activity.h"
#include "base/types.h"
#include "observe/activity_log.h"

#include <cstdint>
#include <memory>
#include <vector>

#include <tlm>

namespace tilebeat {

/// The fields of a burst beyond the generic payload (SPEC HI-7). The interconnect fills them in, a target
/// adds to `trail`; an initiator only reads them.
struct BurstExtension : tlm::tlm_extension<BurstExtension> {
  PortId initiator;                          ///< port of the interconnect that the burst came in by
  Picoseconds issued_at = 0;                 ///< time of the initiator's BEGIN_REQ
  std::uint64_t id = 0;                      ///< number of the burst at its port, from 0
  int beats = 0;                             ///< bus beats of its data
  Activity waits_for = Activity::kBusGrant;  ///< the cause that keeps the request from being granted
  /// NPU cycle in which the first beat of a read reached the initiator (the rest follow one a cycle, the last
  /// in the cycle of BEGIN_RESP); for a write, the cycle of its response.
  Cycle first_beat = 0;
  Cycle at_target = 0;  ///< when the request reached its target
  WaitTrail trail;      ///< NPU clocks, up to the answer

  tlm::tlm_extension_base* clone() const override { return new BurstExtension(*this); }
  void copy_from(const tlm::tlm_extension_base& other) override {
    *this = static_cast<const BurstExtension&>(other);
  }
};

/// Adds to the wait trail that the burst has waited for `cause` since the end of the previous wait, up to NPU
/// cycle `until`. Ignores payloads without extension, as only bursts of this fabric have a trail.
inline void note_wait(const tlm::tlm_generic_payload& burst, Cycle until, Activity cause) {
  if (auto* extension = burst.get_extension<BurstExtension>()) extension->trail.add(until, cause);
}

/// From a target to the initiator of a request without END_REQ: `BurstExtension::waits_for` has changed. Sent
/// in phase kGrant; only statistics depend on it, so an initiator may ignore it.
DECLARE_EXTENDED_PHASE(kStillWaiting);

/// Bursts of one initiator: payloads with their extension, used again and again, so that a burst costs no
/// allocation once the pool has grown to the number of bursts under way. Outlives the simulation run.
class BurstPool : public tlm::tlm_mm_interface {
 public:
  /// A burst over the caller's `data`, with one reference held by the caller and every attribute set;
  /// `release()` it when its response has been dealt with.
  tlm::tlm_generic_payload& acquire(tlm::tlm_command command, std::uint64_t address, std::uint8_t* data,
                                    int bytes);

  /// The extension of a burst. Throws SimulationError when it has none.
  static BurstExtension& extension(const tlm::tlm_generic_payload& burst);

  /// Payloads made so far.
  std::size_t size() const { return all_.size(); }
  void free(tlm::tlm_generic_payload* burst) override { unused_.push_back(burst); }

 private:
  std::vector<std::unique_ptr<tlm::tlm_generic_payload>> all_;
  std::vector<tlm::tlm_generic_payload*> unused_;
};

}  // namespace tilebeat
