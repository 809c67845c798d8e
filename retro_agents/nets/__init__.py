"""Modules that two agents or more are built from: encoders, noisy layers, heads."""
