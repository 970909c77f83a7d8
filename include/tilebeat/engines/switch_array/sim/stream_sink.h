#pragma once

#include "tilebeat/engines/switch_array/sim/write_queues.h"
#include "tilebeat/observe/ledger.h"
#include "tilebeat/units/messages.h"

#include <algorithm>

namespace tilebeat {

/// Takes the data of a stream message beat by beat: `take_beat(bytes, count, ready)` puts the words of one
/// bus beat into `queues`. Fills in when the beats were taken and written, and books the sink's clocks: busy
/// for a beat, `bank_write` while one waits for a queue. What it waits for afterwards the channel says in the
/// clock after the last beat.
template <class TakeBeat>
void take_stream(StreamMessage& message, WriteQueues& queues, CycleLedger& ledger, Cycle now,
                 int bytes_per_clock, TakeBeat take_beat) {
  Cycle ready = std::max(now, queues.next_beat());
  ledger.settle(ready);
  message.blocked = 0;
  for (int at = 0; at < message.bytes; at += bytes_per_clock) {
    take_beat(message.data + at, std::min(bytes_per_clock, message.bytes - at), ready);
    const Cycle blocked = queues.next_beat() - 1 - ready;
    message.blocked += blocked;
    ledger.spend(Activity::kBankWrite, blocked);
    ledger.spend(Activity::kBusy, 1);
    ready = queues.next_beat();
  }
  message.accepted = queues.next_beat();
  message.written = queues.drained();
}

}  // namespace tilebeat
