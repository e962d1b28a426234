"""The whole loop on embedded worlds, played in a terminal."""
