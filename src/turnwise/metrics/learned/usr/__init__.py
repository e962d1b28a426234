"""USR (Mehri and Eskenazi 2020): the retrieval score, the masked-language-model score, and a regression over both."""
