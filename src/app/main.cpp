#include "app/commands.h"
#include "base/heap.h"

#include <systemc>

int main(int argc, char** argv) {
  tilebeat::put_heap_in_huge_pages();
  return tilebeat::run_command_line(argc, argv);
}

// libsystemc's own main, which this program's main replaces, refers to it.
int sc_main(int, char**) {
  return 0;
}
