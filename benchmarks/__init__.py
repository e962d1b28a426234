"""Speed and accuracy beside peers, as ratios measured in one run on one machine."""
