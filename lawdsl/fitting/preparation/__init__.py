"""Law -> the inputs of the numerical stages of a fit: compiled functions, names, results of
algebra.
"""
