"""What runs programs: commands under a time limit, the MPIs of this machine, simulated clusters."""
