"""Continual pre-training runs that make the tables laws are fitted to.

text ──corpora──▶ tokens ──streams──▶ batches ──cpt──▶ points ──collect──▶ runs table
                 validation sets ──────────────┘
sweep.toml ──sweep──▶ runs, each a folder ──local | on_ray──▶ done
"""
