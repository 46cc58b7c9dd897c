"""Continual pre-training runs that make the tables laws are fitted to.

text ──corpora/──▶ tokens ──streams──▶ batches ──cpt──▶ points ──tables/──▶ runs table
  └───validation/──▶ validation sets ──evaluation──┘
sweep.toml ──sweeps/──▶ orders ──local | on_ray──▶ runs, each a folder

One run is the modules beside this file: `spec` says what it is, and `cpt` does it. That sets a
`task` up from its `inputs`, finds its `standing`, is `recording` rows as it goes, and comes to an
`ending`.
"""
