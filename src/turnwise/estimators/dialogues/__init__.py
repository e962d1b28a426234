"""The estimator `dialogues`: what people would say of an agent, from its own unrated dialogues."""
