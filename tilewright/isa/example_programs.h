// For tests: small programs that hold every instruction, which fuzz tests damage.
#pragma once

#include <string_view>

namespace tilewright::isa::testing {

inline constexpr std::string_view kExamplePrograms[] = {R"(program scratch=1024
buffer 0 input 4800
buffer 1 output 4800
buffer 2 constant 400
map tasks=8 inner=300 dims=[2,2] row_tile=1 inner_tile=256
  s0 = buffer 0 f32 inner=4 strides=[2400,1200]
  s1 = buffer 1 f32 inner=4 strides=[2400,1200]
  s2 = literal f32 bits=0x40000000
  s3 = slot i32 offset=512 inner=4
  s4 = iota i64 inner=1 strides=[600,300]
  s5 = buffer 2 f32 strides=[4,8]
  s6 = scratch f32 inner=4
  phase strip
    load_f32.f32.unit s0
    mul.f32.one s2
    store_f32.f32.strided s6
    to_int.f32
    store_i32.i32.unit s3
    load_iota.i32.unit s4
    add.i32 s3
    to_float.i32
    add.f32.one s5
    store_f32.f32.unit s1
    end.f32
)",
                                                        R"(program scratch=2048
buffer 0 input 256
buffer 1 output 256
buffer 2 output 16
buffer 3 constant 64
rows tasks=2 inner=16 dims=[4] row_tile=2
  s0 = buffer 0 f32 inner=4 strides=[64]
  s1 = buffer 1 f32 inner=4 strides=[64]
  s2 = literal f32 bits=0x3727c5ac
  s3 = accumulator f32 offset=1024 reduce=max target=4
  s4 = buffer 2 f32 strides=[4]
  s5 = buffer 3 f32 inner=4
  s6 = scratch f32 inner=4 strides=[64]
  phase layer_norm from=s0 to=s6 weight=s5 bias=none eps=s2
  phase strip accumulator=3 count=1
    load_f32.f32.unit s6
    store_f32.f32.unit s1
    acc_max.f32 s3
    end.f32
  phase scalar
    load_f32.f32.unit s4
    store_f32.f32.unit s4
    end.f32
  phase softmax from=s1 to=s1
)",
                                                        R"(program scratch=64
buffer 0 input 384
buffer 1 output 128
columns tasks=4 inner=16 dims=[2,3] reduced=1 inner_tile=8
  s0 = buffer 0 f32 inner=4 strides=[192,64]
  s1 = accumulator f32 offset=32 reduce=sum target=0
  s2 = scratch f32 offset=32 inner=4
  s3 = buffer 1 f32 inner=4 strides=[64,0]
  phase strip accumulator=1 count=1
    load_f32.f32.unit s0
    acc_sum.f32 s1
    end.f32
  phase strip
    load_f32.f32.unit s2
    store_f32.f32.unit s3
    end.f32
)",
                                                        R"(program scratch=0
buffer 0 input 480
buffer 1 input 1344
buffer 2 packed 1536
buffer 3 output 560
pack tasks=8 inner=14 dims=[2,12] panel=4
  s0 = buffer 1 f32 inner=4 strides=[672,56]
  s1 = buffer 2 f32 strides=[768,0]
matmul tasks=8 inner=14 dims=[2,5] k=12 m_tile=3 n_tile=8 k_block=12 panel=4
  s0 = buffer 0 f32 inner=4 strides=[240,48]
  s1 = buffer 2 f32 strides=[768,0]
  s2 = tile f32 inner=4
  s3 = buffer 3 f32 inner=4 strides=[280,56]
  phase strip
    load_f32.f32.unit s2
    store_f32.f32.unit s3
    end.f32
)",
                                                        R"(program scratch=0
buffer 0 input 768
buffer 1 input 896
buffer 2 input 560
buffer 3 output 480
buffer 4 input 21
attention tasks=16 inner=5 dims=[2,4,3] kv_heads=2 keys=7 depth=8 causal=1 empty_is_nan=0 scale=4602678819172646912 query_tile=2 key_tile=4
  s0 = buffer 0 f32 inner=4 strides=[384,96,32]
  s1 = buffer 1 f32 inner=4 strides=[448,224,32]
  s2 = buffer 2 f32 inner=4 strides=[280,140,20]
  s3 = buffer 3 f32 inner=4 strides=[240,60,20]
  s4 = buffer 4 bool inner=1 strides=[0,0,7]
)",
                                                        R"(program scratch=0
buffer 0 input 480
buffer 1 output 480
transpose tasks=4 inner=12 dims=[2,5] row_tile=5 inner_tile=8
  s0 = buffer 0 f32 inner=20 strides=[240,4]
  s1 = buffer 1 f32 inner=4 strides=[240,48]
)",
                                                        R"(program scratch=0
buffer 0 input 72
buffer 1 output 48
buffer 2 input 32
gather tasks=2 inner=3 dims=[4] row_tile=2 inner_tile=3
  s0 = buffer 0 f32 inner=4 strides=[0]
  s1 = buffer 1 f32 inner=4 strides=[12]
  s2 = buffer 2 i64 strides=[8]
  s3 = iota i64 offset=6 inner=12 strides=[0]
)",
                                                        R"(program scratch=0
