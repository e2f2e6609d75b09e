"""Models of transformers, unmodified, small and with random weights, under torch.compile(backend="tilewright").

A case is an architecture. It compiles once with dynamic sizes and runs inputs of several sizes, the smallest after larger
ones; every tensor of its output is compared with eager's.
"""

import inspect
import warnings
from pathlib import Path

import torch
import transformers
from torch.utils._pytree import tree_leaves

# Sizes that keep a model small; each configuration takes those that it knows.
SMALL = {
    "vocab_size": 99,
    "hidden_size": 32,
    "d_model": 32,
    "n_embd": 32,
    "dim": 32,
    "embedding_size": 32,
    "num_hidden_layers": 2,
    "n_layer": 2,
    "n_layers": 2,
    "num_layers": 2,
    "num_decoder_layers": 2,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "num_attention_heads": 4,
    "n_head": 4,
    "n_heads": 4,
    "num_heads": 4,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "d_kv": 8,
    "intermediate_size": 64,
    "moe_intermediate_size": 32,
    "hidden_dim": 64,
    "d_ff": 64,
    "encoder_ffn_dim": 64,
    "decoder_ffn_dim": 64,
    "max_position_embeddings": 128,
    "num_local_experts": 4,
    "num_experts": 4,
    "n_routed_experts": 4,
    "num_experts_per_tok": 2,
    "rotary_dim": 4,
    "image_size": 32,
    "patch_size": 8,
    "state_size": 8,
    "time_step_rank": 4,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "projection_dim": 32,
}

TEXT = """bert distilbert roberta albert electra mpnet deberta deberta-v2 camembert xlm-roberta roformer nystromformer
squeezebert convbert fnet mobilebert ernie data2vec-text rembert layoutlm megatron-bert modernbert splinter ibert luke
canine xlnet""".split()
CAUSAL = """gpt2 gpt_neo gpt_neox gptj opt bloom llama mistral mixtral qwen2 qwen2_moe qwen3 qwen3_moe gemma gemma2 phi phi3
falcon mpt stablelm starcoder2 olmo olmo2 cohere granite mamba mamba2 rwkv codegen persimmon gpt_bigcode glm deepseek_v3
smollm3 helium""".split()
SEQUENCE = """t5 mt5 bart mbart pegasus m2m_100 blenderbot marian prophetnet led longt5 umt5 fsmt""".split()
# Not swin and swinv2: torch itself takes minutes to trace them with free sizes, with a backend that does nothing too.
IMAGE = """vit deit beit convnext convnextv2 resnet regnet mobilenet_v1 mobilenet_v2 dinov2 poolformer cvt
segformer focalnet efficientnet pvt bit vit_msn data2vec-vision""".split()
SOUND = "wav2vec2 hubert wavlm unispeech sew data2vec-audio".split()
EXTRA = {
    "gpt_neo": {"attention_types": [[["global", "local"], 1]]},
    "mamba2": {"head_dim": 16, "n_groups": 1},
    "deepseek_v3": {
        "q_lora_rank": 16,
        "kv_lora_rank": 8,
        "qk_rope_head_dim": 8,
        "qk_nope_head_dim": 8,
        "v_head_dim": 8,
        "n_group": 2,
        "topk_group": 1,
        "first_k_dense_replace": 1,
        "n_shared_experts": 1,
        "num_key_value_heads": 4,
    },
    "convnext": {"hidden_sizes": [8, 16, 24, 32], "depths": [1, 1, 2, 1]},
    "convnextv2": {"hidden_sizes": [8, 16, 24, 32], "depths": [1, 1, 2, 1]},
    "efficientnet": {"width_coefficient": 0.25, "depth_coefficient": 0.25, "hidden_dim": 320},
    "wav2vec2": {"conv_dim": (16, 16), "conv_stride": (5, 2), "conv_kernel": (10, 3), "num_conv_pos_embeddings": 16},
}
OWN_SIZES = ("convnext", "convnextv2", "efficientnet")
for _name in SOUND[1:]:
    EXTRA[_name] = EXTRA["wav2vec2"]


def configure(kind: str):
    plain = transformers.AutoConfig.for_model(kind)
    known = set(inspect.signature(type(plain).__init__).parameters) | set(vars(plain)) | set(plain.attribute_map)
    wanted = {
        name: value
        for name, value in SMALL.items()
        if name in known and kind not in OWN_SIZES and not isinstance(getattr(plain, name, None), (list, tuple))
    }
    config = transformers.AutoConfig.for_model(kind, **{**wanted, **EXTRA.get(kind, {})})
    config.use_cache = False
    return config


def text_inputs(batch: int, length: int) -> dict:
    ids = torch.randint(3, 99, (batch, length))
    mask = torch.ones(batch, length, dtype=torch.long)
    mask[0, length - length // 3 :] = 0
    return {"input_ids": ids, "attention_mask": mask}


def causal_inputs(batch: int, length: int) -> dict:
    return {"input_ids": torch.randint(3, 99, (batch, length))}


def sequence_inputs(batch: int, length: int) -> dict:
    return {"input_ids": torch.randint(3, 99, (batch, length)), "decoder_input_ids": torch.randint(3, 99, (batch, 5))}


def image_inputs(batch: int, length: int) -> dict:
    return {"pixel_values": torch.randn(batch, 3, 32, 32)}


def sound_inputs(batch: int, length: int) -> dict:
    return {"input_values": torch.randn(batch, 400 + 37 * length)}


KINDS = {
    "text": (TEXT, transformers.AutoModel, text_inputs),
    "causal": (CAUSAL, transformers.AutoModelForCausalLM, causal_inputs),
    "sequence": (SEQUENCE, transformers.AutoModelForSeq2SeqLM, sequence_inputs),
    "image": (IMAGE, transformers.AutoModel, image_inputs),
    "sound": (SOUND, transformers.AutoModel, sound_inputs),
}
SHAPES = [(2, 12), (3, 29), (1, 7), (4, 17)]


def make_case(kind: str, make, inputs):
    def case() -> None:
        torch._dynamo.reset()
        torch.manual_seed(0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = make.from_config(configure(kind)).eval()
            run = torch.compile(model, backend="tilewright", dynamic=True)
            with torch.no_grad():
                for batch, length in SHAPES:
                    arguments = inputs(batch, length)
                    compare(run(**arguments), model(**arguments), f"batch {batch}, length {length}")

    return case


def compare(got, expected, where: str) -> None:
    got = [leaf for leaf in tree_leaves(dict(got)) if torch.is_tensor(leaf)]
    expected = [leaf for leaf in tree_leaves(dict(expected)) if torch.is_tensor(leaf)]
    assert len(got) == len(expected), f"{where}: {len(got)} tensors, {len(expected)} expected"
    for mine, wanted in zip(got, expected, strict=True):
        torch.testing.assert_close(mine, wanted, rtol=2e-4, atol=2e-4, equal_nan=True, msg=lambda m: f"{where}: {m}")


def cases(directory: Path | None) -> dict:
    return {
        f"{group}/{kind}": make_case(kind, make, inputs)
        for group, (kinds, make, inputs) in KINDS.items()
        for kind in kinds
    }
