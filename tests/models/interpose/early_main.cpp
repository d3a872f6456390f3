// SPDX-License-Identifier: MIT
// Prints what the constructor of early.cpp has read.
extern "C" void early_print();
int main() { early_print(); }
