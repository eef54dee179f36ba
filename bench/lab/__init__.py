"""Where overlap can be measured on a small machine: build, run and read the kernels."""
