"""What one tile of a nest computes and sends, and which iterations are edge or interior; the plan."""
