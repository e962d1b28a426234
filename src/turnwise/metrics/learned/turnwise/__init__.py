"""The metric `turnwise`: its signals, the ridge over them, and its calibration to a user's ratings."""
