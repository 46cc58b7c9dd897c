"""sweep.toml -> orders of runs -> runs, here or on a cluster; how far each is, its folder says."""
