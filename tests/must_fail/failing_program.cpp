// A program like every test program, with a test that fails: CTest expects a failure of it
// (tests/CMakeLists.txt).
#include <systemc>

#include <gtest/gtest.h>

int sc_main(int /*argc*/, char* /*argv*/[]) {
  return 0;
}

TEST(Failing, fails) {
  EXPECT_EQ(sc_core::sc_delta_count() + 1, sc_core::sc_delta_count()) << "meant to fail";
}
