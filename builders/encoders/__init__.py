"""Text in, vectors out: the encoders and the cache of their vectors."""

from builders.encoders.load import Backend, load_encoder
from builders.encoders.protocol import Encoder, Role
from builders.encoders.vectors import Encoded, encode_cached

__all__ = ["Backend", "Encoded", "Encoder", "Role", "encode_cached", "load_encoder"]
