"""How a team of agents becomes a graph of the engine."""
