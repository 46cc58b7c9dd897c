"""Pipeline + table -> fits of each step; predictions of one step, with their errors, are the data
of the next.
"""
