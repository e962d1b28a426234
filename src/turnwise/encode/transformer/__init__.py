"""Vectors of texts from an encoder such as MiniLM: by ONNX Runtime where it is plain BERT, otherwise by torch."""
