"""What all trainings share: the training task, the loop, the checkpoint, and training on dialogues."""
