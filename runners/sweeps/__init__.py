"""sweep.toml -> orders of runs -> runs, here or on a cluster; the folder of each has its progress."""
