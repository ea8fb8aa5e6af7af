"""A language model file with random weights, half a megabyte: a real server's whole protocol, and nothing but nonsense.

Run as a script it serves the model on a free port of loopback and prints the port.
"""

import sys
import time
from pathlib import Path

WIDTH, LAYERS, HEADS, INNER, CONTEXT = 64, 2, 4, 128, 16_384
SPECIAL = ["<|im_start|>", "<|im_end|>", "<|endoftext|>"]
TEMPLATE = (
    "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\n' + m['content'] + '<|im_end|>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)


def _byte_tokens() -> list[str]:
    """GPT-2's printable stand-ins for the 256 bytes."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    rest = iter(range(256, 512))
    return [chr(b) if b in plain else chr(next(rest)) for b in range(256)]


def write(path: Path, seed: int = 0) -> None:
    import gguf
    import numpy as np

    rng = np.random.default_rng(seed)

    def random(*shape: int) -> "np.ndarray":
        return (rng.standard_normal(shape) * shape[-1] ** -0.5).astype(np.float32)

    merged = ["Ġt", "Ġth", "Ġthe"]  # the loader of byte pairs wants merges
    tokens = [*_byte_tokens(), *merged, *SPECIAL]
    kinds = [gguf.TokenType.NORMAL] * (len(tokens) - 3) + [gguf.TokenType.CONTROL] * 3
    out = gguf.GGUFWriter(str(path), "llama")
    out.add_name("tiny-random")
    out.add_context_length(CONTEXT)
    out.add_embedding_length(WIDTH)
    out.add_block_count(LAYERS)
    out.add_feed_forward_length(INNER)
    out.add_head_count(HEADS)
    out.add_head_count_kv(HEADS)
    out.add_layer_norm_rms_eps(1e-5)
    out.add_rope_dimension_count(WIDTH // HEADS)
    out.add_vocab_size(len(tokens))
    out.add_file_type(gguf.LlamaFileType.ALL_F32)
    out.add_tokenizer_model("gpt2")
    out.add_tokenizer_pre("gpt-2")
    out.add_token_list(tokens)
    out.add_token_types(kinds)
    out.add_token_merges(["Ġ t", "Ġt h", "Ġth e"])
    out.add_bos_token_id(len(tokens) - 3)
    out.add_eos_token_id(len(tokens) - 2)
    out.add_eot_token_id(len(tokens) - 2)
    out.add_pad_token_id(len(tokens) - 1)
    out.add_add_bos_token(False)
    out.add_chat_template(TEMPLATE)
    out.add_tensor("token_embd.weight", random(len(tokens), WIDTH))
    out.add_tensor("output.weight", random(len(tokens), WIDTH) * 4)
    out.add_tensor("output_norm.weight", np.ones(WIDTH, np.float32))
    for layer in range(LAYERS):
        for name in ("attn_norm", "ffn_norm"):
            out.add_tensor(f"blk.{layer}.{name}.weight", np.ones(WIDTH, np.float32))
        for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
            out.add_tensor(f"blk.{layer}.{name}.weight", random(WIDTH, WIDTH))
        out.add_tensor(f"blk.{layer}.ffn_gate.weight", random(INNER, WIDTH))
        out.add_tensor(f"blk.{layer}.ffn_up.weight", random(INNER, WIDTH))
        out.add_tensor(f"blk.{layer}.ffn_down.weight", random(WIDTH, INNER))
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()


def serve(path: str) -> None:
    import xllamacpp

    options = xllamacpp.CommonParams()
    options.model.path = path
    options.n_ctx, options.n_parallel = CONTEXT, 1
    options.hostnames, options.port = ["127.0.0.1"], 0
    options.use_jinja, options.ui, options.cache_ram_mib = True, False, 0
    options.cpuparams.n_threads = options.cpuparams_batch.n_threads = 1
    server = xllamacpp.Server(options)
    print(f"listening {server.listening_address}", flush=True)
    while True:
        time.sleep(60)


if __name__ == "__main__":
    serve(sys.argv[1])
