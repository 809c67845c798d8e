"""Attacks on files, processes and the contest's server: what must hold under all of them."""
