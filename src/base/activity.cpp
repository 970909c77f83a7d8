#include "base/activity.h"

#include "base/types.h"

#include <array>

namespace tilebeat {
namespace {

struct ActivityText {
  std::string_view name;
  std::string_view meaning;
};

constexpr std::array<ActivityText, kActivityCount> kTexts{{
    {"busy", "useful work: a beat, a bus beat, a DRAM data beat"},
    {"bank_conflict", "further cycles of a beat whose lanes read one bank more than once"},
    {"output_drain", "results of an earlier operation cycle or tile still leave the array"},
    {"roll",
     "operands move between registers of the array: blocks are exchanged or corrected, or wrap through a "
     "buffer"},
    {"pipeline_fill", "the first stages of a chunk, before its first MAC"},
    {"input_load", "maps are not in the engine's buffers yet"},
    {"weight_load", "kernels are not in the engine's buffers yet"},
    {"input_release", "no copy of the input banks, no place for a line is free"},
    {"weight_release", "no region of the parameter buffer, no place for a kernel line is free"},
    {"output_space", "no half of the output buffer is free"},
    {"store_queue",
     "no buffer for results is free: the store that frees one waits behind other copies of its DMA engine"},
    {"output_ready", "the results that are waited for are not complete yet"},
    {"map_load", "the tile of a map is not in NRAM yet"},
    {"map_release", "no buffer for a tile is free in NRAM"},
    {"kernel_load", "the kernels are not in WRAM yet"},
    {"kernel_release", "no region for kernels is free in WRAM"},
    {"peer", "another processor of the cluster has not signalled yet"},
    {"barrier", "the other participants of a barrier have not arrived"},
    {"layer_end", "the fence at the end of a layer waits until all of it is stored"},
    {"queue_full", "the decoder waits for a place in the queue of a unit"},
    {"instruction_fetch", "the next instruction has not arrived"},
    {"host", "no program is running"},
    {"unused", "the plan has no program for this processor"},
    {"no_work", "the running program has nothing for this unit now"},
    {"bus_grant", "a request waits for the interconnect"},
    {"bus_latency", "a request or its answer is on its way through an interconnect"},
    {"target_queue", "the memory's queue of requests is full"},
    {"memory", "a memory was waited for when a layer ended, before it could be said what kept it"},
    {"memory_queue", "the memory serves other requests first"},
    {"memory_port", "the words that the memory's port carries in a cycle belong to other requests"},
    {"line_load", "the next line has not been read from its memory yet"},
    {"landing", "no space in the landing buffer of the DMA channel"},
    {"staging", "a write waits until its data has been read from where it comes from"},
    {"bank_write", "a bus beat waits for the write queue of a bank"},
    {"outstanding", "the limit of outstanding transactions is reached"},
    {"data_latency",
     "the memory's access is under way: a DRAM's commands are issued (tCL, tCWL), words are read"},
    {"row_miss", "a row of the DRAM is opened or closed (tRCD, tRP, tRAS, tRTP)"},
    {"write_recovery", "a row of the DRAM that was written cannot be closed yet (tWR)"},
    {"activate_window", "rows of the DRAM were opened too recently (tRRD, tFAW)"},
    {"bank_group", "the bank group of the DRAM was accessed too recently (tCCD_L)"},
    {"read_to_write", "the DRAM's data bus turns from reads to writes"},
    {"write_to_read", "the DRAM's data bus turns from writes to reads (tWTR)"},
    {"partial_write", "a burst of the DRAM that is written in part is read first, for its ECC"},
    {"refresh", "the DRAM is refreshing"},
    {"write_queue", "results wait for a place in the queue of write requests"},
    {"table_load", "tables of addresses are not in the table cache yet"},
    {"address", "the addresses of a beat are not known yet: threads are activated, or a generator computes"},
    {"setup_wait", "new registers of a convolution wait until the results before them have drained"},
    {"dispatch", "the next instruction is on its way to the unit: one a cycle, two in the unit"},
    {"decode", "weights of four bits, whose bytes have arrived, are being decoded"},
}};

}  // namespace

std::string_view activity_name(Activity activity) {
  return nth(kTexts, activity).name;
}
std::string_view activity_meaning(Activity activity) {
  return nth(kTexts, activity).meaning;
}

}  // namespace tilebeat
