#pragma once

#include "base/types.h"

#include <cstdint>
#include <string_view>

namespace tilebeat {

/// The activity of a module in a cycle (SPEC CY-2). Every cycle of every module has exactly one of these; all
/// but `kBusy` are stalls, named after the cause of the wait when the wait begins.
enum class Activity : std::uint8_t {
  kBusy,          ///< useful work: a beat, a bus beat, a DRAM command or data beat
  kBankConflict,  ///< further cycles of a beat whose lanes read one bank more than once
  kOutputDrain,   ///< results of an earlier operation cycle or tile still leave the array
  kRoll,  ///< operands move between registers: blocks are exchanged, corrected, or wrap through a buffer
  kPipelineFill,      ///< the first stages of a chunk, before its first MAC
  kInputLoad,         ///< the operands of the next chunk or step are not in the engine's buffers yet
  kWeightLoad,        ///< the kernels of the next chunk or beat are not in the engine's buffers yet
  kInputRelease,      ///< a loader waits for a copy of the input banks, or a line for the first buffers
  kWeightRelease,     ///< a loader waits for a region of the parameter buffer or of the second buffers
  kOutputSpace,       ///< no half of the output buffer is free
  kStoreQueue,        ///< the store that frees the buffer for results waits behind other copies
  kOutputReady,       ///< results are waited for that are not complete yet
  kMapLoad,           ///< the tile of a map is not in NRAM yet
  kMapRelease,        ///< no buffer for a tile is free in NRAM
  kKernelLoad,        ///< the kernels are not in WRAM yet
  kKernelRelease,     ///< no region for kernels is free in WRAM
  kPeer,              ///< another processor of the cluster has not signalled yet
  kBarrier,           ///< the other participants of a barrier have not arrived
  kLayerEnd,          ///< a fence holds back what follows until the layer is complete
  kQueueFull,         ///< the decoder waits for a place in the queue of a unit
  kInstructionFetch,  ///< the next instruction has not arrived
  kHost,              ///< no program is running
  kUnused,            ///< the plan has no program for this processor
  kNoWork,            ///< the running program has nothing for this unit now
  kBusGrant,          ///< a request waits for the interconnect
  kBusLatency,        ///< a request or its answer is on its way through an interconnect
  kTargetQueue,       ///< the memory's queue of requests is full
  kMemory,            ///< a memory is waited for; `CycleLedger::explain` puts the blocking constraint here
  kMemoryQueue,       ///< the memory serves other requests first
  kMemoryPort,        ///< the words that a scratchpad's port carries in a cycle are other requests'
  kLineLoad,          ///< the next line has not been read from its memory yet
  kLanding,           ///< a DMA channel waits for space in its landing buffer
  kStaging,           ///< a write waits until its data has been read from where it comes from
  kBankWrite,         ///< a bus beat waits for a bank's write queue
  kOutstanding,       ///< the limit of outstanding transactions is reached
  kDataLatency,       ///< a memory's access is under way: of a DRAM, its commands are issued (tCL, tCWL)
  kRowMiss,           ///< a row of the DRAM is opened or closed (tRCD, tRP, tRAS, tRTP)
  kWriteRecovery,     ///< a row of the DRAM that was written cannot be closed yet (tWR)
  kActivateWindow,    ///< rows of the DRAM were opened too recently (tRRD, tFAW)
  kBankGroup,         ///< the bank group of the DRAM was accessed too recently (tCCD_L)
  kReadToWrite,       ///< the DRAM's data bus turns from reads to writes
  kWriteToRead,       ///< the DRAM's data bus turns from writes to reads (tWTR)
  kPartialWrite,      ///< a burst that is written in part is read first, for its ECC
  kRefresh,           ///< the DRAM is refreshing
  kWriteQueue,        ///< results wait for a place in the queue of write requests
  kTableLoad,         ///< tables of addresses are not in the engine's table cache yet
  kAddress,           ///< the addresses of a beat are not known yet
  kSetupWait,         ///< registers of a convolution are still used by results of the previous one
  kDispatch,          ///< the next instruction is on its way from the command processor to the unit
  kDecode,            ///< weights of four bits are being decoded
  kCount
};
constexpr int kActivityCount = to_int(Activity::kCount);

/// The name that reports, traces and timelines show, for example `bank_conflict`.
std::string_view activity_name(Activity activity);
/// One sentence for the documentation.
std::string_view activity_meaning(Activity activity);

}  // namespace tilebeat
