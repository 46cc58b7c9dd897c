"""One run on a device: model, optimizer, evaluation, checkpoints. Modules here may load torch."""
