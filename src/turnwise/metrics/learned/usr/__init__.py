"""USR (Mehri and Eskenazi 2020): retrieval, masked language model, and the regression over both."""
