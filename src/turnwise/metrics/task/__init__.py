"""Did the dialogue reach its goal? Corpus metrics of task dialogue, computed from goals, states and tables."""
