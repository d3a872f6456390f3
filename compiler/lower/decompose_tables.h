// SPDX-License-Identifier: MIT
// Coefficients of the float functions: the output of tools/minimax/minimax.py.
#pragma once

#include <cstdint>

namespace tiny::lower {

/// (e^r - 1 - r) / r^2 on [-0.3466, 0.3466], error 2^-28.253.
inline constexpr double kExpSingle[] = {
    0x1.fffffcp-2, 0x1.555492p-3, 0x1.5558aep-5, 0x1.12397ep-7, 0x1.6a4f14p-10,
};
/// (e^r - 1 - r) / r^2 on [-0.3466, 0.3466], error 2^-57.904.
inline constexpr double kExpDouble[] = {
    0x1.000000000000ap-1,  0x1.5555555555507p-3,  0x1.55555555506f4p-5,  0x1.1111111124d06p-7,
    0x1.6c16c1846731ap-10, 0x1.a01a0138d7f46p-13, 0x1.a019998c855f3p-16, 0x1.71df0719b44f7p-19,
    0x1.28add2bb586bp-22,  0x1.adacb1567900ep-26,
};
/// (2^r - 1) / r on [-0.5001, 0.5001], error 2^-28.315.
inline constexpr double kExp2Single[] = {
    0x1.62e43p-1, 0x1.ebfbdcp-3, 0x1.c6af7ap-5, 0x1.3b2dd4p-7, 0x1.5f0952p-10, 0x1.41788p-13,
};
/// (2^r - 1) / r on [-0.5001, 0.5001], error 2^-59.73.
inline constexpr double kExp2Double[] = {
    0x1.62e42fefa39efp-1,  0x1.ebfbdff82c58ep-3,  0x1.c6b08d704a1d4p-5,  0x1.3b2ab6fba5196p-7,
    0x1.5d87fe787455ep-10, 0x1.430912f75ae99p-13, 0x1.ffcbfd48e0e5bp-17, 0x1.62c0270f9208fp-20,
    0x1.b52333327af39p-24, 0x1.e4bc0aa7bb36p-28,  0x1.ec6f7b1ecc126p-32, 0x1.e01f72e64faedp-36,
};
/// (log(1+f) - f + f^2/2) / f^3 on [-0.292893, 0.414214], error 2^-30.223.
inline constexpr double kLogSingle[] = {
    0x1.555548p-2,  -0x1.000006p-2, 0x1.99a478p-3,  -0x1.555c5p-3, 0x1.233b78p-3,
    -0x1.fc265ep-4, 0x1.e6c006p-4,  -0x1.de1234p-4, 0x1.14884p-4,
};
/// (log((1+s)/(1-s))/s - 2) / s^2 in z = s^2 on [0.0, 0.0294402], error 2^-59.487.
inline constexpr double kLogDouble[] = {
    0x1.5555555555592p-1, 0x1.999999997ff12p-2, 0x1.24924941e227ep-2, 0x1.c71c521350fdap-3,
    0x1.74663d31ea2efp-3, 0x1.39a1e0665d41fp-3, 0x1.2f041c972dc64p-3,
};
/// ((log((1+s)/(1-s))/s - 2) / s^2 - 2/3) / s^2 on [0.0, 0.0294402], error 2^-76.95.
inline constexpr double kPowLogDouble[] = {
    0x1.999999999999ap-2, 0x1.2492492492363p-2, 0x1.c71c71c747ec6p-3,
    0x1.745d172bc5417p-3, 0x1.3b13ba5c9edaep-3, 0x1.110f1b976d868p-3,
    0x1.e265b3811f23dp-4, 0x1.a5046903ba9c6p-4, 0x1.ecc99deeb7af9p-4,
};
/// ((log((1+s)/(1-s))/s - 2) / s^2 - 2/3) / s^2 on [0.0, 0.0294402], error 2^-43.681.
inline constexpr double kPowLogSingle[] = {
    0x1.999998p-2,
    0x1.2493b6p-2,
    0x1.c63d9p-3,
    0x1.9088acp-3,
};
/// sin(pi f) / f in z = f^2 on [0.0, 0.316406], error 2^-33.753.
inline constexpr double kSinSingle[] = {
    0x1.921fb543cb98ep+1,  -0x1.4abbce2d3d4d9p+2, 0x1.466bb71f70449p+1,
    -0x1.32cf8e69f11c7p-1, 0x1.4fd930c1f9568p-4,  -0x1.c6d51fb6d634ap-8,
};
/// (sin(r)/r - 1) / r^2 in z = r^2 on [0.0, 2.46839], error 2^-62.188.
inline constexpr double kSinDouble[] = {
    -0x1.5555555555555p-3,  0x1.11111111110bdp-7,   -0x1.a01a01a012d9dp-13, 0x1.71de3a50a12b2p-19,
    -0x1.ae6452da5499fp-26, 0x1.6122b3d37f869p-33,  -0x1.ad8b45595cb88p-41, 0x1.418401273f61fp-49,
    0x1.d6010493abf26p-54,  -0x1.46dc0f0020dafp-57,
};
/// (sin(r)/r - 1) / r^2 in z = r^2 on [0.0, 2.46839], error 2^-31.028.
inline constexpr double kSinRadiansSingle[] = {
    -0x1.555556p-3, 0x1.111136p-7, -0x1.a023dap-13, 0x1.72d234p-19, -0x1.b6c4b2p-26,
};
/// (cos(r) - 1) / r^2 in z = r^2 on [0.0, 2.46839], error 2^-16.466.
inline constexpr double kCosRough[] = {
    -0x1.fffd1b7df28fp-2,
    0x1.54ab06380a7p-5,
    -0x1.54cbf441587cdp-10,
};
/// erf(x)/x - 1 in z = x^2 on [0.0, 0.8649], error 2^-25.723.
inline constexpr double kErfNearSingle[] = {
    0x1.06eba6p-3, -0x1.8126e2p-2, 0x1.ce1986p-4, -0x1.b67c04p-6, 0x1.46d9dep-8, -0x1.38741cp-11,
};
/// erf(x)/x - 1 in z = x^2 on [0.0, 0.8649], error 2^-56.03.
inline constexpr double kErfNearDouble[] = {
    0x1.06eba8214db68p-3,  -0x1.812746b03799bp-2,  0x1.ce2f21a03f544p-4,  -0x1.b82ce3118f928p-6,
    0x1.565bcce998142p-8,  -0x1.c02dad94cefd7p-11, 0x1.f9a271e8d3ac2p-14, -0x1.f4c54da11d091p-17,
    0x1.b9474ab88fb0bp-20, -0x1.5a7a19399663bp-23, 0x1.cacc29af13059p-27, -0x1.8185f951c28c1p-31,
};
/// log(erfc(t)) / t on [0.919, 4.0], error 2^-32.017.
inline constexpr double kErfFarSingle[] = {
    -0x1.20e8bcp+0, -0x1.4570fap-1, -0x1.af2358p-4, 0x1.736b32p-6,
    -0x1.7fb39ep-9, 0x1.97d1d2p-15, 0x1.7feb0cp-15, -0x1.4c6342p-18,
};
/// log(erfc(t)) in t - 0.919 on [0.0, 1.081], error 2^-55.196.
inline constexpr double kErfMiddleDouble[] = {
    -0x1.a4300dc1afb7ep+0,  -0x1.4069a46b3c04ep+1, -0x1.aa4ad7c3bec0bp-1,  -0x1.702f0a0101d4dp-5,
    0x1.63c89f7a0c224p-7,   -0x1.11c6d295629ccp-9, 0x1.c6f0f981b65ebp-13,  0x1.85f949d0f5512p-15,
    -0x1.286ab6ae9227ep-15, 0x1.9d9d37f663bd8p-17, -0x1.ca9a82e2e5985p-19, 0x1.2ec53c4ead7f4p-20,
    -0x1.fa3264ca8177cp-22, 0x1.41feb5cc4e385p-23, -0x1.7b2cc498911a7p-26,
};
/// log(erfc(t)) in t - 2 on [0.0, 4.0], error 2^-59.204.
inline constexpr double kErfFarDouble[] = {
    -0x1.575b329b1f516p+2,  -0x1.1ac3258a8dbb5p+2,  -0x1.d8f5dece9e74bp-1,  -0x1.0dc3b5dc85af1p-6,
    0x1.d406a9ea20f6ap-9,   -0x1.7ffc20343adafp-11, 0x1.1bb76b08d56cfp-13,  -0x1.5a817019611c4p-16,
    0x1.f5d0916dd2d37p-20,  0x1.381f84b09cb29p-22,  -0x1.f70e457d7890bp-23, 0x1.6e2e071fb49cap-24,
    -0x1.69f31d80775b9p-26, 0x1.be4ba60c3688fp-29,  -0x1.fb7ec635b56edp-33,
};
/// (tanh(x)/x - 1) / x^2 in z = x^2 on [0.0, 0.30261], error 2^-29.712.
inline constexpr double kTanhSingle[] = {
    -0x1.55554ap-2, 0x1.110cf2p-3, -0x1.b91fdcp-5, 0x1.58f5c2p-6, -0x1.999b4ap-8,
};
/// (tanh(x)/x - 1) / x^2 in z = x^2 on [0.0, 0.30261], error 2^-55.464.
inline constexpr double kTanhDouble[] = {
    -0x1.555555555549dp-2,  0x1.11111111028b3p-3,  -0x1.ba1ba1ad68123p-5,  0x1.664f45c118c2bp-6,
    -0x1.226ddd18c7f99p-7,  0x1.d6c617ba257b6p-9,  -0x1.7cf382339b8d2p-10, 0x1.2fa1262b7f4a8p-11,
    -0x1.b90098c72b0f7p-13, 0x1.abe791c20fee1p-15,
};
/// 1/pi modulo 2^(24-a) for a = none, 50, 76, 102, each as two f64.
inline constexpr double kInversePiSingle[] = {
    0x1.45f306dc9c883p-2,   -0x1.6b01ec5417056p-56, -0x1.1b1bbead603d9p-29, 0x1.5f47d4d377037p-83,
    -0x1.5ac07b1505c16p-54, 0x1.a6ee06db14acdp-108, -0x1.505c1596447e5p-82, 0x1.b14acc9e21c82p-136,
};
/// 1/pi is the sum of [j] * 2^(-53 j).
inline constexpr double kInversePiDouble[] = {
    0x1.45f306dc9c882p-2,  0x1.4a7f09d5f47d4p-2, 0x1.a6ee06db14accp-2,  0x1.3c439041fe516p-2,
    0x1.d5ef5de2b0db8p-4,  0x1.2371d2126e97p-3,  0x1.924bba82746p-9,    0x1.21cfe1deb1cb2p-2,
    -0x1.acb1822efb942p-2, 0x1.4baed1213a672p-2, -0x1.fb29741037d9p-4,  0x1.91d63983533ap-2,
    -0x1.6c6f740e8840ep-2, 0x1.41d8ffc4bfffp-3,  -0x1.fa67f010d0ee8p-3, 0x1.6b414da3eda6cp-3,
    0x1.fb3c9f2c26dd4p-3,  -0x1.738132c3402cp-5, 0x1.6ba93dd63f5f2p-2,  0x1.f17b3d0739f78p-2,
    0x1.4a525d4d7f6cp-2,   -0x1.3b81ca8bdea8p-2, 0x1.98237e3db5d6p-2,   -0x1.e6087beca1794p-3,
};
/// 1/pi in words of 32 bits after the binary point.
inline constexpr uint32_t kInversePiWords[] = {
    0x517cc1b7, 0x27220a94, 0xfe13abe8, 0xfa9a6ee0, 0x6db14acc, 0x9e21c820, 0xff28b1d5,
};
/// ln 2: 12 bits, and the rest to 24.
inline constexpr double kLn2Single[] = {
    0x1.62ep-1,
    0x1.0bfbe8p-15,
};
/// ln 2: 32 bits, and the rest to 53.
inline constexpr double kLn2Double[] = {
    0x1.62e42ffp-1,
    -0x1.718432a1b0e26p-35,
};
/// log2 e: 24 bits, and the rest to 24.
inline constexpr double kLog2eSingle[] = {
    0x1.715476p+0,
    0x1.4ae0cp-26,
};
/// log2 e: 53 bits, and the rest to 53.
inline constexpr double kLog2eDouble[] = {
    0x1.71547652b82fep+0,
    0x1.777d0ffda0d24p-56,
};
/// log2 e: 21 bits, and the rest to 53.
inline constexpr double kLog2eShortDouble[] = {
    0x1.71547p+0,
    0x1.94ae0bf85ddf4p-22,
};
/// 2/3: 24 bits, and the rest to 24.
inline constexpr double kTwoThirdsSingle[] = {
    0x1.555556p-1,
    -0x1.555556p-26,
};
/// 2/3: 53 bits, and the rest to 53.
inline constexpr double kTwoThirdsDouble[] = {
    0x1.5555555555555p-1,
    0x1.5555555555555p-55,
};
/// pi: 24 bits, and the rest to 24.
inline constexpr double kPiSingle[] = {
    0x1.921fb6p+1,
    -0x1.777a5cp-24,
};
/// pi: 53 bits, and the rest to 53.
inline constexpr double kPiDouble[] = {
    0x1.921fb54442d18p+1,
    0x1.1a62633145c07p-53,
};

}  // namespace tiny::lower
