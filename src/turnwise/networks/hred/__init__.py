"""HRED and VHRED (Serban et al. 2016a, b): the encoder, the dialogue model and its pretraining."""
