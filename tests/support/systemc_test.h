#pragma once

// What the tests of SystemC modules share: strict reports, runs in child processes, a scripted initiator and
// target.

#include "fabric/burst.h"
#include "observe/statistics.h"
#include "sim/context.h"

#include <algorithm>
#include <array>
#include <deque>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <systemc>
#include <tlm>
#include <tlm_utils/simple_initiator_socket.h>
#include <tlm_utils/simple_target_socket.h>

#include <sys/wait.h>
#include <unistd.h>

namespace tilebeat::testing {

/// From here on a SystemC warning or error is an exception, which fails the test.
inline void strict_systemc() {
  sc_core::sc_report_handler::set_actions(sc_core::SC_WARNING, sc_core::SC_THROW);
  sc_core::sc_report_handler::set_actions(sc_core::SC_ERROR, sc_core::SC_THROW);
}

/// Runs `body` in a child process, because SystemC elaborates once a process; returns the text that it
/// returns. An exception in the child is one here.
inline std::string in_child(const std::function<std::string()>& body) {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) throw std::runtime_error("pipe failed");
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    std::string text;
    int status = 0;
    try {
      text = body();
    } catch (const std::exception& error) {
      text = error.what();
      status = 1;
    }
    std::size_t sent = 0;
    while (sent < text.size()) {
      const ssize_t part = write(ends[1], text.data() + sent, text.size() - sent);
      if (part <= 0) _exit(2);
      sent += static_cast<std::size_t>(part);
    }
    _exit(status);
  }
  close(ends[1]);
  std::string text;
  std::array<char, 4096> buffer{};
  for (ssize_t part = 0; (part = read(ends[0], buffer.data(), buffer.size())) > 0;) {
    text.append(buffer.data(), static_cast<std::size_t>(part));
  }
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status))
    throw std::runtime_error("child ended by signal " + std::to_string(WTERMSIG(status)));
  if (WEXITSTATUS(status) != 0) throw std::runtime_error("child failed: " + text);
  return text;
}

/// One burst of a script and what became of it.
struct Access {
  Cycle at = 0;  ///< the cycle to issue it in, or the first possible one after
  bool write = false;
  std::uint64_t address = 0;
  std::vector<std::uint8_t> data;  ///< written, or room for what is read
  Cycle issued = -1;
  Cycle granted = -1;  ///< cycle of END_REQ
  Cycle first_beat = -1;
  Cycle responded = -1;  ///< cycle of BEGIN_RESP
  Picoseconds responded_ps = -1;
  tlm::tlm_response_status status = tlm::TLM_INCOMPLETE_RESPONSE;
  std::vector<Activity> waited_for = {};  ///< what it was told, one after the other, while it was not granted
};

/// Issues the bursts of a script one after the other, each as early as its cycle and the protocol allow. A
/// method, not a thread: the address sanitizer takes an exception for an error once the stack was switched.
class ScriptedInitiator : public sc_core::sc_module {
 public:
  tlm_utils::simple_initiator_socket<ScriptedInitiator> socket;
  std::deque<Access> script;
  BurstPool pool;

  ScriptedInitiator(const sc_core::sc_module_name& name, const SimContext& context)
      : sc_module(name), socket("socket"), context_(context) {
    socket.register_nb_transport_bw(this, &ScriptedInitiator::answer);
    SC_HAS_PROCESS(ScriptedInitiator);
    SC_METHOD(run);
  }
  Access& read(Cycle at, std::uint64_t address, std::size_t bytes) {
    script.push_back({at, false, address, std::vector<std::uint8_t>(bytes)});
    return script.back();
  }
  Access& write(Cycle at, std::uint64_t address, std::vector<std::uint8_t> data) {
    script.push_back({at, true, address, std::move(data)});
    return script.back();
  }
  int responses() const { return responses_; }

 private:
  void run() {
    if (next_ == script.size()) return;
    Access& access = script[next_];
    const Cycle earliest = context_.clock.round_up(now_ps());
    const Picoseconds start = context_.clock.at(std::max(access.at, earliest));
    if (start > now_ps()) {
      next_trigger(to_sc_time(start - now_ps()));
      return;
    }
    if (gate_.hold(context_.jitter)) return;
    ++next_;
    send(access);
  }
  void send(Access& access) {
    access.issued = context_.clock.cycle_of(now_ps());
    tlm::tlm_generic_payload& burst =
        pool.acquire(access.write ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND, access.address,
                     access.data.data(), static_cast<int>(access.data.size()));
    under_way_[&burst] = &access;
    tlm::tlm_phase phase = tlm::BEGIN_REQ;
    sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
    const auto status = socket->nb_transport_fw(burst, phase, delay);
    if (status == tlm::TLM_COMPLETED) {
      finish(burst);
      next_trigger(to_sc_time(1));  // the next cycle is the earliest for the next burst
    } else if (status == tlm::TLM_UPDATED) {
      access.granted = context_.clock.cycle_of(now_ps());
      next_trigger(to_sc_time(1));
    } else {
      next_trigger(granted_);
    }
  }
  void finish(tlm::tlm_generic_payload& burst) {
    Access& access = *under_way_.at(&burst);
    access.status = burst.get_response_status();
    access.first_beat = BurstPool::extension(burst).first_beat;
    access.responded_ps = now_ps();
    access.responded = context_.clock.cycle_of(now_ps());
    under_way_.erase(&burst);
    ++responses_;
    burst.release();
  }
  tlm::tlm_sync_enum answer(tlm::tlm_generic_payload& burst, tlm::tlm_phase& phase, sc_core::sc_time&) {
    if (phase == tlm::END_REQ) {
      under_way_.at(&burst)->granted = context_.clock.cycle_of(now_ps());
      granted_.notify(to_sc_time(1));
      return tlm::TLM_ACCEPTED;
    }
    if (phase == kStillWaiting) {
      under_way_.at(&burst)->waited_for.push_back(BurstPool::extension(burst).waits_for);
      return tlm::TLM_ACCEPTED;
    }
    if (phase != tlm::BEGIN_RESP) return tlm::TLM_ACCEPTED;  // an extended phase: ignorable
    finish(burst);
    return tlm::TLM_COMPLETED;
  }

