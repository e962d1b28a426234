"""Latent actions of task dialogue: LAVA (Lubis et al. 2020) and its training offline by PLAS (Lubis et al. 2022)."""
