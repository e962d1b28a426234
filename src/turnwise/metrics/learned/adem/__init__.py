"""ADEM (Lowe et al. 2017): the metric, its bilinear head, training and analyses."""
