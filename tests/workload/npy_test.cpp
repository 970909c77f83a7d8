#include "workload/npy.h"

#include "../data/temporary_folder.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace tilebeat {
namespace {

using namespace std::string_literals;

/// A .npy file of any version around a header text, without NumPy's padding.
std::string file_of(int version, const std::string& header, const std::string& data) {
  std::string bytes = "\x93NUMPY"s + static_cast<char>(version) + '\0';
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i) bytes += static_cast<char>(header.size() >> (8 * i));
  return bytes + header + data;
}

TEST(Npy, NU_4_writes_what_numpy_writes) {
  const Tensor tensor{{2, 1}, DType::kInt32, {1, 0, 0, 0, 0xfe, 0xff, 0xff, 0xff}};
  std::string header = "{'descr': '<i4', 'fortran_order': False, 'shape': (2, 1), }";
  header += std::string(128 - 10 - header.size() - 1, ' ') + "\n";
  EXPECT_EQ(npy_bytes(tensor), "\x93NUMPY\x01\0"s + '\x76' + '\0' + header + "\x01\0\0\0\xfe\xff\xff\xff"s);
  const std::string vector = npy_bytes(Tensor{{3}, DType::kUint8, {1, 2, 3}});
  EXPECT_NE(vector.find("'shape': (3,), }"), std::string::npos) << "a tuple of one has a comma";
  EXPECT_EQ(vector.size(), 128U + 3U) << "the data starts at a multiple of 64";
}

TEST(Npy, NU_4_reads_all_three_versions_in_any_spelling) {
  const TemporaryFolder folder;
  for (int version = 1; version <= 3; ++version) {
    const std::string path = folder.write(
        "a.npy",
        file_of(version, R"({ "shape" :(2,2) ,"fortran_order": False,"descr":"|i1"})", "\x01\xff\x80\x7f"));
    const Tensor tensor = read_npy(path);
    EXPECT_EQ(tensor.shape, (std::vector<std::int64_t>{2, 2}));
    EXPECT_EQ(tensor.at(0), 1);
    EXPECT_EQ(tensor.at(1), -1);
    EXPECT_EQ(tensor.at(2), -128);
    EXPECT_EQ(tensor.at(3), 127);
  }
}

// cnpy writes '<i1' or '>i1', by the machine; a byte has no order.
TEST(Npy, UI_13_bytes_may_name_a_byte_order) {
  const TemporaryFolder folder;
  for (const char* order : {"<", ">", "=", "|"}) {
    for (const char* type : {"i1", "u1"}) {
      const std::string header =
          std::string("{'descr': '") + order + type + "', 'fortran_order': False, 'shape': (2, 1), }";
      const Tensor tensor = read_npy(folder.write("a.npy", file_of(1, header, "\x02\xff")));
      EXPECT_EQ(tensor.dtype, type[0] == 'i' ? DType::kInt8 : DType::kUint8) << header;
      EXPECT_EQ(tensor.at(0), 2) << header;
      EXPECT_EQ(tensor.at(1), type[0] == 'i' ? -1 : 255) << header;
    }
  }
  const std::string wide = folder.write(
      "w.npy", file_of(1, "{'descr': '>i4', 'fortran_order': False, 'shape': (1,), }", "\x01\x02\x03\x04"));
  EXPECT_NE(refusal([&] { read_npy(wide); }).find("elements of type '>i4' are not allowed"),
            std::string::npos);
}

TEST(Npy, NU_4_a_scalar_has_no_dimensions) {
  const TemporaryFolder folder;
  const Tensor scalar = read_npy(
      folder.write("s.npy", file_of(1, "{'descr': '|u1', 'fortran_order': False, 'shape': (), }\n", "\xc8")));
  EXPECT_TRUE(scalar.shape.empty());
  EXPECT_EQ(scalar.at(0), 200);
}

TEST(Npy, NU_4_a_file_that_cannot_be_written_is_an_error) {
  const TemporaryFolder folder;
  const std::string message = refusal([&] {
    write_npy(folder.path("missing/a.npy"), Tensor{{1}, DType::kInt8, {0}});
  });
  EXPECT_NE(message.find("missing/a.npy: cannot be written"), std::string::npos) << message;
}

RC_GTEST_PROP(Npy, NU_4_written_tensors_read_back_the_same, ()) {
  Tensor tensor;
  tensor.dtype = *rc::gen::element(DType::kInt8, DType::kUint8, DType::kInt32);
  tensor.shape = *rc::gen::resize(
      5, rc::gen::container<std::vector<std::int64_t>>(rc::gen::inRange<std::int64_t>(1, 7)));
  tensor.bytes = *rc::gen::container<std::vector<std::uint8_t>>(
      static_cast<std::size_t>(tensor.elements() * dtype_size(tensor.dtype)),
      rc::gen::arbitrary<std::uint8_t>());
  const TemporaryFolder folder;
  write_npy(folder.path("t.npy"), tensor);
  const Tensor read = read_npy(folder.path("t.npy"));
  RC_ASSERT(read.shape == tensor.shape);
  RC_ASSERT(read.dtype == tensor.dtype);
  RC_ASSERT(read.bytes == tensor.bytes);
}

RC_GTEST_PROP(Npy, NU_4_damaged_files_are_refused_or_read_never_worse, ()) {
  const TemporaryFolder folder;
  std::string bytes = npy_bytes(Tensor{{2, 3}, DType::kInt8, {1, 2, 3, 4, 5, 6}});
  const auto at = *rc::gen::inRange<std::size_t>(0, bytes.size());
  bytes[at] = static_cast<char>(*rc::gen::arbitrary<std::uint8_t>());
  if (*rc::gen::arbitrary<bool>()) bytes.resize(*rc::gen::inRange<std::size_t>(0, bytes.size()));
  const std::string path = folder.write("t.npy", bytes);
  const std::string message = refusal([&] { read_npy(path); });
  RC_ASSERT(message.empty() || message.find(path + ": ") == 0);
  RC_ASSERT(message.find('\n') == std::string::npos);
}

}  // namespace
}  // namespace tilebeat
