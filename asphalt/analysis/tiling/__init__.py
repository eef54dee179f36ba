"""What a tile of a nest computes and sends; which iterations are edge or interior; the plan."""
