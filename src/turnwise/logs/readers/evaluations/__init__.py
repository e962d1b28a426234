"""Results of evaluations that other tools write: dialogues with scores, ratings or preferences."""
