"""The metric `turnwise`: its signals, the ridge regression over them, and its calibration to a user's ratings."""
