"""Networks that ONNX Runtime computes: their form is written here, and their weights come from safetensors."""
