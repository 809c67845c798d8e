"""Modules that agents share: encoders, noisy layers, heads."""
