// What the verifier says of damaged transpose, gather and scatter instructions.
#include "tilewright/isa/verify/damage_testing.h"

namespace tilewright::isa {
namespace {

using testing::expect_rejected;

constexpr std::string_view kTranspose = R"(program scratch=0
buffer 0 input 480
buffer 1 output 480
transpose tasks=4 inner=12 dims=[2,5] row_tile=5 inner_tile=8
  s0 = buffer 0 f32 inner=20 strides=[240,4]
  s1 = buffer 1 f32 inner=4 strides=[240,48]
)";

TEST(VerifyIndexing, Transpose) {
  expect_rejected(
      kTranspose,
      {
          {"buffer 0 input 480", "buffer 0 input 479",
           "instruction 0 (transpose): stream 0: touches bytes 0 to 476+4 of buffer 0, which has 479"},
          {"buffer 1 output 480", "buffer 1 output 479",
           "instruction 0 (transpose): stream 1: touches bytes 0 to 476+4 of buffer 1, which has 479"},
          {"buffer 1 output", "buffer 1 input",
           "instruction 0 (transpose): stream 1: writes to buffer 1, which is an input"},
          {"strides=[240,4]", "strides=[240,8]", "instruction 0 (transpose): stream 0: row stride 8, 4 is needed"},
          {"f32 inner=4", "f32 inner=8", "instruction 0 (transpose): stream 1: inner stride 8, 4 is needed"},
          {"s1 = buffer 1 f32", "s1 = buffer 1 i32", "instruction 0 (transpose): streams 0 and 1: dtypes f32 and i32"},
          {"tasks=4", "tasks=5", "instruction 0 (transpose): 5 tasks, its tiles make 4"},
          {"row_tile=5", "row_tile=0", "instruction 0 (transpose): row_tile 0, at least 1 is needed"},
      });
}

constexpr std::string_view kGather = R"(program scratch=0
buffer 0 input 72
buffer 1 output 48
buffer 2 input 32
gather tasks=2 inner=3 dims=[4] row_tile=2 inner_tile=3
  s0 = buffer 0 f32 inner=4 strides=[0]
  s1 = buffer 1 f32 inner=4 strides=[12]
  s2 = buffer 2 i64 strides=[8]
  s3 = iota i64 offset=6 inner=12 strides=[0]
)";

TEST(VerifyIndexing, GatherIsCheckedForEveryIndexInRange) {
  expect_rejected(
      kGather,
      {
          {"offset=6", "offset=7",
           "instruction 0 (gather): stream 0: touches bytes 0 to 80+4 of buffer 0, which has 72"},
          {"offset=6", "offset=-1", "instruction 0 (gather): stream 3: an axis of size -1"},
          {"inner=12", "inner=-12",
           "instruction 0 (gather): stream 0: touches bytes -60 to 8+4 of buffer 0, which has 72"},
          {"inner=12", "inner=4611686018427387904", "instruction 0 (gather): stream 0: addresses beyond 64 bits"},
          {"buffer 2 i64", "buffer 2 f64", "instruction 0 (gather): stream 2: an index of dtype f64"},
          {"buffer 2 input 32", "buffer 2 input 31",
           "instruction 0 (gather): stream 2: touches bytes 0 to 24+8 of buffer 2, which has 31"},
          {"  s3 = iota i64 offset=6 inner=12 strides=[0]\n", "",
           "instruction 0 (gather): 3 streams, two and pairs of index and axis are needed"},
          {"buffer 1 output", "buffer 1 constant",
           "instruction 0 (gather): stream 1: writes to buffer 1, which is a constant"},
      });
}

constexpr std::string_view kScatter = R"(program scratch=0
buffer 0 output 72
buffer 1 input 48
buffer 2 input 16
scatter tasks=1 inner=3 dims=[4] mode=1 serial=1 inner_tile=3
  s0 = buffer 0 f32 inner=4 strides=[0]
  s1 = buffer 1 f32 inner=4 strides=[12]
  s2 = buffer 2 i32 strides=[4]
  s3 = iota i64 offset=6 inner=12 strides=[0]
)";

TEST(VerifyIndexing, Scatter) {
  expect_rejected(kScatter,
                  {
                      {"offset=6", "offset=7",
                       "instruction 0 (scatter): stream 0: touches bytes 0 to 80+4 of buffer 0, which has 72"},
                      {"buffer 0 output", "buffer 0 input",
                       "instruction 0 (scatter): stream 0: writes to buffer 0, which is an input"},
                      {"buffer 1 input 48", "buffer 1 input 47",
                       "instruction 0 (scatter): stream 1: touches bytes 0 to 44+4 of buffer 1, which has 47"},
                      {"mode=1", "mode=5", "instruction 0 (scatter): mode 5"},
                      {"serial=1", "serial=2", "instruction 0 (scatter): 2 serial dims of 1"},
                      {"inner_tile=3", "inner_tile=1", "instruction 0 (scatter): 1 tasks, its tiles make 3"},
                      {"buffer 1 f32", "buffer 1 i32", "instruction 0 (scatter): streams 0 and 1: dtypes f32 and i32"},
                  });
}

}  // namespace
}  // namespace tilewright::isa
