"""The viewer: a web server on which one person reads logged dialogues with their scores, ratings and preferences.

`reading` goes through the files once. The `index` keeps for each dialogue its place in its file, and a few numbers in
tables; `scores` adds the scores of finished runs. A page (`pages`) reads only the dialogues that it shows. `query` has
what a list is filtered and sorted by, `shown` what a page says about a dialogue.
"""
