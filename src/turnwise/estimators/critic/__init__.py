"""The offline critic of task dialogue (Lubis et al. 2022): what a reply is worth in the context that was logged."""
