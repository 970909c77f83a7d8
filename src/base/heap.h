#pragma once

namespace tilebeat {

/// Reserves the first GiB of the heap and asks the system to back it with huge pages: weights, DRAM and the
/// planner's graphs are hundreds of MB, whose page faults and address translations otherwise take up to a
/// third of a run. Takes no memory by itself. Where the system refuses, the heap stays as it is. Call it
/// before anything large is allocated.
void put_heap_in_huge_pages();

}  // namespace tilebeat
