"""One run on a device: model, optimizer, evaluation, checkpoints. Every module here may load torch.
"""
