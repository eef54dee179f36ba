"""Programs on simulated clusters: what their computation costs, and how long they run."""
