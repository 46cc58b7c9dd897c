"""A run as a folder on disk: what it measured, how it ended, who holds it. No module here loads
torch.
"""