buffer 0 output 72
buffer 1 input 48
buffer 2 input 16
scatter tasks=1 inner=3 dims=[4] mode=1 serial=1 inner_tile=3
  s0 = buffer 0 f32 inner=4 strides=[0]
  s1 = buffer 1 f32 inner=4 strides=[12]
  s2 = buffer 2 i32 strides=[4]
  s3 = iota i64 offset=6 inner=12 strides=[0]
)",
                                                        R"(program scratch=0
buffer 0 input 80
buffer 1 output 80
buffer 2 output 160
buffer 3 output 32
scan tasks=2 inner=5 dims=[4] kind=2 exclusive=0 row_tile=2
  s0 = buffer 0 f32 inner=4 strides=[20]
  s1 = buffer 1 f32 inner=4 strides=[20]
  s2 = buffer 2 i64 inner=8 strides=[40]
arg_reduce tasks=4 inner=5 dims=[4] smallest=0 last=0 row_tile=1
  s0 = buffer 0 f32 inner=4 strides=[20]
  s1 = buffer 3 i64 strides=[8]
)",
                                                        R"(program scratch=0
buffer 0 input 80
buffer 1 output 48
buffer 2 output 96
buffer 3 arena 640
sort tasks=4 inner=5 dims=[4] count=3 descending=0 row_tile=1
  s0 = buffer 0 f32 inner=4 strides=[20]
  s1 = buffer 1 f32 inner=4 strides=[12]
  s2 = buffer 2 i64 inner=8 strides=[24]
  s3 = buffer 3 u8 inner=1 strides=[160]
)",
                                                        R"(program scratch=0
buffer 0 input 80
buffer 1 output 48
buffer 2 input 16
buffer 3 output 80
nonzero tasks=1 inner=5 dims=[4] limit=3 step=16
  s0 = buffer 0 f32 inner=4 strides=[20]
  s1 = buffer 1 i64 inner=8 strides=[0]
beside random tasks=2 inner=20 dims=[] distribution=1 inner_tile=16
  s0 = buffer 2 i64 inner=8
  s1 = buffer 3 f32 inner=4
)",
                                                        R"(program scratch=0
buffer 0 input 96
buffer 1 input 64
buffer 2 output 48
buffer 3 input 8
conv tasks=1 inner=6 dims=[1,1,2] channels=2 in1=1 in2=3 in3=4 out2=2 out3=3 window1=1 window2=2 window3=2 stride1=1 stride2=1 stride3=1 low1=0 low2=0 low3=0 dilation1=1 dilation2=1 dilation3=1 spread1=1 spread2=1 spread3=1 step1=0 step2=16 row_tile=2 inner_tile=48
  s0 = buffer 0 f32 inner=4 strides=[96,96,48]
  s1 = buffer 1 f32 inner=4 strides=[0,64,32]
  s2 = buffer 2 f32 inner=4 strides=[48,48,24]
  s3 = buffer 3 f32 strides=[0,8,4]
)",
                                                        R"(program scratch=0
buffer 0 input 96
buffer 1 output 48
buffer 2 output 96
pool tasks=2 inner=6 dims=[1,2] kind=0 count_pads=0 divisor=0 in1=1 in2=3 in3=4 out2=2 out3=3 window1=1 window2=2 window3=2 stride1=1 stride2=1 stride3=1 low1=0 low2=0 low3=0 dilation1=1 dilation2=1 dilation3=1 step1=0 step2=16 row_tile=1
  s0 = buffer 0 f32 inner=4 strides=[96,48]
  s1 = buffer 1 f32 inner=4 strides=[48,24]
  s2 = buffer 2 i64 inner=8 strides=[96,48]
)",
                                                        R"(program scratch=0
buffer 0 input 6
buffer 1 packed 32
buffer 2 output 32
buffer 3 input 2
dot tasks=1 inner=4 dims=[2] k=3 m_tile=2 n_tile=4 k_block=384 panel=4
  s0 = buffer 0 u8 inner=1 strides=[3]
  s1 = buffer 1 i8 inner=1 strides=[0]
  s2 = buffer 2 i32 inner=4 strides=[16]
  s3 = buffer 3 u8 inner=0 strides=[1]
  s4 = literal i8 bits=0x80 inner=0 strides=[0]
)",
                                                        R"(program scratch=0
buffer 0 input 160
buffer 1 packed 128
buffer 2 output 56
buffer 3 packed 64
buffer 4 packed 64
block_dot tasks=1 inner=7 dims=[2] k=20 m_tile=2 n_tile=8 block=16 panel=8
  s0 = buffer 0 f32 inner=4 strides=[80]
  s1 = buffer 1 f32 inner=4 strides=[0]
  s2 = buffer 2 f32 inner=4 strides=[28]
  s3 = buffer 3 f32 inner=4 strides=[0]
  s4 = buffer 4 f32 inner=4 strides=[0]
)"};

}  // namespace tilewright::isa::testing
