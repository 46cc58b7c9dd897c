"""Continual pre-training runs, which produce the tables that laws are fitted to.

text ──corpora/──▶ tokens ──streams──▶ batches ──cpt──▶ points ──tables/──▶ runs table
  └───validation/──▶ validation sets ──evaluation──┘
sweep.toml ──sweeps/──▶ orders ──local | ray──▶ runs, each a folder

A run is described by `spec` and executed by `cpt`, with the modules of `run` and `training`: setup,
checkpoints, evaluation, recording, exit.
"""
