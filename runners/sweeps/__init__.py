"""sweep.toml -> specifications of runs -> runs, on this machine or a cluster; each folder has the
progress of its run.
"""
