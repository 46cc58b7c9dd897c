"""Laws + table -> Comparison: the prediction error of each law on held-out rows, with its
uncertainty.
"""
