"""The eleven legality conditions of prepushing, a module each with its codes, and their judge."""
