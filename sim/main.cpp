// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <systemc>

#include "sim/command.h"

int sc_main(int argc, char** argv) { return steppe::sim::run_program({argv + 1, argv + argc}); }

// In place of the library's own, which prints a banner first.
int main(int argc, char** argv) {
  setenv("SYSTEMC_DISABLE_COPYRIGHT_MESSAGE", "1", 1);
  return sc_core::sc_elab_and_sim(argc, argv);
}
