#pragma once

#include "tilebeat/base/overloaded.h"
#include "tilebeat/engines/switch_array/write_queues.h"
#include "tilebeat/observe/ledger.h"
#include "tilebeat/units/messages.h"

#include <algorithm>

namespace tilebeat {

/// Takes a stream message: `begin(instruction)` when an instruction's data begins, and its data by bus beats,
/// `take_beats(bytes, count, ready)` puts the words of the first beat of `count` bytes into `queues`, or
/// those of several that wait for nothing, and returns how many beats these were. Answers when the beats were
/// taken and written, and books the sink's cycles: busy for a beat, `bank_write` while one waits for a queue.
/// What it waits for afterwards the channel says in the cycle after the last beat.
template <class Begin, class TakeBeats>
void take_stream(StreamMessage& message, WriteQueues& queues, CycleLedger& ledger, Cycle now,
                 int bytes_per_clock, Begin begin, TakeBeats take_beats) {
  const auto take_data = [&](const StreamMessage::Data& data) {
    ledger.explain(data.trail, now);
    Cycle ready = std::max(now, queues.next_beat());
    ledger.settle(ready);
    Cycle all_blocked = 0;
    for (int at = 0; at < data.count;) {
      const int beats = take_beats(data.bytes + at, data.count - at, ready);
      const Cycle blocked = queues.next_beat() - beats - ready;
      all_blocked += blocked;
      ledger.spend(Activity::kBankWrite, blocked);
      ledger.spend(Activity::kBusy, beats);
      at += beats * bytes_per_clock;
      ready = queues.next_beat();
    }
    message.answer = {queues.next_beat(), all_blocked, queues.drained()};
  };
  std::visit(Overloaded{[&](const StreamMessage::Begin& news) { begin(news.instruction); }, take_data,
                        [&](const WaitsFor& news) { ledger.enter(news.activity, now); }},
             message.content);
}

}  // namespace tilebeat
