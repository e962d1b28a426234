"""Networks that are trained here, and how: HRED, the dual encoder, characters, LAVA, readers of replies."""
