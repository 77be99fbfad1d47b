"""Aliases: hosts that are other names of one site.

The actor `aliases` compares what hosts have (`host_samples`) and decides by `model.alias_evidence`.
"""
