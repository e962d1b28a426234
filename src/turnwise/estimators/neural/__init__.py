"""Estimators trained by gradients: ENIGMA, and the neural fitted Q and LSTDQ that the paper sets beside it."""