  SimContext context_;
  std::unordered_map<tlm::tlm_generic_payload*, Access*> under_way_;
  sc_core::sc_event granted_;
  MethodGate gate_;
  std::size_t next_ = 0;  // of the script
  int responses_ = 0;
};

/// A target that accepts and answers each request after a fixed number of cycles.
class ScriptedTarget : public sc_core::sc_module {
 public:
  struct Arrival {
    Cycle cycle;
    std::uint64_t address;
  };
  tlm_utils::simple_target_socket<ScriptedTarget> socket;
  int accept_cycles = 0;   ///< cycles from the arrival to END_REQ; 0: in the return value
  int respond_cycles = 1;  ///< cycles from the arrival to BEGIN_RESP; 0: TLM_COMPLETED in the return value
  std::vector<Arrival> arrivals;
  std::map<std::uint64_t, std::uint8_t> bytes;

  ScriptedTarget(const sc_core::sc_module_name& name, const SimContext& context)
      : sc_module(name), socket("socket"), context_(context) {
    socket.register_nb_transport_fw(this, &ScriptedTarget::receive);
    socket.register_transport_dbg(this, &ScriptedTarget::debug);
    SC_HAS_PROCESS(ScriptedTarget);
    SC_METHOD(act);
    sensitive << wake_;
    dont_initialize();
  }

 private:
  struct Action {
    tlm::tlm_generic_payload* burst;
    tlm::tlm_phase phase;
  };
  unsigned debug(tlm::tlm_generic_payload& burst) {
    for (unsigned i = 0; i < burst.get_data_length(); ++i) {
      if (burst.is_write()) {
        bytes[burst.get_address() + i] = burst.get_data_ptr()[i];
      } else {
        burst.get_data_ptr()[i] = bytes[burst.get_address() + i];
      }
    }
    return burst.get_data_length();
  }
  tlm::tlm_sync_enum receive(tlm::tlm_generic_payload& burst, tlm::tlm_phase& phase, sc_core::sc_time&) {
    const Cycle now = context_.clock.cycle_of(now_ps());
    arrivals.push_back({now, burst.get_address()});
    if (respond_cycles == 0) {
      respond(burst);
      return tlm::TLM_COMPLETED;
    }
    actions_.emplace(context_.clock.at(now + respond_cycles), Action{&burst, tlm::BEGIN_RESP});
    if (accept_cycles > 0)
      actions_.emplace(context_.clock.at(now + accept_cycles), Action{&burst, tlm::END_REQ});
    arm();
    if (accept_cycles > 0) return tlm::TLM_ACCEPTED;
    phase = tlm::END_REQ;
    return tlm::TLM_UPDATED;
  }
  void respond(tlm::tlm_generic_payload& burst) {
    debug(burst);
    burst.set_response_status(tlm::TLM_OK_RESPONSE);
  }
  void arm() { wake_.notify(to_sc_time(actions_.begin()->first - now_ps())); }
  void act() {
    if (gate_.hold(context_.jitter)) return;
    while (!actions_.empty() && actions_.begin()->first <= now_ps()) {
      Action action = actions_.begin()->second;
      actions_.erase(actions_.begin());
      if (action.phase == tlm::BEGIN_RESP) respond(*action.burst);
      sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
      socket->nb_transport_bw(*action.burst, action.phase, delay);
    }
    if (!actions_.empty()) arm();
  }

  SimContext context_;
  std::multimap<Picoseconds, Action> actions_;
  sc_core::sc_event wake_;
  MethodGate gate_;
};

/// The cycles of one activity.
inline Cycle cycles_of(const ActivityCycles& cycles, Activity activity) {
  return cycles[static_cast<std::size_t>(activity)];
}
/// The cycles of all activities.
inline Cycle sum_of(const ActivityCycles& cycles) {
  Cycle sum = 0;
  for (const Cycle part : cycles) sum += part;
  return sum;
}

}  // namespace tilebeat::testing
