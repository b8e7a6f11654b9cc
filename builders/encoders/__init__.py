"""Text in, vectors out: the encoders and the cache of their vectors."""

from builders.encoders.protocol import Backend, Encoder, Role, load_encoder
from builders.encoders.vectors import Encoded, encode_cached

__all__ = ["Backend", "Encoded", "Encoder", "Role", "encode_cached", "load_encoder"]
