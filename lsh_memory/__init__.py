"""An episodic memory with approximate nearest neighbours by sign projections."""

from lsh_memory.memory import ActionValues, EpisodicMemory, MemoryConfig, Neighbours

__all__ = ["ActionValues", "EpisodicMemory", "MemoryConfig", "Neighbours"]
