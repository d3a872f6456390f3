// SPDX-License-Identifier: MIT
// A program without a dynamic loader, which cannot be preloaded into.
int main() { return 0; }
