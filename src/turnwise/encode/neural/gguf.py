"""Convert a GGUF file (llama.cpp's quantised format) to a folder that transformers loads in seconds.

The file is unpacked to dense weights once, at fetch time, and kept as bfloat16: a 4-bit weight times its 16-bit
scale loses at most its last bits, and loading takes 2 to 3 s where unpacking takes 17.
"""

from pathlib import Path


def unpack(file: Path, folder: Path) -> None:
    """Write the dense model (bfloat16) and its tokenizer into the folder."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    from turnwise.encode.neural.loading import quiet

    with quiet():
        tokenizer = AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name, local_files_only=True)
        model = AutoModelForCausalLM.from_pretrained(
            file.parent,
            gguf_file=file.name,
            # transformers cannot save a packed model.
            quantization_config=GgufConfig(dequantize=True),
            dtype=torch.bfloat16,
            local_files_only=True,
        )
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
