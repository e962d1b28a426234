"""`turnwise power`: the designs of a study, and the dialogues and ratings that it needs."""
