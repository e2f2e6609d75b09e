// What the verifier says of damaged conv and pool instructions.
#include "tilewright/isa/verify/damage_testing.h"

namespace tilewright::isa {
namespace {

using testing::expect_rejected;

// x[1, 2, 3, 4], w[2, 2, 2, 2], out[1, 2, 2, 3].
constexpr std::string_view kConv = R"(program scratch=0
buffer 0 input 96
buffer 1 input 64
buffer 2 output 48
buffer 3 input 8
conv tasks=1 inner=6 dims=[1,1,2] channels=2 in1=1 in2=3 in3=4 out2=2 out3=3 window1=1 window2=2 window3=2 stride1=1 stride2=1 stride3=1 low1=0 low2=0 low3=0 dilation1=1 dilation2=1 dilation3=1 spread1=1 spread2=1 spread3=1 step1=0 step2=16 row_tile=2 inner_tile=48
  s0 = buffer 0 f32 inner=4 strides=[96,96,48]
  s1 = buffer 1 f32 inner=4 strides=[0,64,32]
  s2 = buffer 2 f32 inner=4 strides=[48,48,24]
  s3 = buffer 3 f32 strides=[0,8,4]
)";

TEST(VerifyWindows, Conv) {
  expect_rejected(
      kConv,
      {
          {"buffer 0 input 96", "buffer 0 input 95",
           "instruction 0 (conv): stream 0: touches bytes 0 to 92+4 of buffer 0, which has 95"},
          {"buffer 1 input 64", "buffer 1 input 63",
           "instruction 0 (conv): stream 1: touches bytes 0 to 60+4 of buffer 1, which has 63"},
          {"buffer 2 output 48", "buffer 2 output 47",
           "instruction 0 (conv): stream 2: touches bytes 0 to 44+4 of buffer 2, which has 47"},
          {"buffer 3 input 8", "buffer 3 input 7",
           "instruction 0 (conv): stream 3: touches bytes 0 to 4+4 of buffer 3, which has 7"},
          {"buffer 2 output", "buffer 2 input",
           "instruction 0 (conv): stream 2: writes to buffer 2, which is an input"},
          {"channels=2", "channels=3",
           "instruction 0 (conv): stream 0: touches bytes 0 to 140+4 of buffer 0, which has 96"},
          {"in2=3", "in2=-1", "instruction 0 (conv): size -1, it is 0 to 1073741824"},
          {"window2=2", "window2=0", "instruction 0 (conv): window 0, it is 1 to 1073741824"},
          {"stride2=1", "stride2=0", "instruction 0 (conv): stride 0, it is 1 to 1073741824"},
          {"spread3=1", "spread3=0", "instruction 0 (conv): spread 0, it is 1 to 1073741824"},
          {"low1=0", "low1=-2000000000", "instruction 0 (conv): low -2000000000, it is -1073741824 to 1073741824"},
          {"out3=3", "out3=4", "instruction 0 (conv): 6 positions are no whole planes of 2 x 4"},
          {"s2 = buffer 2 f32", "s2 = buffer 2 f64", "instruction 0 (conv): stream 2: dtype f64, f32 is needed"},
          {"s0 = buffer 0 f32", "s0 = buffer 0 f16", "instruction 0 (conv): stream 0: dtype f16"},
          {"strides=[0,64,32]", "strides=[0,64,31]", "instruction 0 (conv): stream 1: stride 31 is no whole element"},
          {"row_tile=2", "row_tile=1", "instruction 0 (conv): 1 tasks, its tiles make 2"},
      });
}

constexpr std::string_view kPool = R"(program scratch=0
buffer 0 input 96
buffer 1 output 48
buffer 2 output 96
pool tasks=2 inner=6 dims=[1,2] kind=0 count_pads=0 divisor=0 in1=1 in2=3 in3=4 out2=2 out3=3 window1=1 window2=2 window3=2 stride1=1 stride2=1 stride3=1 low1=0 low2=0 low3=0 dilation1=1 dilation2=1 dilation3=1 step1=0 step2=16 row_tile=1
  s0 = buffer 0 f32 inner=4 strides=[96,48]
  s1 = buffer 1 f32 inner=4 strides=[48,24]
  s2 = buffer 2 i64 inner=8 strides=[96,48]
)";

TEST(VerifyWindows, Pool) {
  expect_rejected(
      kPool,
      {
          {"buffer 0 input 96", "buffer 0 input 95",
           "instruction 0 (pool): stream 0: touches bytes 0 to 92+4 of buffer 0, which has 95"},
          {"buffer 2 output 96", "buffer 2 output 95",
           "instruction 0 (pool): stream 2: touches bytes 0 to 88+8 of buffer 2, which has 95"},
          {"in3=4", "in3=5", "instruction 0 (pool): stream 0: touches bytes 0 to 96+4 of buffer 0, which has 96"},
          {"kind=0", "kind=2", "instruction 0 (pool): kind 2"},
          {"kind=0", "kind=1", "instruction 0 (pool): 3 streams, it has 2 to 2"},
          {"in1=1 in2=3", "in1=1000000000 in2=1000000000",
           "instruction 0 (pool): a plane of more than 1073741824 elements"},
          {"buffer 2 i64", "buffer 2 i32", "instruction 0 (pool): stream 2: dtype i32, i64 is needed"},
          {"f32 inner=4 strides=[48,24]", "f32 inner=8 strides=[48,24]",
           "instruction 0 (pool): stream 1: inner stride 8, unit is needed"},
      });
}

}  // namespace
}  // namespace tilewright::isa
