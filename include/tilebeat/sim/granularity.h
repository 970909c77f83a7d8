#pragma once

namespace tilebeat {

/// How much is simulated in one step (SPEC CY-3): every beat, or a chunk at a time. Outputs, cycles and
/// statistics agree.
enum class Granularity { kClock, kTile };

}  // namespace tilebeat
