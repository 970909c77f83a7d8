// The main of every test program. SystemC warnings and errors inside a test make it fail.
#include <gtest/gtest.h>

// libsystemc asks for an sc_main, which a test program never calls. Weak, so that a program may bring its
// own.
extern "C" __attribute__((weak)) int sc_main(int /*argc*/, char* /*argv*/[]) {
  return 1;
}

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
